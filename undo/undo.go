// Package undo records the state of files from before a turn changed them, and plans
// how to restore it. It writes only to its own store, outside all write roots; files
// of the user are changed by Files, the worker inside the sandbox. Start reading at
// Call.BeforeChange (call.go), then judge.go, which decides about each path.
//
//	a change is about to happen  -> Call.BeforeChange   before: the old state, its content stored
//	the call is over             -> Call.Settle         after: what the agent left
//	/undo                        -> History.Plan        now, compared with both
//	     now == before   nothing to do
//	     now == after    the agent's work: restore
//	     else            somebody else's work: a conflict, shown and left alone
//	                 -> History.Apply              through the file worker, under the policy
//
// Threat: a command may change any entry while undo reads it. Therefore entries are opened
// relative to an open folder, no link is followed, and only regular files and folders are
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
	"sync/atomic"
	"syscall"
	"time"

	"codeagent/hostfile"
)

// Bounds of what is recorded.
const (
	// maxFile is the size of the largest file that is stored, in bytes.
	maxFile = 64 << 20
	// maxTurn bounds one turn, in bytes.
	maxTurn = 1 << 30
	// maxEntries bounds the paths of one turn: their list is in memory while the turn runs, with
	// about 400 bytes plus the path for each.
	maxEntries = 100_000
	// maxPaths bounds the size of their names, in bytes.
	maxPaths = 64 << 20
	// maxLog is the length of a turn's log at which new paths are no longer recorded: 100,000
	// paths of 200 bytes, changed once each, need less.
	maxLog = 128 << 20
)

// Store is the folder of all sessions' turns.
type Store struct {
	dir    string
	bounds bounds
	now    func() time.Time
}

// bounds holds these limits, and those of sweep.go.
type bounds struct {
	file, turn, session, store, paths, log int64
	entries                                int
}

// New returns the store in dir, a folder that only the user can access.
func New(dir string) *Store {
	return &Store{dir: dir, bounds: bounds{file: maxFile, turn: maxTurn, session: maxSession, store: maxStore, paths: maxPaths, log: maxLog, entries: maxEntries}, now: time.Now}
}

var (
	// ErrInUse: another process uses the session.
	ErrInUse = errors.New("the session is in use by another process")
	// ErrBusy: a turn is running.
	ErrBusy = errors.New("a turn is running: stop it first")
	// ErrNothing: no turn is left that changed anything.
	ErrNothing = errors.New("nothing to undo")
)

// ids matches session IDs: no other text becomes a folder's name.
var ids = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{16}$`) })

// History is the record of one conversation. It is safe for concurrent use.
type History struct {
	store *Store
	dir   string

	// settling is held while a call is settled. It is taken before mu.
	settling sync.Mutex

	mu sync.Mutex
	// ready wakes goroutines that wait for an entry which another one is recording.
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
	// watched holds the contents that Watch has stored.
	watched contents
	// made are files that the session's calls made, each with a time by which it existed. There are at
	// most bounds.entries.
	made map[inode]time.Time
	// lossy: the current turn did not save everything that was reported.
	lossy atomic.Bool
	// Careless: Unsaved reports nothing. It is set before the first turn.
	Careless bool
	// sizes is the size of each turn in bytes; nil: not known yet.
	sizes map[int]int64
}

// Open continues the history of the session id, or begins it. It fails with ErrInUse if
// another process has it open. It writes nothing before there is something to record.
func (s *Store) Open(id string) (*History, error) {
	if !ids().MatchString(id) {
		return nil, fmt.Errorf("undo: no session is called %.64q", id)
	}
	ses := &History{store: s, dir: filepath.Join(s.dir, id), open: map[*Call]bool{}}
	ses.ready = sync.NewCond(&ses.mu)
	turns, err := ses.turns()
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	if len(turns) > 0 {
		ses.last = slices.Max(turns)
		_, err := hostfile.Lstat(ses.dir) // it does not exist if no turn could be recorded
		if err == nil {
			err = ses.claim()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("undo: %w", err)
		}
	}
	return ses, nil
}

// Has reports whether there is a history of the session id.
func (s *Store) Has(id string) bool {
	if !ids().MatchString(id) {
		return false
	}
	turns, err := (&History{store: s, dir: filepath.Join(s.dir, id)}).turns()
	return err == nil && len(turns) > 0
}

// claim makes the session's folder and locks it. mu is held, or the caller is Open.
func (s *History) claim() error {
	if s.lock != nil {
		return nil
	}
	err := fs.ErrNotExist
	// A sweep can remove the folder before it is locked.
	for tries := 0; tries < 3 && errors.Is(err, fs.ErrNotExist); tries++ {
		if err := hostfile.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		s.lock, err = lockFile(filepath.Join(s.dir, lockName))
	}
	return err
}

const lockName = "lock"

// lockFile opens and locks the file that marks a session as used.
func lockFile(name string) (*os.File, error) {
	f, err := hostfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrInUse
	default: // some network file systems have no locks
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

// turns returns the numbers of the turns that are recorded, in no order.
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
	return out, nil
}

// Begin starts a turn; title is the beginning of its message.
func (s *History) Begin(title string) {
	for _, c := range s.openCalls() {
		c.Settle()
	}
	s.mu.Lock()
	was := s.current
	t := newTurn(s, title)
	s.current, s.running = t, true
	s.lossy.Store(false)
	last := s.last
	s.mu.Unlock()
	was.close()
	if s.isUndo(last) { // which stays, also if this turn changes nothing
		t.write(record{Kind: kindBegun})
	}
}

// End ends the turn. It records what running calls have left so far.
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

// Recorded returns the number of the current turn; 0 as long as nothing is recorded in it.
func (s *History) Recorded() int {
	s.mu.Lock()
	t := s.current
	s.mu.Unlock()
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.number
}

// turn returns the turn that receives changes: what a background command changes between
// two turns belongs to the first. mu is held.
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

// Close closes the session's history; the records stay.
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

// Discard closes the session's history and removes it.
func (s *History) Discard() error {
	return errors.Join(s.Close(), hostfile.RemoveAll(s.dir))
}
