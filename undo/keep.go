package undo

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"codeagent/hostfile"
	"codeagent/internal/short"
)

// turn is the turn that is being recorded. A nil turn needs no close and no end.
type turn struct {
	history *History
	title   string
	of      []int // see record.Of
	from    int
	began   time.Time
	since   int64 // fileClock then

	// The next fields are guarded by history.mu: first the paths, and the size of their names in bytes.
	entries map[string]*entry
	held    int64
	// linked are files with several names (hard links), as they were when the turn first
	// changed one of the names.
	linked map[inode]state
	// unkept lists the files whose content is not stored, with the reason.
	unkept map[inode]string
	// logged is the size of the records about paths in the log, in bytes.
	logged int64
	// more says why no new path is recorded any more; empty: all are.
	more string
	// cut: no more records about known paths either; see stop.
	cut bool

	// mu guards the next fields, the files on disk. It is taken before history.mu.
	mu     sync.Mutex
	number int
	dir    string
	log    *os.File
	told   bool     // the log contains more
	stored *os.File // the contents, one after the other
	atEnd  int64    // the position of the next one
	bytes  int64    // of all contents; the log is not included
	ended  bool
	broken error // why the folder could not be made
}

func newTurn(s *History, title string) *turn {
	return &turn{history: s, title: title, began: s.store.now(), since: fileClock(), entries: map[string]*entry{}, linked: map[inode]state{}}
}

const (
	logName = "log.jsonl"
	// storedName holds all contents: half of the files that a command changes are smaller than a
	// disk block, and a file for each would take more space.
	storedName = "small"
)

// ready makes the turn's folder, or opens its log again. mu is held.
func (t *turn) ready() error {
	switch {
	case t.broken != nil:
		return t.broken
	case t.log != nil:
		return nil
	case t.dir == "":
		t.broken = t.create()
		return t.broken
	}
	f, err := hostfile.OpenFile(filepath.Join(t.dir, logName), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		t.log = f
	}
	return err
}

// create reserves a number for the turn, and makes its folder and log.
func (t *turn) create() error {
	s := t.history
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	t.number = s.last
	return t.makeLog()
}

// makeLog makes the turn's folder and log; after a failure it can be tried again. Both mu
// are held.
func (t *turn) makeLog() error {
	s := t.history
	if err := s.claim(); err != nil {
		return err
	}
	s.makeRoom(t.of != nil)
	dir := s.folder(t.number)
	if err := hostfile.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := hostfile.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := appendRecords(f, record{Kind: kindTurn, Version: version, At: t.began, Title: short.Cut(t.title, 200), Of: t.of, From: t.from}); err != nil {
		f.Close()
		return err
	}
	t.dir, t.log = dir, f
	return nil
}

// end records that the turn is over, if it has any records.
func (t *turn) end() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken != nil {
		t.history.mu.Lock()
		t.broken = t.makeLog() // there may be space again
		t.history.mu.Unlock()
	}
	if t.log == nil || t.ended || !t.recordMore() {
		return
	}
	// Without this record the turn counts as cut off, which loses nothing else.
	t.ended = appendRecords(t.log, record{Kind: kindEnd, At: t.history.store.now()}) == nil
}

// close closes the files. The next record of the turn opens them again.
func (t *turn) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range []**os.File{&t.log, &t.stored} {
		if *f != nil {
			(*f).Close()
			*f = nil
		}
	}
}

// keepFile stores the content of the file name in dir and sets s.Kept. why is set if it
// cannot be stored.
func (t *turn) keepFile(dir int, name string, s *state) (why string) {
	b := t.history.store.bounds
	if s.Size > b.file {
		return "over " + short.Size(b.file)
	}
	f, err := openFile(dir, name, *s)
	if err != nil {
		return reason(err)
	}
	defer f.Close()
	if !t.spend(s.Size) {
		return "the turn changed over " + short.Size(b.turn)
	}
	if err := t.store(f, s); err != nil {
		return reason(err)
	}
	return ""
}

// spend takes n bytes from the turn's limit, which includes the log.
func (t *turn) spend(n int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	if t.bytes+t.logged+n > t.history.store.bounds.turn {
		return false
	}
	t.bytes += n
	return true
}

// store appends the content of f, and sets where it is.
func (t *turn) store(f *os.File, s *state) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ready(); err != nil {
		return err
	}
	if t.stored == nil {
		var err error
		if t.stored, err = hostfile.OpenFile(filepath.Join(t.dir, storedName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return err
		}
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(io.NewOffsetWriter(t.stored, t.atEnd), h), io.LimitReader(f, s.Size+1))
	if err == nil && n != s.Size {
		err = errReplaced
	}
	if err != nil {
		return err
	}
	// atEnd moves only after a complete content: the next one overwrites an incomplete one.
	s.Sum, s.Kept = h.Sum(nil), &place{At: t.atEnd}
	t.atEnd += s.Size
	return nil
}

// reason says in words why something could not be recorded.
func reason(err error) string {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "it cannot be read"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return "the disk is full"
	}
	return err.Error()
}
