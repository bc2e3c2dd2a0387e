//go:build linux

package pathwalk

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Threat: a command gives a path, and changes what the path leads to while the broker
// judges it. So the broker opens the file first. Everything after this acts on the open
// file, and a later change of the path has no effect.
//
// The walk starts at the command's own root (view), its working directory or its
// descriptor, with no more rights than the command has. Paths below /proc need care:
// /proc/self would mean the broker, and the links there that jump to an open file (fd/N,
// cwd, root) are followed only if they belong to the caller (but see Name.Others).

const maxLinks = 40 // MAXSYMLINKS

// Name is how a system call names a file.
type Name struct {
	Dir  int32 // a descriptor, or AT_FDCWD
	Path string
	// Itself: the descriptor is the file (fchmod, AT_EMPTY_PATH).
	Itself bool
	// NoFollow: a link in the last component is not followed.
	NoFollow bool
	// Others: links of other processes in /proc that jump to an open file are followed too. The kernel
	// may refuse them to the caller, so this is for reports, not for decisions.
	Others bool
}

// open opens with O_PATH what the thread means by m.
func (v *view) open(tid int, m Name) (int, error) {
	switch {
	case m.Itself:
		return m.base(tid, 0)
	case m.Path == "":
		return -1, unix.ENOENT
	case m.Path == "./":
		return m.base(tid, unix.O_DIRECTORY)
	}
	base, scope := v.root, uint64(unix.RESOLVE_IN_ROOT)
	if m.Path[0] != '/' {
		var err error
		if base, err = m.base(tid, 0); err != nil {
			return -1, err
		}
		defer unix.Close(base)
		// A link to an absolute path would lead to the broker's root, so it is not followed
		// here.
		if scope = 0; v.own {
			scope = unix.RESOLVE_BENEATH
		}
	}
	flags := uint64(unix.O_PATH | unix.O_CLOEXEC)
	if m.NoFollow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := kernel.Openat2(base, m.Path, flags, scope|unix.RESOLVE_NO_MAGICLINKS)
	if err == nil {
		return fd, nil // without jumping links, /proc/self leads to nothing outside /proc
	}
	// The path led out of the scope, or a component was missing because /proc/self meant the
	// broker. Walk the path by single components.
	w := stepper{view: v, tid: tid, others: m.Others}
	return w.walk(base, m.Path, !m.NoFollow)
}

// base opens where a relative path of m starts. flags may be O_DIRECTORY.
func (m Name) base(tid int, flags uint64) (int, error) {
	if m.Dir == unix.AT_FDCWD {
		return OpenProc(tid, "cwd", flags)
	}
	if m.Dir < 0 {
		return -1, unix.EBADF
	}
	fd, err := OpenProc(tid, "fd/"+strconv.Itoa(int(m.Dir)), flags)
	if err == unix.ENOENT {
		err = unix.EBADF
	}
	return fd, err
}

// Written returns the absolute path of m without following links, or "". It
// is for reports about missing files, never for decisions.
func (m Name) Written(tid int) string {
	path := m.Path
	if m.Itself || path == "" {
		return ""
	}
	if path[0] != '/' {
		base, err := m.base(tid, 0)
		if err != nil {
			return ""
		}
		path = kernel.PathOf(base) + "/" + path
		unix.Close(base)
	}
	return filepath.Clean(path)
}

// OpenProc opens the target of one of a thread's links in /proc. EPERM means that the
// broker may not examine the thread. The kernel gives EACCES for that, which would look
// like a folder without search permission.
func OpenProc(tid int, link string, flags uint64) (int, error) {
	fd, err := kernel.Openat2(unix.AT_FDCWD, "/proc/"+strconv.Itoa(tid)+"/"+link, flags|unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.EACCES {
		err = unix.EPERM
	}
	return fd, err
}

// stepper walks a path one component at a time.
type stepper struct {
	*view
	tid    int
	others bool
	links  int
}

// walk opens the end of path, starting at base, which stays open.
func (w *stepper) walk(base int, path string, follow bool) (int, error) {
	at, err := kernel.DupAbove(base, kernel.LowestFD)
	if err != nil {
		return -1, err
	}
	todo := strings.Split(path, "/")
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			// A slash follows, so at must be a folder.
			var st unix.Stat_t
			if err := unix.Fstat(at, &st); err != nil || !kernel.IsFolder(&st) {
				unix.Close(at)
				return -1, cmp.Or(kernel.ErrnoOf(err), unix.ENOTDIR)
			}
			continue
		}
		// A link before a slash is always followed.
		next, target, err := w.step(at, part, len(todo) > 0 || follow)
		switch {
		case err != nil:
			unix.Close(at)
			return -1, err
		case next >= 0:
			unix.Close(at)
			at = next
		default:
			if strings.HasPrefix(target, "/") {
				unix.Close(at)
				if at, err = kernel.DupAbove(w.root, kernel.LowestFD); err != nil {
					return -1, err
				}
			}
			todo = append(strings.Split(target, "/"), todo...)
		}
	}
	return at, nil
}

// step opens part in the folder at. For a link to follow, next is -1 and target is its
// text. A link in /proc that jumps to an open file is followed at once, and next is that
// file.
func (w *stepper) step(at int, part string, follow bool) (next int, target string, err error) {
	if own := w.rewritten(at, part); own != "" {
		part = own
	}
	if part == ".." && w.isRoot(at) {
		part = "."
	}
	fd, err := kernel.Openat2(at, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil || !follow {
		return fd, "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return fd, "", nil
	}
	defer unix.Close(fd)
	if w.links++; w.links > maxLinks {
		return -1, "", unix.ELOOP
	}
	// The links in /proc itself, such as mounts and net, have a text like any other.
	if kernel.OnProc(fd) && kernel.PathOf(at) != kernel.ProcDir {
		if !w.others && !w.ours(at) {
			return -1, "", unix.EACCES
		}
		next, err = kernel.Openat2(at, part, unix.O_PATH|unix.O_CLOEXEC, 0)
		return next, "", err
	}
	target, err = readLink(fd, "")
	return -1, target, err
}

// rewritten replaces "self" and "thread-self" in /proc with the caller's numbers. The
// kernel would take both for the broker.
func (w *stepper) rewritten(at int, part string) string {
	if part != "self" && part != "thread-self" || !kernel.OnProc(at) || kernel.PathOf(at) != kernel.ProcDir {
		return ""
	}
	process, thread := w.numbers(w.tid, at)
	switch {
	case process == 0:
		return ""
	case part == "self":
		return strconv.Itoa(process)
	}
	return strconv.Itoa(process) + "/task/" + strconv.Itoa(thread)
}

// isRoot reports whether at is the command's root, whose ".." is itself. The kernel handles
// only the broker's root that way.
func (w *stepper) isRoot(at int) bool {
	var a, root unix.Statx_t
	const want = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID
	return unix.Statx(at, "", unix.AT_EMPTY_PATH, want, &a) == nil && unix.Statx(w.root, "", unix.AT_EMPTY_PATH, want, &root) == nil &&
		a.Mnt_id == root.Mnt_id && a.Ino == root.Ino
}

// ours reports whether the folder at is the caller's own in /proc, or lies in it.
func (w *stepper) ours(at int) bool {
	path := kernel.PathOf(at)
	process, thread := w.numbers(w.tid, at)
	for _, id := range []int{thread, process} {
		own := kernel.ProcDir + "/" + strconv.Itoa(id)
		if rest, ok := strings.CutPrefix(path, own); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
