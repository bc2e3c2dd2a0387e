package undo

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// look returns the state of the entry name in the open folder dir.
func look(dir int, name string) (state, error) {
	var st unix.Stat_t
	err := retry(func() error {
		if name == "." { // works also for a folder that may not be searched
			return unix.Fstat(dir, &st)
		}
		return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if errors.Is(err, unix.ENOENT) {
		return state{Kind: absent}, nil
	}
	if err != nil {
		return state{}, err
	}
	s := stateOf(&st)
	if s.Kind == link {
		s.Target, err = readlink(dir, name)
	}
	return s, err
}

func stateOf(st *unix.Stat_t) state {
	mode := uint32(st.Mode)
	s := state{Kind: special, Mode: mode & 0o777, Dev: uint64(st.Dev), Ino: st.Ino, Ctime: unix.TimespecToNsec(st.Ctim)}
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind, s.Links = file, uint64(st.Nlink)
	case unix.S_IFDIR:
		s.Kind = folder
		return s
	case unix.S_IFLNK:
		s.Kind, s.Mode = link, 0 // a link's mode differs between systems, and nobody can change it
	}
	s.Size, s.Mtime = st.Size, unix.TimespecToNsec(st.Mtim)
	return s
}

// readlink reads the target of a link, at most as long as a path can be.
func readlink(dir int, name string) ([]byte, error) {
	buf := make([]byte, 4096+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n:n], nil
}

// openFile opens the regular file was for reading. If the name is something else by now,
// it is closed at once; O_NONBLOCK keeps open from waiting at a FIFO.
func openFile(dir int, name string, was state) (*os.File, error) {
	fd, err := openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	if is := stateOf(&st); is.Kind != file || is.inode() != was.inode() {
		unix.Close(fd)
		return nil, errReplaced
	}
	// The runtime's poller does not handle regular files, so reads are plain system calls.
	return os.NewFile(uintptr(fd), name), nil
}

// errReplaced: another file has the name now.
var errReplaced = errors.New("it was replaced while it was read")

// openFolder opens the folder name in dir to be listed.
func openFolder(dir int, name string) (*os.File, error) {
	fd, err := openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openat(dir int, name string, flags int) (fd int, err error) {
	err = retry(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// walker opens folders by their canonical paths, one component after the other, and keeps
// the last one open, since sorted paths share folders. The zero value is ready.
type walker struct {
	path string
	fd   int
	open bool
}

// folder returns the folder at p, open until the next call. A link on the way is an error:
// a canonical path had none, so somebody has put it there since.
func (w *walker) folder(p string) (int, error) {
	if w.open && w.path == p {
		return w.fd, nil
	}
	from, rest := "/", strings.TrimPrefix(p, "/")
	fd, err := -1, error(nil)
	if below, ok := strings.CutPrefix(p, w.path+"/"); w.open && ok {
		from, rest, fd = w.path, below, w.fd
		w.open = false
	} else {
		w.close()
		if fd, err = openat(unix.AT_FDCWD, "/", onlyPass|unix.O_DIRECTORY); err != nil {
			return -1, err
		}
	}
	for at := from; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		next, err := openat(fd, name, onlyPass|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		unix.Close(fd)
		if err != nil {
			return -1, &stepError{folder: at, name: name, err: err}
		}
		fd, at = next, path.Join(at, name)
	}
	w.path, w.fd, w.open = p, fd, true
	return fd, nil
}

func (w *walker) close() {
	if w.open {
		unix.Close(w.fd)
		w.open = false
	}
}

// stepError is the error of one component of a path.
type stepError struct {
	folder, name string
	err          error
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %v", path.Join(e.folder, e.name), e.err) }
func (e *stepError) Unwrap() error { return e.err }

// look returns the state of the canonical path p. It is absent if its folder does not exist or
// is no longer a folder.
func (w *walker) look(p string) (state, error) {
	dir, err := w.folder(path.Dir(p))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return state{Kind: absent}, nil
	}
	if err != nil {
		return state{}, err
	}
	return look(dir, path.Base(p))
}

// names lists the folder p, at most most names.
func (w *walker) names(p string, most int) []string {
	dir, err := w.folder(p)
	if err != nil {
		return nil
	}
	f, err := openFolder(dir, ".")
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(most) // on an error, the names read so far
	slices.Sort(names)
	return names
}

// lookInto is look that also reads a file's content, if it is at most limit bytes.
func (w *walker) lookInto(p string, limit int64) (state, error) {
	s, err := w.look(p)
	if err != nil {
		return s, err
	}
	return w.readInto(p, s, limit)
}

// readInto adds a file's content to s, which was just seen at p.
func (w *walker) readInto(p string, s state, limit int64) (state, error) {
	if s.Kind != file || s.Size > limit {
		return s, nil
	}
	f, err := openFile(w.fd, path.Base(p), s)
	if err != nil {
		return s, err
	}
	defer f.Close()
	s.Sum, err = sum(f, limit)
	return s, err
}

// sum returns the SHA-256 of r, which must have at most limit bytes.
func sum(r io.Reader, limit int64) ([]byte, error) {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = errors.New("it grew while it was read")
	}
	if err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
