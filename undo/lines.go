package undo

import (
	"bytes"
	"encoding/json"
	"strconv"

	"codeagent/internal/short"
)

// A command chooses how many paths it changes, how long they are and where its links
// lead. Their size in memory and in the log is bounded, in bytes:
//
//	a new path        up to bounds.entries paths, bounds.paths bytes of them in memory, bounds.log bytes of log
//	what was left of
//	a path in the log up to twice bounds.log
//	then              no path is written any more
//
// Reaching a bound sets turn.more, so that the record does not count as complete.

// batch is how many bytes of records are written at once.
const batch = 256 << 10

// lines are records that will be appended to a turn's log.
type lines struct {
	turn *turn
	text bytes.Buffer
}

// add adds records, and writes when there are enough.
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

// flush writes the records, and once why the turn is incomplete. The turn gets its folder with
// the first record. If the log cannot be written, recording stops, which is reported.
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
		return
	}
	t.recordMore()
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	t.history.sizes[t.number] = t.bytes + t.logged
}

// recordMore records why the turn is incomplete, and reports whether the log has that record
// if it needs one. mu is held.
func (t *turn) recordMore() bool {
	why := t.stopped()
	if why == "" || t.told {
		return true
	}
	t.told = appendRecords(t.log, record{Kind: kindMore, Why: why}) == nil
	return t.told
}

// write appends to the turn's log.
func (t *turn) write(records ...record) {
	l := lines{turn: t}
	l.add(records...)
	l.flush()
}

// stop ends all records about paths: if one in the middle were missing, such as a change by
// somebody else, a later record would be wrong.
func (t *turn) stop(why string) {
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	t.stopLocked(why)
}

func (t *turn) stopLocked(why string) {
	t.cut = true
	t.history.lossy.Store(true)
	if t.more == "" {
		t.more = why
	}
}

func (t *turn) stopped() string {
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	return t.more
}

// spendLog takes n bytes from the log's limit for a record about a known path. If it returns
// false, the record must not be written.
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

// hold makes an entry for a new path; nil if a bound is reached. The history's mu is held.
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

// longest is the maximum length of a log during its turn, without its first and last lines.
func (b bounds) longest() int64 { return 2 * b.log }

// readable is how much of a log is read: its maximum length. A restored path adds one record,
// which is shorter than its earlier records.
func (b bounds) readable() int64 { return 2*b.longest() + maxLine }
