package undo

import (
	"bytes"
	"encoding/json"
	"strconv"

	"codeagent/internal/short"
)

// A command chooses how many paths it changes, how long they are and where its links
// lead. What of that is held in memory and written to the log is bounded in bytes:
//
//	a new path        up to bounds.entries paths, bounds.paths bytes of them in memory, bounds.log bytes of log
//	what was left of
//	a path in the log up to twice bounds.log
//	then              no path is written any more
//
// Each sets turn.more, so that nobody takes what is kept for all.

// batch is how many bytes of lines are written at once.
const batch = 256 << 10

// lines are records on their way into a turn's log.
type lines struct {
	turn *turn
	text bytes.Buffer
}

// add takes records, and writes when there are enough.
func (l *lines) add(records ...record) {
	enc := json.NewEncoder(&l.text)
	for _, r := range records {
		before := l.text.Len()
		if err := enc.Encode(r); err != nil || !l.turn.spendLog(l.text.Len()-before) {
			l.text.Truncate(before)
		}
	}
	if l.text.Len() >= batch {
		l.flush()
	}
}

// flush writes what was added, and once why not all of the turn is kept. The turn
// gets its folder with the first record. A log that cannot be written stops the
// keeping, which is reported.
func (l *lines) flush() {
	t := l.turn
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.ready()
	if err == nil && l.text.Len() > 0 {
		err = appendLines(t.log, l.text.Bytes())
	}
	l.text.Reset()
	if err != nil {
		t.stop(reason(err))
		t.unrecorded()
		return
	}
	t.recordMore()
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	t.history.sizes[t.number] = t.bytes + t.logged
}

// recordMore records why not all of the turn is kept, and reports whether the log has it
// where it must. Called with mu held.
func (t *turn) recordMore() bool {
	why := t.stopped()
	if why == "" || t.told {
		return true
	}
	if t.told = appendRecords(t.log, record{Kind: kindMore, Why: why}) == nil; t.told {
		t.recorded()
	} else {
		t.unrecorded()
	}
	return t.told
}

// write appends to the turn's log.
func (t *turn) write(records ...record) {
	l := lines{turn: t}
	l.add(records...)
	l.flush()
}

// stop writes nothing more of any path: were a line missing in the middle, such as
// that somebody else changed a file, a later one would tell something wrong.
func (t *turn) stop(why string) {
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	t.stopLocked(why)
}

func (t *turn) stopLocked(why string) {
	t.cut = true
	if t.more == "" {
		t.more = why
	}
}

func (t *turn) stopped() string {
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	return t.more
}

// spendLog takes n bytes of the log for what is known of a path. False: it must not be
// written.
func (t *turn) spendLog(n int) bool {
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	if most := t.history.store.bounds.longest(); t.logged+int64(n) > most {
		t.stopLocked(longLog(most))
	}
	if t.cut {
		return false
	}
	t.logged += int64(n)
	return true
}

// hold makes an entry for a new path; nil without room.
// Called with the history's mu held.
func (t *turn) hold(p string) *entry {
	b := t.history.store.bounds
	switch n := int64(len(p)); {
	case t.more != "":
	case len(t.entries) >= b.entries:
		t.more = "the turn changed over " + strconv.Itoa(b.entries) + " files"
	case n > maxPath:
		t.more = "a path takes over " + short.Size(maxPath)
	case t.held+n > b.paths:
		t.more = "the paths that the turn changed take over " + short.Size(b.paths)
	case t.logged >= b.log:
		t.more = longLog(b.log)
	default:
		t.held += n
		e := &entry{turn: t, path: p}
		t.entries[p] = e
		return e
	}
	return nil
}

func longLog(most int64) string {
	return "the list of what the turn changed takes over " + short.Size(most)
}

// longest is how long a log gets in its turn, without its first and last lines.
func (b bounds) longest() int64 { return 2 * b.log }

// readable is how much of a log is read: all that is ever written. A restored path is
// recorded once, which takes less than its earlier records.
func (b bounds) readable() int64 { return 2*b.longest() + maxLine }
