//go:build linux

package linuxsandbox

import (
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Calls that make, remove or replace a name are about the folder it stands in;
// an open may be about a file that is there or about one to be made. Here a name
// becomes an open folder with the last part of the name left over.

// spot is where a name stands.
type spot struct {
	dir  int // a reference to the folder
	last string
	// slash: one follows the name, which can then only be a folder's.
	slash bool
	// path is what the folder is called in the policy. It does not begin with a
	// slash when it has no name there.
	path string
	// asked is the name as the call has it.
	asked string
}

// odd reports a name that is no entry of the folder: "/", ".", "..". Whatever is
// asked of one fails in the kernel before any look at rights, or is about a
// folder, which can be neither opened for writing nor made again.
func (s spot) odd() bool { return s.last == "" || s.last == "." || s.last == ".." }

// full is what the name itself is called in the policy.
func (s spot) full() string {
	if s.path == "/" {
		return "/" + s.last
	}
	return s.path + "/" + s.last
}

// gone reports whether the folder of s has been removed.
func (s spot) gone() bool {
	var st unix.Stat_t
	return unix.Fstat(s.dir, &st) == nil && st.Nlink == 0
}

// stat looks at the entry itself.
func (s spot) stat() (st unix.Stat_t, err error) {
	err = unix.Fstatat(s.dir, s.last, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

func (s spot) close() { unix.Close(s.dir) }

// spot finds where m stands. The folder must be there, the name need not.
func (w *walker) spot(c caller, m name) (spot, error) {
	head, last, slash := cutName(w.instead(m.path))
	if m.path == "" {
		return spot{}, unix.ENOENT
	}
	dir, err := w.open(c, name{dir: m.dir, path: head})
	if err != nil {
		return spot{}, err
	}
	s := w.spotIn(dir, last, slash)
	s.asked = m.path
	return s, nil
}

// spotIn is the name last in the open folder dir, which it takes over.
func (w *walker) spotIn(dir int, last string, slash bool) spot {
	s := spot{dir: dir, last: last, slash: slash, path: w.policyPath(dir)}
	if w.onHost(s.full()) {
		s.dir = w.asHost(s.dir, s.path)
	}
	return s
}

// cutName takes the last part off a path. What is left ends in a slash, so that
// only a folder answers to it, and is never empty.
func cutName(path string) (head, last string, slash bool) {
	trimmed := strings.TrimRight(path, "/")
	slash = trimmed != path
	if trimmed == "" {
		return "/", "", slash
	}
	i := strings.LastIndexByte(trimmed, '/')
	if i < 0 {
		return "./", trimmed, slash
	}
	return trimmed[:i+1], trimmed[i+1:], slash
}

// target is what a call that follows links is about.
type target struct {
	// fd refers to what is there, -1: nothing is. Then it is to be made at spot.
	fd int
	st unix.Stat_t
	// path is what it is called in the policy.
	path string
	spot spot
}

func (t *target) close() {
	if t.fd >= 0 {
		unix.Close(t.fd)
	}
	if t.spot.dir >= 0 {
		t.spot.close()
	}
}

// target finds what m means, through links in the last place if follow is set.
// A link that leads to nothing is followed too.
func (w *walker) target(c caller, m name, follow bool) (*target, error) {
	asked := m.path
	for range maxLinks + 1 {
		s, err := w.spot(c, m)
		if err != nil {
			return nil, err
		}
		s.asked = asked
		t := &target{fd: -1, spot: s}
		err = w.lookup(c, t, m, follow)
		if err == unix.ENOENT && !s.odd() {
			t.path = s.full()
			return t, nil
		}
		if err != nil {
			t.close()
			return nil, err
		}
		if !follow || t.st.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.path = w.policyPath(t.fd)
			if t.path != s.full() && w.onHost(t.path) {
				t.fd = w.asHost(t.fd, t.path) // a link of /proc led to it
			}
			return t, nil
		}
		link, err := readLink(t.fd)
		t.close()
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(link, "/") {
			head, _, _ := cutName(m.path)
			link = head + link
		}
		if s.slash {
			link += "/"
		}
		m.path = link
	}
	return nil, unix.ELOOP
}

// lookup opens what stands at t.spot: the link itself where one does. Only links
// of /proc are followed here, since they have no text that leads anywhere.
func (w *walker) lookup(c caller, t *target, m name, follow bool) (err error) {
	switch {
	case t.spot.odd():
		t.fd, err = w.open(c, m)
	case !strings.HasPrefix(t.spot.path, kernel.ProcDir):
		t.fd, err = kernel.Openat2(t.spot.dir, t.spot.last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	default:
		// What is called self there is the caller, not the broker.
		t.fd, err = w.open(c, name{dir: m.dir, path: m.path, noFollow: !follow})
	}
	if err != nil {
		t.fd = -1
		return err
	}
	return unix.Fstat(t.fd, &t.st)
}

// asHost is the host's own reference to the file or folder fd, which is called
// path: the command's mounts show what was granted as read-only. Where the host
// has another file there it is fd itself, which nothing can be changed by.
func (w *walker) asHost(fd int, path string) int {
	if w.mounts == nil {
		return fd
	}
	host, err := openHost(path)
	if err != nil {
		return fd
	}
	if !kernel.SameFile(host, fd) {
		unix.Close(host)
		return fd
	}
	unix.Close(fd)
	return host
}

// openHost opens what path names on the host for reference, a link itself. No
// link is followed: the paths of policies lead through none.
func openHost(path string) (int, error) {
	return kernel.Openat2(unix.AT_FDCWD, path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_NO_SYMLINKS)
}

// readLink is where an open link leads.
func readLink(fd int) (string, error) {
	var buf [kernel.MaxPath]byte
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(buf[:max(n, 0)]), err
}
