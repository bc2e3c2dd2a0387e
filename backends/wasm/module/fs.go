// Package module runs a WebAssembly module in the side program. Its file system (FS) is the host's, as far as a policy
// opens it; there is nothing else that a module could reach: WASI preview 1 has no processes and opens no sockets.
package module

import (
	"io/fs"
	"os"
	"path"
	"slices"

	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasi "github.com/tetratelabs/wazero/sys"
	"golang.org/x/sys/unix"
)

// FS is the file system of a module: "/" is the host's.
type FS struct {
	sys.UnimplementedFS
	policy sandbox.Policy
	// roots may be read, fixed are paths that must keep their place.
	roots, fixed []string
	// shut are files and folders that are closed under every name: by a hard link, a mount or another spelling too.
	shut map[identity]closing
	// confined: a sandbox around the program has the same policy.
	confined bool
}

// NewFS returns the file system for policy. confined: the program runs in a sandbox under the same policy.
func NewFS(policy sandbox.Policy, confined bool) *FS {
	f := &FS{policy: policy, confined: confined, shut: map[identity]closing{}}
	f.roots = slices.Concat(sandbox.PathsOf(policy.Read), sandbox.PathsOf(policy.Roots()))
	f.fixed = slices.Concat(policy.Protected.Paths, policy.Protected.Own, policy.DenyRead)
	mark := func(paths []string, as closing) {
		for _, path := range paths {
			var st unix.Stat_t
			if unix.Lstat(path, &st) == nil {
				f.shut[identityOf(&st)] = as
			}
		}
	}
	mark(policy.Protected.Own, unwritable)
	mark(slices.Concat(policy.Protected.Hidden, policy.DenyRead), unreadable)
	return f
}

// devices are those that a module can open.
var devices = []string{os.DevNull, "/dev/zero", "/dev/random", "/dev/urandom"}

// OpenFile is part of sys.FS. Of devices only a few can be opened, of named pipes and sockets none.
func (f *FS) OpenFile(name string, flag sys.Oflag, _ fs.FileMode) (sys.File, sys.Errno) {
	const exclusive = sys.O_CREAT | sys.O_EXCL
	p, errno := f.walk(name, flag&sys.O_NOFOLLOW == 0 && flag&exclusive != exclusive)
	if errno != 0 {
		return nil, errno
	}
	defer p.close()
	write := flag&(sys.O_WRONLY|sys.O_RDWR|sys.O_CREAT|sys.O_TRUNC|sys.O_APPEND) != 0
	device := p.is(unix.S_IFCHR) && slices.Contains(devices, p.path)
	switch {
	case p.is(unix.S_IFDIR) && flag&sys.O_DIRECTORY != 0:
		write = false // of a folder, libraries ask for all rights
	case p.is(unix.S_IFDIR) && write:
		return nil, sys.EISDIR
	case p.there && !p.is(unix.S_IFREG) && !p.is(unix.S_IFDIR) && !p.is(unix.S_IFLNK) && !device:
		return nil, sys.EACCES
	case !p.there && flag&sys.O_CREAT == 0:
		if !f.shows(p.path) {
			return nil, sys.EACCES
		}
		return nil, sys.ENOENT
	}
	how := unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	if errno := f.may(p, write && !device); errno != 0 {
		if write || !p.is(unix.S_IFDIR) || p.shut == unreadable || !f.shows(p.path) {
			return nil, errno
		}
		how |= unix.O_DIRECTORY | reference // the way to a root: it cannot be listed
	}
	for of, is := range map[sys.Oflag]int{sys.O_WRONLY: unix.O_WRONLY, sys.O_RDWR: unix.O_RDWR, sys.O_CREAT: unix.O_CREAT, sys.O_EXCL: unix.O_EXCL, sys.O_APPEND: unix.O_APPEND, sys.O_DIRECTORY: unix.O_DIRECTORY, sys.O_SYNC: unix.O_SYNC} {
		if flag&of != 0 && (write || of == sys.O_DIRECTORY) {
			how |= is
		}
	}
	fd, err := unix.Openat(p.dir, p.name, how, 0o666)
	if err != nil {
		return nil, errnoOf(err)
	}
	return f.opened(fd, p.path, flag, write, device)
}

// opened looks once more, at what was opened: the entry may have been replaced since the walk.
func (f *FS) opened(fd int, path string, flag sys.Oflag, write, device bool) (sys.File, sys.Errno) {
	var st unix.Stat_t
	errno := errnoOf(unix.Fstat(fd, &st))
	kind, shut := uint32(st.Mode)&unix.S_IFMT, f.shut[identityOf(&st)]
	switch {
	case errno != 0:
	case kind != unix.S_IFREG && kind != unix.S_IFDIR && !(device && kind == unix.S_IFCHR), shut == unreadable || write && shut == unwritable, isProc(fd):
		errno = sys.EACCES
	case write && flag&sys.O_TRUNC != 0 && kind == unix.S_IFREG:
		errno = errnoOf(unix.Ftruncate(fd, 0))
	}
	if errno == 0 {
		errno = errnoOf(unix.SetNonblock(fd, false))
	}
	if errno == sys.EBADF && kind == unix.S_IFDIR {
		errno = 0 // a reference has no such flag
	}
	if errno != 0 {
		unix.Close(fd)
		return nil, errno
	}
	return &file{f: os.NewFile(uintptr(fd), path), write: write, appends: flag&sys.O_APPEND != 0}, 0
}

// Lstat is part of sys.FS.
func (f *FS) Lstat(name string) (wasi.Stat_t, sys.Errno) { return f.stat(name, false) }

// Stat is part of sys.FS.
func (f *FS) Stat(name string) (wasi.Stat_t, sys.Errno) { return f.stat(name, true) }

func (f *FS) stat(name string, follow bool) (wasi.Stat_t, sys.Errno) {
	p, errno := f.seen(name, follow)
	if errno != 0 {
		return wasi.Stat_t{}, errno
	}
	defer p.close()
	return statOf(&p.st), 0
}

// seen finds what a module may know of. Close the place.
func (f *FS) seen(name string, follow bool) (place, sys.Errno) {
	p, errno := f.walk(name, follow)
	if errno != 0 {
		return p, errno
	}
	switch {
	case !f.shows(p.path) || p.shut == unreadable || isProc(p.dir):
		errno = sys.EACCES
	case !p.there:
		errno = sys.ENOENT
	}
	if errno != 0 {
		p.close()
	}
	return p, errno
}

// Readlink is part of sys.FS.
func (f *FS) Readlink(name string) (string, sys.Errno) {
	p, errno := f.seen(name, false)
	if errno != 0 {
		return "", errno
	}
	defer p.close()
	return readlink(p)
}

// change finds an entry that a module may change. removes: the entry goes away, so its folder must be writable too.
func (f *FS) change(name string, removes bool) (place, sys.Errno) {
	p, errno := f.walk(name, false)
	if errno != 0 {
		return p, errno
	}
	if errno = f.may(p, true); errno == 0 && (p.name == "." || removes && (f.holds(p.path) || !f.policy.JudgeWrite(path.Dir(p.path)).Allowed)) {
		errno = sys.EACCES
	}
	if errno == 0 && removes && !p.there {
		errno = sys.ENOENT
	}
	if errno != 0 {
		p.close()
	}
	return p, errno
}

// entry lets do change one entry.
func (f *FS) entry(name string, removes bool, do func(p place) error) sys.Errno {
	p, errno := f.change(name, removes)
	if errno != 0 {
		return errno
	}
	defer p.close()
	return errnoOf(do(p))
}

// Mkdir is part of sys.FS.
func (f *FS) Mkdir(name string, _ fs.FileMode) sys.Errno {
	return f.entry(name, false, func(p place) error { return unix.Mkdirat(p.dir, p.name, 0o777) })
}

// Rmdir is part of sys.FS.
func (f *FS) Rmdir(name string) sys.Errno {
	return f.entry(name, true, func(p place) error { return unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR) })
}

// Unlink is part of sys.FS.
func (f *FS) Unlink(name string) sys.Errno {
	return f.entry(name, true, func(p place) error { return unix.Unlinkat(p.dir, p.name, 0) })
}

// Utimens is part of sys.FS.
func (f *FS) Utimens(name string, atim, mtim int64) sys.Errno {
	p, errno := f.walk(name, true)
	if errno != 0 {
		return errno
	}
	defer p.close()
	if errno := f.may(p, true); errno != 0 {
		return errno
	}
	return errnoOf(unix.UtimesNanoAt(p.dir, p.name, times(&p.st, atim, mtim), unix.AT_SYMLINK_NOFOLLOW))
}

// Symlink is part of sys.FS. The text may be any: a link is walked, never followed. But no link stands for a folder in
// which names are protected, since other programs would follow it.
func (f *FS) Symlink(text, name string) sys.Errno {
	return f.entry(name, false, func(p place) error {
		if f.leads(p.path) {
			return unix.EACCES
		}
		return unix.Symlinkat(text, p.dir, p.name)
	})
}

// leads reports whether what comes to path would be below a protected name, or in the place of a folder that holds one.
func (f *FS) leads(path string) bool {
	return f.holds(path) || inRepository(path) || protect.Leads(f.policy.Protected.Names, path)
}

// Link is part of sys.FS. The file gets a second name, by which it could be written: so it must be writable by the first.
func (f *FS) Link(old, name string) sys.Errno {
	return f.entry(old, false, func(from place) error {
		if !from.is(unix.S_IFREG) {
			return unix.EPERM
		}
		return f.into(name, func(to place) error { return unix.Linkat(from.dir, from.name, to.dir, to.name, 0) })
	})
}

// into is entry as an error, for what nests.
func (f *FS) into(name string, do func(p place) error) error {
	if errno := f.entry(name, false, do); errno != 0 {
		return errno
	}
	return nil
}

// Rename is part of sys.FS.
func (f *FS) Rename(old, name string) sys.Errno {
	return f.entry(old, true, func(from place) error {
		return f.into(name, func(to place) error {
			if from.is(unix.S_IFDIR) && (f.leads(to.path) || f.below(from.dir, from.name, from.path, to.path, maxDepth) != nil) || from.is(unix.S_IFLNK) && f.leads(to.path) {
				return unix.EACCES
			}
			return unix.Renameat(from.dir, from.name, to.dir, to.name)
		})
	})
}

// maxDepth bounds the depth of a folder that is moved.
const maxDepth = 64

// below fails if a folder has an entry that a module may not read or write, at its present path or at the new one.
//
// Threat: a pattern of deny_read names a file by its folder, or a protected name has several components. After a move of
// the folder the file would have another path, which is open.
func (f *FS) below(dir int, name, old, new string, depth int) error {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil || depth == 0 {
		return unix.EACCES
	}
	folder := os.NewFile(uintptr(fd), old)
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		from, to := path.Join(old, e.Name()), path.Join(new, e.Name())
		var st unix.Stat_t
		if err := unix.Fstatat(fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		for _, at := range []string{from, to} {
			if !f.policy.JudgeWrite(at).Allowed || inRepository(at) || f.shut[identityOf(&st)] != 0 {
				return unix.EACCES
			}
		}
		if uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR {
			if err := f.below(fd, e.Name(), from, to, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}
