package undo

import (
	"errors"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Call records what one call of a tool, or one command, changes.
type Call struct {
	history *History
	// touched are the entries that were reported and are not settled. The value is true for an
	// entry reported by its own name, below which changes are not reported. Guarded by the history's mu.
	touched map[*entry]bool
	// found is what has changed; see Changed.
	found found
	// mine are the entries that no call of the turn had touched before, shared: it touched others too. Guarded by
	// the history's mu.
	mine   map[string]bool
	shared bool
}

var _ sandbox.ChangeObserver = (*Call)(nil)

// entry is one path of a turn. It is guarded by the history's mu.
type entry struct {
	turn *turn
	path string
	// busy: another goroutine is recording its state.
	busy bool
	// before and after are in brief form.
	before state
	// after is what the agent left at the end of the last call; nil: no call has ended.
	after *state
	// open: another call works on it, so the log no longer says what was left.
	open bool
	// mixed: somebody else changed it between two calls.
	mixed bool
	// theirs is a change by somebody else since the last call, found when the present call
	// began; nil if there was no change. news: that change has set mixed.
	theirs *state
	news   bool
	// calls counts the unsettled calls that touched it; named counts those that reported it by
	// its own name.
	calls, named int
}

// Call begins a call. The caller must call Settle when the call is over.
func (s *History) Call() *Call {
	return &Call{history: s, touched: map[*entry]bool{}, mine: map[string]bool{}}
}

// BeforeChange records the present state: see sandbox.ChangeObserver.
func (c *Call) BeforeChange(dir int, name, path string) {
	c.keep(dir, name, path, 0)
}

// keep records the entry name in dir, and everything below it.
func (c *Call) keep(dir int, name, p string, depth int) {
	if e := c.note(dir, name, p, nil); e != nil && name != "." {
		c.keepBelow(e, dir, name, depth)
		c.isNamed(e)
	}
}

// note records the entry name in dir and returns it; nil if there is nothing to record.
// had holds contents that are stored already.
func (c *Call) note(dir int, name, p string, had *contents) *entry {
	e, mine, fresh := c.touch(p)
	switch {
	case e == nil:
		c.history.recordMore()
	case mine:
		c.first(e, dir, name, had)
	case fresh:
		e.again(look(dir, name))
	}
	return e
}

// touch finds the entry for a path; nil if there is nothing to record. mine: it is new, and
// the caller fills it. fresh: this call had not touched it before.
func (c *Call) touch(p string) (e *entry, mine, fresh bool) {
	s := c.history
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn()
	e = t.entries[p]
	switch {
	case e != nil:
		for e.busy {
			s.ready.Wait()
		}
	case t.making(p):
		return nil, false, false
	default:
		if e = t.hold(p); e == nil {
			c.found.Partial = true
			s.lossy.Store(true)
			return nil, false, false
		}
		e.busy, mine = true, true
		c.mine[p] = true
	}
	fresh = c.join(e)
	c.shared = c.shared || fresh && !mine
	return e, mine, fresh
}

// join adds e to the entries of the call, and reports whether it is new there. The history's
// mu is held.
func (c *Call) join(e *entry) bool {
	if _, touched := c.touched[e]; touched {
		return false
	}
	c.touched[e], c.history.open[c] = false, true
	e.calls++
	return true
}

// isNamed records that e was reported by its own name, and that everything below it is known.
func (c *Call) isNamed(e *entry) {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	if named, touched := c.touched[e]; touched && !named {
		c.touched[e] = true
		e.named++
	}
}

// recordMore records that the turn is incomplete, if that is new: the call may end before
// anything else is written.
func (s *History) recordMore() {
	s.mu.Lock()
	t := s.turn()
	more := t.more != ""
	s.mu.Unlock()
	if more {
		t.write()
	}
}

// making reports whether p is in a folder that a running call has made, moved or replaced:
// its new content is found when that call is over. The history's mu is held.
func (t *turn) making(p string) bool {
	for p != "/" {
		p = path.Dir(p)
		if e := t.entries[p]; e != nil && !e.busy && (e.named > 0 || e.before.Kind == absent && e.after == nil) {
			return true
		}
	}
	return false
}

// first records an entry before its first change in the turn.
func (c *Call) first(e *entry, dir int, name string, had *contents) {
	s, err := look(dir, name)
	was, known := e.turn.otherName(s)
	changed := known && (was.Size != s.Size || was.Mtime != s.Mtime || was.Mode != s.Mode)
	why := ""
	switch {
	case err != nil:
		s, why = state{Kind: special}, reason(err)
	case s.Kind == file && had.holds(e, &s):
	case known && was.Kept != nil && !changed:
		s.Sum, s.Kept = was.Sum, was.Kept
	case s.Kind == file && had != nil && s.Size > watchedFile:
		why = "over " + short.Size(watchedFile) + ", and the change was not reported beforehand"
	case s.Kind == file:
		why = e.turn.keepFile(dir, name, &s)
	case s.Kind == special:
		why = "it is neither a file nor a link nor a folder"
	}
	r := about(kindBefore, e.path, &s)
	r.Why = why
	had.add(e, s)
	e.turn.write(r)
	if changed {
		e.turn.write(about(kindMixed, e.path, nil))
	}
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	e.before, e.busy, e.mixed = s.brief(), false, changed
	if e.turn.cut {
		why = e.turn.more // its record may be missing
	}
	e.turn.unsaved(s, why)
	if !known && s.Links > 1 {
		e.turn.linked[s.inode()] = e.before
	}
	c.history.ready.Broadcast()
}

// otherName returns what the file s was when the turn first changed it under another name (a
// hard link), if it did. If the file was changed since, its present content is not the
// user's.
func (t *turn) otherName(s state) (was state, known bool) {
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	was, known = t.linked[s.inode()]
	return was, known && s.Links > 1
}

// again takes the present state before another call changes the entry. From now on the
// earlier result does not count, since codeagent may end before this call is over.
func (e *entry) again(now state, err error) {
	mu := &e.turn.history.mu
	mu.Lock()
	opens := e.after != nil && !e.open
	e.open = e.open || opens
	mu.Unlock()
	if opens {
		e.turn.write(about(kindAgain, e.path, nil))
	}
	if err != nil {
		return
	}
	mu.Lock()
	// While another call works on it, either may have made a change.
	theirs := e.calls == 1 && e.after != nil && !e.after.untouched(now.brief())
	mixed := theirs && !e.mixed
	e.mixed = e.mixed || mixed
	e.news = mixed
	mu.Unlock()
	if mixed {
		e.turn.write(about(kindMixed, e.path, nil))
	}
	if theirs {
		e.isTheirs()
	}
}

// isTheirs records a change by somebody else, which the call may leave as it is.
func (e *entry) isTheirs() {
	var w walker
	defer w.close()
	now, err := w.lookInto(e.path, e.turn.history.store.bounds.file)
	if err != nil {
		return
	}
	now = now.brief()
	e.turn.history.mu.Lock()
	defer e.turn.history.mu.Unlock()
	e.theirs = &now
}

// maxDepth is how many levels of a tree are recorded: each folder on the way stays open.
const maxDepth = 128

// keepBelow records the content of the folder of e, which is about to be moved.
func (c *Call) keepBelow(e *entry, dir int, name string, depth int) {
	f, err := openFolder(dir, name)
	switch {
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP):
		return // not a folder
	case err == nil && depth == maxDepth:
		f.Close()
		err = errors.New("folders lie over " + strconv.Itoa(maxDepth) + " deep")
	}
	if err != nil {
		lost := about(kindLost, e.path, nil)
		lost.Why = reason(err)
		e.turn.write(lost)
		return
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1000)
		for _, n := range names {
			c.keep(int(f.Fd()), n, path.Join(e.path, n), depth+1)
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}
