package module

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/unix"
)

// Threat: a module names a path that leads out by "..", by a link or by a race between a look and an open. wazero hands
// names to the kernel, which follows all links. So FS walks a name itself, one component after the other, each relative
// to the open folder before it and never through a link by the kernel (O_NOFOLLOW). The text of a link is walked in
// the same way. What the policy judges is the path that was walked, and the call acts on the open folder and a last
// name that the kernel does not follow either.

// Bounds of a walk: the length of a name, the links on the way, and all its steps.
const (
	maxPath  = 4096
	maxLinks = 40
	maxSteps = 10000
)

// place is an entry of an open folder. path has no links.
type place struct {
	dir        int
	name, path string
	// st is what is there; there is false for nothing.
	st    unix.Stat_t
	there bool
	// shut is what FS.shut says of it and of the folders around it.
	shut closing
}

func (p place) close() { unix.Close(p.dir) }

func (p place) is(kind uint32) bool { return p.there && uint32(p.st.Mode)&unix.S_IFMT == kind }

// closing is how far a file is closed by its identity.
type closing int

const (
	unwritable closing = iota + 1
	unreadable
)

type identity struct{ dev, ino uint64 }

func identityOf(st *unix.Stat_t) identity { return identity{uint64(st.Dev), st.Ino} }

// walk finds name, a path of the module. follow: also a link at its end. Close the place.
func (f *FS) walk(name string, follow bool) (p place, errno sys.Errno) {
	switch {
	case strings.ContainsRune(name, 0):
		return p, sys.EINVAL
	case len(name) > maxPath:
		return p, sys.ENAMETOOLONG
	}
	rest, follow := components(name), follow || strings.HasSuffix(name, "/")
	if p.dir, errno = openFolder(unix.AT_FDCWD, "/"); errno != 0 {
		return p, errno
	}
	at := "/"
	defer func() {
		if errno == 0 {
			return
		}
		if p.close(); !f.shows(at) {
			errno = sys.EACCES // whether something is there is not said
		}
	}()
	restart := func() sys.Errno {
		root, errno := openFolder(unix.AT_FDCWD, "/")
		if errno == 0 {
			unix.Close(p.dir)
			p.dir, at, p.shut = root, "/", 0
		}
		return errno
	}
	for steps, links := 0, 0; steps < maxSteps; steps++ {
		if len(rest) == 0 {
			p.name, p.path, p.there = ".", at, true
			return p, errnoOf(unix.Fstat(p.dir, &p.st))
		}
		p.name, rest = rest[0], rest[1:]
		if p.name == ".." { // in the text of a link
			rest = append(components(path.Dir(at)), rest...)
			if errno := restart(); errno != 0 {
				return p, errno
			}
			continue
		}
		p.path = path.Join(at, p.name)
		err := unix.Fstatat(p.dir, p.name, &p.st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.ENOENT && len(rest) == 0 {
			return p, 0
		}
		if err != nil {
			return p, errnoOf(err)
		}
		p.there = true
		p.shut = max(p.shut, f.shut[identityOf(&p.st)])
		switch {
		case p.is(unix.S_IFLNK) && (len(rest) > 0 || follow):
			text, errno := readlink(p)
			if links++; errno != 0 || links > maxLinks {
				return p, cmp.Or(errno, sys.ELOOP)
			}
			if rest = append(components(text), rest...); path.IsAbs(text) {
				if errno := restart(); errno != 0 {
					return p, errno
				}
			}
		case len(rest) == 0:
			return p, 0
		default:
			next, errno := openFolder(p.dir, p.name)
			if errno != 0 {
				return p, errno
			}
			unix.Close(p.dir)
			p.dir, at = next, p.path
		}
		p.there = false
	}
	return p, sys.ELOOP
}

// components are those of a path, without empty ones and ".".
func components(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(c string) bool { return c == "" || c == "." })
}

func readlink(p place) (string, sys.Errno) {
	text := make([]byte, maxPath)
	n, err := unix.Readlinkat(p.dir, p.name, text)
	return string(text[:max(n, 0)]), errnoOf(err)
}

func openFolder(dir int, name string) (int, sys.Errno) {
	fd, err := unix.Openat(dir, name, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|reference, 0)
	return fd, errnoOf(err)
}

func errnoOf(err error) sys.Errno {
	if own, ok := err.(sys.Errno); ok {
		return own
	}
	return sys.UnwrapOSError(err)
}

// shows reports whether a module may know that something is at path: it may read it, or it lies on the way to a root.
func (f *FS) shows(path string) bool {
	return f.policy.JudgeRead(path).Allowed || slices.ContainsFunc(f.roots, func(root string) bool { return sandbox.Covers(path, root) })
}

// may judges an access to a place.
func (f *FS) may(p place, write bool) sys.Errno {
	j := f.policy.JudgeRead(p.path)
	if write {
		j = f.policy.JudgeWrite(p.path)
	}
	if !j.Allowed && f.confined {
		witness(p, write)
	}
	if !j.Allowed || p.shut == unreadable || write && (p.shut == unwritable || inRepository(p.path)) || isProc(p.dir) {
		return sys.EACCES
	}
	return 0
}

// inRepository: git trusts what its folders contain, by more rules than one. A module changes nothing there.
func inRepository(path string) bool {
	return slices.ContainsFunc(components(path), protect.IsRepository)
}

// witness makes an attempt that the sandbox around the program refuses, and reports, under the same policy. It changes
// nothing if that sandbox should allow it.
func witness(p place, write bool) {
	flags := unix.O_RDONLY
	if write {
		flags = unix.O_WRONLY
		if !p.there {
			flags |= unix.O_CREAT | unix.O_EXCL
		}
	}
	fd, err := unix.Openat(p.dir, p.name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return
	}
	unix.Close(fd)
	if write && !p.there {
		_ = unix.Unlinkat(p.dir, p.name, 0)
	}
}

// holds reports whether something below path is protected or closed by its own path, which a move of path would change.
func (f *FS) holds(path string) bool {
	return slices.ContainsFunc(f.fixed, func(q string) bool { return sandbox.Covers(path, q) })
}
