package undo

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestTouchedIsNotChanged: a call that does not alter somebody else's change since the call
// before is not reported to have changed it, and earlier calls can be undone once the file is
// again as they left it.
func TestTouchedIsNotChanged(t *testing.T) {
	touch := func(b *bench) {
		b.tell("a")
		b.must(os.Chtimes(b.at("a"), time.Now(), time.Now()))
	}
	for name, row := range map[string]struct {
		user, then func(b *bench)
		changed    string // what the second call is reported to have changed
		undone     bool   // when the file is as the first call left it
	}{
		"edited, touched":  {user: func(b *bench) { b.user("a", "user's") }, then: touch, undone: true},
		"edited, written":  {user: func(b *bench) { b.user("a", "user's") }, then: func(b *bench) { b.write("a", "agent's again") }, changed: "a"},
		"removed, touched": {user: func(b *bench) { b.must(os.Remove(b.at("a"))) }, then: func(b *bench) { b.tell("a") }, undone: true},
		"edited twice, touched": {user: func(b *bench) { b.user("a", "user's") }, then: func(b *bench) {
			b.write("a", "agent's again")
			b.nextCall()
			b.user("a", "user's again")
			touch(b)
		}},
		"edited, touched twice": {user: func(b *bench) { b.user("a", "user's") }, then: func(b *bench) {
			touch(b)
			b.nextCall()
			touch(b)
		}, undone: true},
		"edited, touched, written": {user: func(b *bench) { b.user("a", "user's") }, then: func(b *bench) {
			touch(b)
			b.nextCall()
			b.write("a", "agent's again")
		}, changed: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old")
			b.turn(func() {
				b.write("a", "agent's")
				b.nextCall()
				row.user(b)
				row.then(b)
			})
			changed := b.call.Changed()
			if got := changed.Words(b.ws, 99); got != row.changed {
				t.Errorf("told as changed: %q, want %q", got, row.changed)
			}
			if p := b.plan(); len(p.Steps) > 0 || len(p.Conflicts) != 1 {
				t.Errorf("it would %+v", p.Steps)
			}
			b.user("a", "agent's")
			if p := b.undo(); row.undone == (len(p.Conflicts) > 0) {
				t.Errorf("left: %q", p.Conflicts)
			}
			if is := tree(t, b.ws)["a"]; row.undone != strings.HasSuffix(is, "old") {
				t.Errorf("it is %q", is)
			}
		})
	}
}
