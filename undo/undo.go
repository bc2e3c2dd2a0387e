// Package undo keeps the state of files from before a turn changed them, and plans
// how to restore it. It writes only to its own store, outside all write roots; files
// of the user are changed by Files, the worker inside the sandbox. Start reading at
// Call.BeforeChange (call.go), then judge.go, which decides about each path.
//
//	a change is about to happen  -> Call.BeforeChange   before: the old state, its content kept
//	the call is over             -> Call.Settle         after: what the agent left
//	/undo                        -> History.Plan        now, compared with both
//	     now == before   nothing to do
//	     now == after    the agent's work: restore
//	     else            somebody else's work: a conflict, shown and left alone
//	                 -> History.Apply              through the file worker, under the policy
//
// Threat: a command may change any entry while undo reads it. So entries are opened
// below an open folder, no link is followed, and only regular files and folders are
// opened.
package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"codeagent/hostfile"
)

// Bounds of what is kept.
const (
	// maxFile is the largest file kept, in bytes.
	maxFile = 64 << 20
	// maxTurn is how much of one turn is kept, in bytes.
	maxTurn = 1 << 30
	// maxEntries is how many paths of one turn are kept: their list is held in memory
	// while the turn runs, about 400 bytes each and the path.
	maxEntries = 100_000
	// maxPaths is how many bytes their paths take.
	maxPaths = 64 << 20
	// maxLog is how long a turn's log is before no new path is kept: 100,000 of 200
	// bytes, once changed, take less.
	maxLog = 128 << 20
)

// Store is the folder of all sessions' turns.
type Store struct {
	dir    string
	bounds bounds
	now    func() time.Time
}

// bounds are those above, and of sweep.go.
type bounds struct {
	file, turn, session, store, paths, log int64
	entries                                int
}

// New returns the store in dir, a folder of the user's alone.
func New(dir string) *Store {
	return &Store{dir: dir, bounds: bounds{file: maxFile, turn: maxTurn, session: maxSession, store: maxStore, paths: maxPaths, log: maxLog, entries: maxEntries}, now: time.Now}
}

var (
	// ErrInUse: another process works in the session.
	ErrInUse = errors.New("the session is in use by another process")
	// ErrBusy: a turn is running.
	ErrBusy = errors.New("a turn is running: stop it first")
	// ErrNothing: no turn is left that changed anything.
	ErrNothing = errors.New("nothing to undo")
)

// ids are all names that a session has: nothing else becomes a folder's name.
var ids = regexp.MustCompile(`^[0-9a-f]{16}$`)

// History is what is kept of one conversation. It is safe for concurrent use.
type History struct {
	store *Store
	dir   string

	// settling is held while a call is settled. It is taken before mu.
	settling sync.Mutex

	mu sync.Mutex
	// ready wakes those who wait for an entry that somebody else is keeping.
	ready *sync.Cond
	// lock is open and locked; nil before the first change of a new session.
	lock *os.File
	// current receives the changes; nil before the first turn.
	current *turn
	// running: between Begin and End.
	running bool
	// open are the calls that have something to settle.
	open map[*Call]bool
	// last is the highest number that a turn has.
	last int
	// watched are the contents that Watch has kept.
	watched contents
	// sizes are the bytes of each turn, nil: not known yet.
	sizes map[int]int64
}

// Open continues the history of the session id, or begins it. It fails with ErrInUse where
// another process has it open. Nothing is written before there is something to keep.
func (s *Store) Open(id string) (*History, error) {
	if !ids.MatchString(id) {
		return nil, fmt.Errorf("undo: no session is called %.64q", id)
	}
	ses := &History{store: s, dir: filepath.Join(s.dir, id), open: map[*Call]bool{}}
	ses.ready = sync.NewCond(&ses.mu)
	turns, err := ses.turns()
	if err == nil && len(turns) == 0 {
		// A session with turns can be opened on a full disk, to undo them.
		err = s.makeReserve()
	}
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	if len(turns) > 0 {
		ses.last = slices.Max(turns)
		_, err := hostfile.Lstat(ses.dir) // it does not exist where no turn could be recorded
		if err == nil {
			err = ses.claim()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("undo: %w", err)
		}
	}
	return ses, nil
}

// Has reports whether anything is kept of the session id.
func (s *Store) Has(id string) bool {
	if !ids.MatchString(id) {
		return false
	}
	turns, err := (&History{store: s, dir: filepath.Join(s.dir, id)}).turns()
	return err == nil && len(turns) > 0
}

// claim makes the session's folder and locks it. Called with mu held, or by Open.
func (s *History) claim() error {
	if s.lock != nil {
		return nil
	}
	err := fs.ErrNotExist
	// Whoever sweeps can take the folder away before it is locked.
	for tries := 0; tries < 3 && errors.Is(err, fs.ErrNotExist); tries++ {
		if err := hostfile.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		s.lock, err = lockFile(filepath.Join(s.dir, lockName))
	}
	return err
}

const lockName = "lock"

// lockFile opens and locks the file that says who works in a session.
func lockFile(name string) (*os.File, error) {
	f, err := hostfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrInUse
	default: // some network file systems know no locks
		var mine, there fs.FileInfo
		if mine, err = f.Stat(); err == nil {
			there, err = hostfile.Lstat(name)
		}
		if err == nil && !os.SameFile(mine, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// id is the session's.
func (s *History) id() string { return filepath.Base(s.dir) }

// turns lists the numbers of the turns that are kept, or could not be recorded, in no
// order.
func (s *History) turns() ([]int, error) {
	entries, err := hostfile.ReadDir(s.dir, -1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && e.IsDir() && strconv.Itoa(n) == e.Name() {
			out = append(out, n)
		}
	}
	unrecorded, err := s.store.unrecorded(s.id())
	for n := range unrecorded {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out, err
}

// Begin starts a turn; title is the beginning of its message.
func (s *History) Begin(title string) {
	for _, c := range s.openCalls() {
		c.Settle()
	}
	s.mu.Lock()
	was := s.current
	s.current, s.running = newTurn(s, title), true
	s.mu.Unlock()
	was.close()
}

// End ends the turn. What running calls left so far is recorded.
func (s *History) End() {
	for _, c := range s.openCalls() {
		c.Settle()
	}
	s.mu.Lock()
	s.running = false
	t := s.current
	s.mu.Unlock()
	t.end()
}

// turn is the turn that receives changes: what a command in the background changes between
// two turns belongs to the first. Called with mu held.
func (s *History) turn() *turn {
	if s.current == nil {
		s.current = newTurn(s, "")
	}
	return s.current
}

func (s *History) openCalls() []*Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

// Close ends the work in the session; what is kept stays.
func (s *History) Close() error {
	s.mu.Lock()
	t, lock := s.current, s.lock
	s.current, s.lock = nil, nil
	s.mu.Unlock()
	t.close()
	if lock == nil {
		return nil
	}
	return lock.Close()
}

// Discard closes the session and removes what is kept of it.
func (s *History) Discard() error {
	return errors.Join(s.Close(), hostfile.RemoveAll(s.dir), s.store.forgetUnrecorded(s.id(), 0))
}
