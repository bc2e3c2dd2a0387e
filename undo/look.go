package undo

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"codeagent/hostfile"
)

// kind is the type of an entry.
type kind string

const (
	absent kind = "absent"
	file   kind = "file"
	link   kind = "link"
	folder kind = "folder"
	// special is a FIFO, a socket or a device: never opened, never recorded.
	special kind = "special"
)

// inode identifies a file under any name.
type inode struct{ dev, ino uint64 }

// state is the state of a path at one moment.
type state struct {
	Kind kind `json:"k"`
	// Mode holds only the permission bits: set-id bits are not restored, since the present
	// content is not trusted.
	Mode uint32 `json:"m,omitempty"`
	Dev  uint64 `json:"d,omitempty"`
	Ino  uint64 `json:"i,omitempty"`
	// Ctime is in nanoseconds; no program can set it.
	Ctime int64 `json:"c,omitempty"`
	// Size, in bytes, and Mtime are not set for folders; Links only for files.
	Size  int64  `json:"n,omitempty"`
	Mtime int64  `json:"t,omitempty"`
	Links uint64 `json:"l,omitempty"`
	// Sum is the SHA-256 of a file's content, if it was read.
	Sum []byte `json:"h,omitempty"`
	// Target is the target of a link.
	Target []byte `json:"to,omitempty"`
	// Kept is where undo has stored the content; nil: it has not.
	Kept *place `json:"kept,omitempty"`
	// born is the file's time of creation in nanoseconds; 0: unknown. No program can set it.
	born int64
}

// place is where the content of a file is stored: an offset in the contents file of a turn.
type place struct {
	// Turn is the number of the turn that stored it; 0: the turn to which the record belongs.
	Turn int `json:"turn,omitempty"`
	// At is the offset of its first byte.
	At int64 `json:"at,omitempty"`
}

func (s state) inode() inode { return inode{s.Dev, s.Ino} }

// untouched reports whether two looks show no change. File systems count time in steps of some
// milliseconds, so a change soon after the first look may not show: a caller that needs certainty
// also compares Sum or checks settledBy. Size and times of a folder are ignored: they change with its
// entries, which have their own records.
func (s state) untouched(now state) bool {
	if s.Kind == folder {
		return now.Kind == folder && s.Mode == now.Mode && s.inode() == now.inode()
	}
	return s.Kind == now.Kind && s.Mode == now.Mode && s.Size == now.Size && s.inode() == now.inode() &&
		s.Mtime == now.Mtime && s.Ctime == now.Ctime && string(s.Target) == string(now.Target)
}

// brief returns s as it is kept in memory: with a digest instead of a link's target, because a
// command can make that long.
func (s state) brief() state {
	if s.Target != nil {
		digest := sha256.Sum256(s.Target)
		s.Target = digest[:]
	}
	return s
}

// tick is longer than the step in which any file system counts time.
const tick = 3 * time.Second

// settledBy reports whether the last change of s was so long before t that any change after t shows
// in its times.
func (s state) settledBy(t time.Time) bool { return t.Sub(time.Unix(0, s.Ctime)) > tick }

// look returns the state of the entry name in the open folder dir.
func look(dir int, name string) (state, error) {
	var st unix.Stat_t
	err := hostfile.Retry(func() error {
		if name == "." { // Fstat also works if the folder has no search permission
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
	switch s.Kind {
	case link:
		s.Target, err = readlink(dir, name)
	case file:
		s.born = birth(dir, name)
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

// readlink reads the target of a link, which is at most as long as a path can be.
func readlink(dir int, name string) ([]byte, error) {
	buf := make([]byte, 4096+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n:n], nil
}

// openFile opens the entry name of dir for reading. If it is not the regular file that was
// describes, the error is errReplaced. O_NONBLOCK is for a FIFO, at which open would wait.
func openFile(dir int, name string, was state) (*os.File, error) {
	fd, err := hostfile.OpenAt(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
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
	// Go's poller does not handle regular files, so reads are plain system calls despite O_NONBLOCK.
	return os.NewFile(uintptr(fd), name), nil
}

// errReplaced means that another file has the name now.
var errReplaced = errors.New("it was replaced while it was read")

// openFolder opens the folder name in dir to list it.
func openFolder(dir int, name string) (*os.File, error) {
	fd, err := hostfile.OpenAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// walker opens folders by their canonical paths. It keeps the last one open, because in a sorted
// list the next path is often in the same folder. The zero value is ready to use.
type walker struct {
	path string
	fd   int
	open bool
}

// folder returns the folder at p; it stays open until the next call. A link in p is an error: a
// canonical path has no links, so somebody has put it there since.
func (w *walker) folder(p string) (int, error) {
	if w.open && w.path == p {
		return w.fd, nil
	}
	w.close()
	fd, err := hostfile.OpenPass(p)
	if err != nil {
		return -1, err
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

// look returns the state of the canonical path p. It is absent if its folder does not exist or
// is no longer a folder.
func (w *walker) look(p string) (state, error) {
	dir, err := w.folder(path.Dir(p))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, hostfile.ErrLink) {
		return state{Kind: absent}, nil
	}
	if err != nil {
		return state{}, err
	}
	return look(dir, path.Base(p))
}

// names returns up to most names of entries in the folder p, sorted.
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

// below calls visit for the entries of the folder p, and of each folder below it for which visit
// returned true. It stops when more returns false, and takes up to most names from each folder.
func (w *walker) below(p string, most int, more func() bool, visit func(p string) bool) {
	for folders := []string{p}; len(folders) > 0; {
		in := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		for _, name := range w.names(in, most) {
			if !more() {
				return
			}
			if p := path.Join(in, name); visit(p) {
				folders = append(folders, p)
			}
		}
	}
}

// lookInto is like look, but also sets Sum of a file that has at most limit bytes.
func (w *walker) lookInto(p string, limit int64) (state, error) {
	s, err := w.look(p)
	if err != nil {
		return s, err
	}
	return w.readInto(p, s, limit)
}

// readInto sets Sum of s, which look has just returned for p.
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
