package session

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"codeagent/hostfile"
	"codeagent/model"
)

// Store is the folder of all sessions.
type Store struct {
	dir string
	now func() time.Time
}

// New returns the store in dir, a folder that only the user can access. It must exist when the
// first session is written.
func New(dir string) *Store { return &Store{dir: dir, now: time.Now} }

// ErrNotFound: no session has that name.
var ErrNotFound = errors.New("no such session")

// InUseError says that another process writes the session.
type InUseError struct {
	ID string
	// PID is the process, 0 if it is not known.
	PID int
}

func (e *InUseError) Error() string {
	by := "another process"
	if e.PID > 0 {
		by = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("session %s is in use by %s", e.ID, by)
}

// NewID returns the ID of a new session: 64 random bits in hex.
func NewID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand since Go 1.24)
	return hex.EncodeToString(b[:])
}

// ids matches session IDs: no other text becomes a file name.
var ids = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{16}$`) })

const suffix = ".jsonl"

// Create begins a session. Its file is created with the first item.
func (s *Store) Create(i Info) *Session { return &Session{store: s, info: i, total: new(model.Usage)} }

// Open resumes the session that i names. An incomplete last line is removed. The error may be
// an *InUseError or wrap ErrNotFound.
func (s *Store) Open(i Info) (*Session, error) {
	f, v, err := s.openLocked(i.ID)
	if err != nil {
		return nil, err
	}
	ses := &Session{store: s, info: i, f: f, view: v}
	if ses.label, err = v.label(); err == nil {
		ses.total, err = v.total()
	}
	if err == nil {
		err = ses.record(ses.opened())
	}
	if err != nil {
		f.Close()
		return nil, failed(i.ID, err)
	}
	return ses, nil
}

// openLocked opens a session for writing and repairs its end.
func (s *Store) openLocked(id string) (*os.File, view, error) {
	f, err := s.openFile(id, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, view{}, err
	}
	v, err := s.claim(f, id)
	if err != nil {
		f.Close()
		return nil, view{}, err
	}
	return f, v, nil
}

// claim locks f and removes a torn last line.
func (s *Store) claim(f *os.File, id string) (view, error) {
	if err := own(f, id); err != nil {
		return view{}, err
	}
	v, err := look(f)
	if err != nil {
		return view{}, failed(id, err)
	}
	// The file may have been deleted between the open and the lock.
	mine, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = hostfile.Lstat(f.Name()); err == nil && !os.SameFile(mine, there) {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return view{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err == nil && mine.Size() > v.end {
		err = f.Truncate(v.end)
	}
	if err != nil {
		return view{}, failed(id, err)
	}
	return v, nil
}

// own locks f, or returns an error with the process that holds the lock.
func own(f *os.File, id string) error {
	err := lock(f, lockTries)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		inUse := &InUseError{ID: id}
		if v, err := look(f); err == nil {
			last, _ := v.last(isOpen, v.start)
			inUse.PID = last.PID
		}
		if inUse.PID == 0 || !errors.Is(syscall.Kill(inUse.PID, 0), syscall.ESRCH) {
			return inUse
		}
		if err = lock(f, orphanTries); errors.Is(err, syscall.EWOULDBLOCK) {
			return inUse
		}
	}
	if err != nil {
		err = failed(id, fmt.Errorf("lock: %w", err))
	}
	return err
}

// Bounds of the wait for a lock. After a process is killed, its lock remains while its commands end
// (InUse), and while a child that it had forked has not yet called execve: usually an instant, on a busy
// machine seconds. orphanTries applies if the process that the session names is gone.
const (
	lockTries   = 50
	orphanTries = 1000
	lockPause   = 10 * time.Millisecond
)

func lock(f *os.File, tries int) error {
	var err error
	for range tries {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		time.Sleep(lockPause)
	}
	return err
}

// Rename gives a session a title; an empty one removes it. It does not count as use.
func (s *Store) Rename(id, title string) error {
	f, v, err := s.openLocked(id)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return failed(id, err)
	}
	ses := &Session{store: s, f: f, view: v}
	if ses.label, err = v.label(); err == nil {
		err = ses.Rename(title)
	}
	if err == nil {
		err = hostfile.Touch(f.Name(), info.ModTime()) // the list is sorted by last use
	}
	if err != nil {
		return failed(id, err)
	}
	return nil
}

// LastModel returns the model that the session used last, even if that part was rewound. The
// session may be in use.
func (s *Store) LastModel(id string) (Model, error) {
	f, v, err := s.read(id)
	if err != nil {
		return Model{}, err
	}
	defer f.Close()
	r, err := v.last(isOpen, v.start)
	if err != nil {
		return Model{}, failed(id, err)
	}
	return Model{Name: r.Model, Provider: r.Provider, Host: r.Host, Window: r.Window}, nil
}

// Free returns an *InUseError while another process writes the session.
func (s *Store) Free(id string) error {
	f, err := s.openFile(id, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close() // this also releases the lock
	return own(f, id)
}

// Delete removes a session that no process writes. It also removes an entry with a session's
// name that is damaged, unreadable or not a file; a folder only if it is empty.
func (s *Store) Delete(id string) error {
	f, err := s.openFile(id, os.O_RDWR)
	switch {
	case err == nil:
		defer f.Close()
		if err := own(f, id); err != nil {
			return err
		}
	case !ids().MatchString(id), errors.Is(err, ErrNotFound), errors.Is(err, syscall.EROFS):
		return err
	}
	// Remove the session last: until then the deletion can be repeated.
	if err := s.removeImages(id); err != nil {
		return failed(id, err)
	}
	if err := hostfile.Remove(s.file(id)); err != nil {
		return failed(id, err)
	}
	return nil
}

// Fork makes a new session from everything in another before message n; 0 means all of it.
// It returns the new ID. The other session may be in use.
func (s *Store) Fork(id string, n int) (string, error) {
	f, v, err := s.read(id)
	if err != nil {
		return "", err
	}
	defer f.Close()
	named, err := v.label()
	if err == nil && n != 0 {
		v.end, err = v.before(n)
	}
	if err != nil {
		return "", failed(id, err)
	}
	made := NewID()
	if err := s.copy(v, made, named); err != nil {
		return "", fmt.Errorf("fork session %s: %w", id, err)
	}
	return made, nil
}

// copy writes the records of v, which contain distances and no positions, after a new head.
// The file gets its name when it is complete.
func (s *Store) copy(v view, id string, is Label) error {
	now := s.now().UTC().Truncate(time.Millisecond)
	top, err := encode(head{Version: version, ID: id, At: now, Folder: v.head.Folder, First: v.head.First, Origin: v.head.ID})
	if err != nil {
		return err
	}
	named, err := encode(record{Kind: kindTitle, At: now, Label: is})
	if err != nil {
		return err
	}
	err = writeWhole(s.file(id), func(f io.Writer) error {
		records := io.NewSectionReader(v.f, v.start, v.end-v.start)
		_, err := io.Copy(f, io.MultiReader(bytes.NewReader(top), records, bytes.NewReader(named)))
		if err == nil {
			err = s.forkImages(v, id)
		}
		return err
	})
	if err != nil {
		_ = s.removeImages(id) // the other error is reported
		return err
	}
	return s.sync()
}

// writeWhole makes a file that gets its name only when all output of write is on disk.
func writeWhole(name string, write func(io.Writer) error) error {
	f, err := hostfile.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = hostfile.Rename(f.Name(), name)
	}
	if err != nil {
		hostfile.Remove(f.Name())
	}
	return err
}

// read opens a session for reading. Another process may write it meanwhile.
func (s *Store) read(id string) (*os.File, view, error) {
	f, err := s.openFile(id, os.O_RDONLY)
	if err != nil {
		return nil, view{}, err
	}
	v, err := look(f)
	if err != nil {
		f.Close()
		return nil, view{}, failed(id, err)
	}
	return f, v, nil
}

func (s *Store) file(id string) string { return filepath.Join(s.dir, id+suffix) }

// openFile opens the file of a session, for the user only and following no link.
func (s *Store) openFile(id string, flag int) (*os.File, error) {
	if !ids().MatchString(id) {
		return nil, fmt.Errorf("%w: %.64q", ErrNotFound, id)
	}
	f, err := hostfile.OpenFile(s.file(id), flag, 0o600)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return f, err
}

// sync syncs the folder, with the names of new files, to disk.
func (s *Store) sync() error { return hostfile.Sync(s.dir) }

func failed(id string, err error) error { return fmt.Errorf("session %s: %w", id, err) }

// idOf returns the ID of the session in a file, "" for another file.
func idOf(name string) string {
	id, ok := strings.CutSuffix(name, suffix)
	if !ok || !ids().MatchString(id) {
		return ""
	}
	return id
}
