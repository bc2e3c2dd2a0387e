//go:build linux

package pathwalk

import (
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Calls that make, remove or replace a name are about the folder it stands in;
// an open may be about a file that is there or about one to be made. Here a name
// becomes an open folder with the last part of the name left over.

// Spot is where a name stands.
type Spot struct {
	Dir  int // a reference to the folder
	Last string
	// Slash: one follows the name, which can then only be a folder's.
	Slash bool
	// Path is what the folder is called in the policy. It does not begin with a
	// slash when it has no name there.
	Path string
	// Asked is the name as the call has it.
	Asked string
}

// Odd reports a name that is no entry of the folder: "/", ".", "..". Whatever is
// asked of one fails in the kernel before any look at rights, or is about a
// folder, which can be neither opened for writing nor made again.
func (s Spot) Odd() bool { return s.Last == "" || s.Last == "." || s.Last == ".." }

// Full is what the name itself is called in the policy.
func (s Spot) Full() string {
	if s.Path == "/" {
		return "/" + s.Last
	}
	return s.Path + "/" + s.Last
}

// Gone reports whether the folder of s has been removed.
func (s Spot) Gone() bool {
	var st unix.Stat_t
	return unix.Fstat(s.Dir, &st) == nil && st.Nlink == 0
}

// Stat looks at the entry itself.
func (s Spot) Stat() (st unix.Stat_t, err error) {
	err = unix.Fstatat(s.Dir, s.Last, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

func (s Spot) Close() { unix.Close(s.Dir) }

// Spot finds where m stands. The folder must be there, the name need not.
func (w *Walker) Spot(c Caller, m Name) (Spot, error) {
	head, last, slash := cutName(w.Instead(m.Path))
	if m.Path == "" {
		return Spot{}, unix.ENOENT
	}
	dir, err := w.Open(c, Name{Dir: m.Dir, Path: head})
	if err != nil {
		return Spot{}, err
	}
	s := w.SpotIn(dir, last, slash)
	s.Asked = m.Path
	return s, nil
}

// SpotIn is the name last in the open folder dir, which it takes over.
func (w *Walker) SpotIn(dir int, last string, slash bool) Spot {
	s := Spot{Dir: dir, Last: last, Slash: slash, Path: w.PolicyPath(dir)}
	if w.OnHost(s.Full()) {
		s.Dir = w.AsHost(s.Dir, s.Path)
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

// Target is what a call that follows links is about.
type Target struct {
	// FD refers to what is there, -1: nothing is. Then it is to be made at spot.
	FD   int
	Stat unix.Stat_t
	// Path is what it is called in the policy.
	Path string
	Spot Spot
}

func (t *Target) Close() {
	if t.FD >= 0 {
		unix.Close(t.FD)
	}
	if t.Spot.Dir >= 0 {
		t.Spot.Close()
	}
}

// Target finds what m means, through links in the last place if follow is set.
// A link that leads to nothing is followed too.
func (w *Walker) Target(c Caller, m Name, follow bool) (*Target, error) {
	asked := m.Path
	for range maxLinks + 1 {
		s, err := w.Spot(c, m)
		if err != nil {
			return nil, err
		}
		s.Asked = asked
		t := &Target{FD: -1, Spot: s}
		err = w.lookup(c, t, m, follow)
		if err == unix.ENOENT && !s.Odd() {
			t.Path = s.Full()
			return t, nil
		}
		if err != nil {
			t.Close()
			return nil, err
		}
		if !follow || t.Stat.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Path = w.PolicyPath(t.FD)
			if t.Path != s.Full() && w.OnHost(t.Path) {
				t.FD = w.AsHost(t.FD, t.Path) // a link of /proc led to it
			}
			return t, nil
		}
		link, err := readLink(t.FD)
		t.Close()
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(link, "/") {
			head, _, _ := cutName(m.Path)
			link = head + link
		}
		if s.Slash {
			link += "/"
		}
		m.Path = link
	}
	return nil, unix.ELOOP
}

// lookup opens what stands at t.spot: the link itself where one does. Only links
// of /proc are followed here, since they have no text that leads anywhere.
func (w *Walker) lookup(c Caller, t *Target, m Name, follow bool) (err error) {
	switch {
	case t.Spot.Odd():
		t.FD, err = w.Open(c, m)
	case !strings.HasPrefix(t.Spot.Path, kernel.ProcDir):
		t.FD, err = kernel.Openat2(t.Spot.Dir, t.Spot.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	default:
		// What is called self there is the caller, not the broker.
		t.FD, err = w.Open(c, Name{Dir: m.Dir, Path: m.Path, NoFollow: !follow})
	}
	if err != nil {
		t.FD = -1
		return err
	}
	return unix.Fstat(t.FD, &t.Stat)
}

// AsHost is the host's own reference to the file or folder fd, which is called
// path: the command's mounts show what was granted as read-only. Where the host
// has another file there it is fd itself, which nothing can be changed by.
func (w *Walker) AsHost(fd int, path string) int {
	if w.Mounts == nil {
		return fd
	}
	host, err := OpenHost(path)
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

// OpenHost opens what path names on the host for reference, a link itself. No
// link is followed: the paths of policies lead through none.
func OpenHost(path string) (int, error) {
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
