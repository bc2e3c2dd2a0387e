//go:build linux

package pathwalk

import (
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A call that makes, removes or replaces an entry acts on the folder that contains it. An
// open may act on an existing file or make one. This file turns a path into an open folder
// and the last component.

// Spot is the place of an entry: an open folder and a name in it.
type Spot struct {
	Dir  int // the folder, opened with O_PATH
	Last string
	// Slash: the path ends in a slash, so it can only mean a folder.
	Slash bool
	// Path is the folder's path in the policy. It does not begin with a slash if the
	// folder has no such path.
	Path string
	// Shown: the command sees the host's entry there, of which only the content can be changed.
	Shown bool
	// Asked is the path that the call gives.
	Asked string
}

// Odd reports whether the last component is not an entry of the folder: "/", "." or "..". A
// call on one fails in the kernel before any check of rights, or acts on a folder, which
// can neither be opened for writing nor be made again.
func (s Spot) Odd() bool { return s.Last == "" || s.Last == "." || s.Last == ".." }

// Full returns the entry's path in the policy.
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

// Stat examines the entry without following a link.
func (s Spot) Stat() (st unix.Stat_t, err error) {
	err = unix.Fstatat(s.Dir, s.Last, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

// Readlink returns the text of the link at the entry.
func (s Spot) Readlink() (string, error) { return readLink(s.Dir, s.Last) }

// Close closes the folder.
func (s Spot) Close() { unix.Close(s.Dir) }

// Spot walks to the folder of m. The folder must exist, the entry need not.
func (w *Walker) Spot(c Caller, m Name) (Spot, error) {
	head, last, slash := cutName(w.Instead(m.Path))
	if m.Path == "" {
		return Spot{}, unix.ENOENT
	}
	dir, err := w.Open(c, Name{Dir: m.Dir, Path: head, Others: m.Others})
	if err != nil {
		return Spot{}, err
	}
	s := w.SpotIn(dir, last, slash)
	s.Asked = m.Path
	return s, nil
}

// SpotIn returns the spot of last in the open folder dir, and takes ownership of dir.
func (w *Walker) SpotIn(dir int, last string, slash bool) Spot {
	s := Spot{Dir: dir, Last: last, Slash: slash, Path: w.PolicyPath(dir)}
	if host := w.shownIn(dir, s.Path, last); host != "" {
		s.Path, s.Shown = host, true
	}
	if w.OnHost(s.Full()) {
		s.Dir = w.AsHost(s.Dir, s.Path)
	}
	return s
}

// cutName cuts the last component off a path. head is never empty and ends in a slash, so
// that it can only mean a folder.
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

// Target is the end of a path walk that follows links.
type Target struct {
	// FD is the existing file (O_PATH), or -1: the call may make one at Spot.
	FD   int
	Stat unix.Stat_t
	// Path is the file's path in the policy.
	Path string
	Spot Spot
}

// Close closes the file and the folder.
func (t *Target) Close() {
	if t.FD >= 0 {
		unix.Close(t.FD)
	}
	if t.Spot.Dir >= 0 {
		t.Spot.Close()
	}
}

// Target walks to what m means. With follow set it follows a link in the last component,
// even one that leads to a missing file.
func (w *Walker) Target(c Caller, m Name, follow bool) (*Target, error) {
	asked := m.Path
	for range maxLinks + 1 {
		s, err := w.Spot(c, m)
		if err != nil {
			return nil, err
		}
		s.Asked = asked
		t := &Target{FD: -1, Spot: s}
		link, err := w.end(t, w.lookup(c, t, m, follow), follow)
		if err != nil {
			return nil, err
		}
		if link == "" {
			if t.FD >= 0 && (s.Shown || t.Path != s.Full()) && w.OnHost(t.Path) {
				t.FD = w.AsHost(t.FD, t.Path) // it is a mount, or a link in /proc led to it
			}
			return t, nil
		}
		if !strings.HasPrefix(link, "/") {
			head, _, _ := cutName(m.Path)
			link = head + link
		}
		m.Path = link
	}
	return nil, unix.ELOOP
}

// lookup opens the entry at t.Spot. It does not follow links, except those in /proc that
// jump to an open file: their text leads nowhere.
func (w *Walker) lookup(c Caller, t *Target, m Name, follow bool) (err error) {
	switch {
	case t.Spot.Odd():
		t.FD, err = w.Open(c, m)
	case !strings.HasPrefix(t.Spot.Path, kernel.ProcDir):
		t.FD, err = kernel.Openat2(t.Spot.Dir, t.Spot.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	default:
		// /proc/self must mean the caller, not the broker.
		t.FD, err = w.Open(c, Name{Dir: m.Dir, Path: m.Path, NoFollow: !follow, Others: m.Others})
	}
	return err
}

// end completes t after its entry was looked up with err. If t is a link to follow, it closes t
// and returns the text of the link, which is never empty. A missing entry is no error.
func (w *Walker) end(t *Target, err error, follow bool) (link string, _ error) {
	if err != nil {
		t.FD = -1
	} else {
		err = unix.Fstat(t.FD, &t.Stat)
	}
	switch {
	case err == unix.ENOENT && !t.Spot.Odd():
		t.Path = t.Spot.Full()
		return "", nil
	case err == nil && (!follow || t.Stat.Mode&unix.S_IFMT != unix.S_IFLNK):
		t.Path = w.PolicyPath(t.FD)
		return "", nil
	case err == nil:
		link, err = readLink(t.FD, "")
	}
	if t.Spot.Slash {
		link += "/"
	}
	t.Close()
	return link, err
}

// AsHost returns the host's own reference to the file or folder fd at path, since the
// command's mounts show granted paths as read-only. If the host has another file at path,
// it returns fd, through which nothing can be changed. Else it closes fd.
func (w *Walker) AsHost(fd int, path string) int {
	if w.Mounts == nil {
		return fd
	}
	host, err := SameOnHost(fd, path)
	if err != nil {
		return fd
	}
	unix.Close(fd)
	return host
}

// SameOnHost opens path on the host. It fails with EXDEV if fd is not that file or folder.
func SameOnHost(fd int, path string) (int, error) {
	host, err := OpenHost(path)
	if err == nil && kernel.SameFile(host, fd) {
		return host, nil
	}
	if err == nil {
		unix.Close(host)
	}
	return -1, unix.EXDEV
}

// OpenHost opens path on the host with O_PATH, without following any link: the paths of a
// policy contain none.
func OpenHost(path string) (int, error) {
	return kernel.Openat2(unix.AT_FDCWD, path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_NO_SYMLINKS)
}

// readLink returns the text of the link called name in dir, or of the open link dir if name is empty.
func readLink(dir int, name string) (string, error) {
	var buf [kernel.MaxPath]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(buf[:max(n, 0)]), err
}
