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
	// Kept is where the content is stored; nil: it is not stored.
	Kept *place `json:"kept,omitempty"`
	// born is when the file was made, in nanoseconds; 0 if that is unknown. No program can set it.
	born int64
}

// place is where a content is stored: a part of the file for contents in a turn's folder.
type place struct {
	// Turn is the number of an earlier turn that stored it, 0 for the record's own turn.
	Turn int `json:"turn,omitempty"`
	// At is where it begins.
	At int64 `json:"at,omitempty"`
}

func (s state) inode() inode { return inode{s.Dev, s.Ino} }

// untouched reports whether the kernel saw no change between two looks. The kernel's clock
// advances in steps of some milliseconds, so the content decides if it is known. A folder's size and times change with its
// entries, which have records of their own.
func (s state) untouched(now state) bool {
	if s.Kind == folder {
		return now.Kind == folder && s.Mode == now.Mode && s.inode() == now.inode()
	}
	return s.Kind == now.Kind && s.Mode == now.Mode && s.Size == now.Size && s.inode() == now.inode() &&
		s.Mtime == now.Mtime && s.Ctime == now.Ctime && string(s.Target) == string(now.Target)
}

// brief returns the part of s that is kept in memory: of a link's target only a digest, because
// a command chooses its length.
func (s state) brief() state {
	if s.Target != nil {
		digest := sha256.Sum256(s.Target)
		s.Target = digest[:]
	}
	return s
}

// tick is longer than the time in which any file system's clock shows a change.
const tick = 3 * time.Second

// settledBy reports whether s was last changed well before t, so that any change after t is
// visible in its times.
func (s state) settledBy(t time.Time) bool { return t.Sub(time.Unix(0, s.Ctime)) > tick }

// look returns the state of the entry name in the open folder dir.
func look(dir int, name string) (state, error) {
	var st unix.Stat_t
	err := hostfile.Retry(func() error {
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
	// The runtime's poller does not handle regular files, so reads are plain system calls.
	return os.NewFile(uintptr(fd), name), nil
}

// errReplaced: another file has the name now.
var errReplaced = errors.New("it was replaced while it was read")

// openFolder opens the folder name in dir to be listed.
func openFolder(dir int, name string) (*os.File, error) {
	fd, err := hostfile.OpenAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// walker opens folders by their canonical paths and keeps the last one open, since sorted
// paths share folders. The zero value is ready.
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

// below calls visit for all that is below the folder p, and enters the folders for which
// visit returns true, until more returns false. It takes at most most names of each folder.
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
