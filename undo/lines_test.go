package undo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// again opens the session as another process does: everything must come from the disk.
func (b *bench) again() {
	b.t.Helper()
	b.must(b.ses.Close())
	b.open()
}

// steps are the names of what p would change.
func (b *bench) steps(p *Plan) (out []string) {
	for _, s := range p.Steps {
		out = append(out, strings.TrimPrefix(s.Path, b.ws+"/"))
	}
	return out
}

// long makes folders with names that are even longer in JSON, and links with long targets in
// them: only the first folder is reported.
func (b *bench) long(name string, links int) {
	b.mkdir(name)
	in := filepath.Join(b.at(name), strings.Repeat("\x01", 200), strings.Repeat("\x02", 200))
	b.must(os.MkdirAll(in, 0o700))
	for i := range links {
		b.must(os.Symlink(strings.Repeat("x", 1000), fmt.Sprintf("%s/%d", in, i)))
	}
}

// TestLogIsBounded: a command that makes entries that are expensive to list fills neither the
// log nor the memory. Its other changes can be undone, and the plan is marked as incomplete.
func TestLogIsBounded(t *testing.T) {
	b := newBench(t)
	b.store.bounds.log = 100_000
	b.user("a", "old")
	b.user("z", "old")
	b.turn(func() {
		b.write("a", "new")
		b.long("made", 500) // about 4 MB of log
		b.write("z", "new")
	})
	info, err := os.Stat(filepath.Join(b.ses.folder(1), logName))
	b.must(err)
	if size := info.Size(); size < 100_000 || size > 120_000 {
		t.Errorf("the log takes %d bytes", size)
	}
	if counted := b.ses.sizes[1]; counted < info.Size()-500 { // the first line and the last ones
		t.Errorf("%d bytes are counted, the log alone takes %d", counted, info.Size())
	}
	b.again()
	p := b.undo()
	if p.More != "the list of what the turn changed takes over 97.7 KiB" || p.Cut {
		t.Errorf("more %q, cut %v", p.More, p.Cut)
	}
	// The unknown links stay, and the folders that contain them.
	if is := tree(t, b.ws); is["a"] != "-rw-r--r-- old" || is["z"] != "-rw-r--r-- old" || is["made"] == "" || len(is) < 400 {
		t.Errorf("a %q, z %q, made %q, %d entries", is["a"], is["z"], is["made"], len(is))
	}
}

// TestLogTakesFromTheTurn: contents and log share the limit of a turn.
func TestLogTakesFromTheTurn(t *testing.T) {
	b := newBench(t)
	b.store.bounds.turn = 100_000
	b.user("a", "old")
	b.ses.Begin("")
	b.during(func() { b.long("made", 30) })
	b.during(func() { b.write("a", "new") })
	b.ses.End()
	if p := b.plan(); !slices.Contains(p.NotKept, Skip{b.at("a"), "the turn changed over 97.7 KiB"}) {
		t.Errorf("not kept: %v", p.NotKept)
	}
}

// TestPathsAreBounded: the memory for a turn is bounded in bytes.
func TestPathsAreBounded(t *testing.T) {
	t.Run("all", func(t *testing.T) {
		b := newBench(t)
		b.store.bounds.paths = 10_000
		b.user("a", "old")
		b.turn(func() {
			b.write("a", "new")
			b.long("made", 100)
		})
		held := int64(0)
		for p, e := range b.ses.current.entries {
			held += int64(len(p) + len(e.before.Target) + len(e.after.Target))
		}
		if held > 12_000 || b.ses.current.held > 10_000 {
			t.Errorf("%d bytes are held, %d counted", held, b.ses.current.held)
		}
		b.again()
		if p := b.undo(); p.More != "the paths that the turn changed take over 9.8 KiB" || tree(t, b.ws)["a"] != "-rw-r--r-- old" {
			t.Errorf("more %q, %v", p.More, p.Steps)
		}
	})
	t.Run("one", func(t *testing.T) {
		b := newBench(t)
		// Reported, not made: it is not examined.
		b.turn(func() { b.call.BeforeChange(-1, "x", "/"+strings.Repeat("x", maxPath)) })
		b.again()
		if p := b.plan(); p.More != "a path takes over 4 KiB" {
			t.Errorf("more %q", p.More)
		}
	})
}

// TestMoreIsWrittenAtOnce: a later process knows that the record is incomplete even if
// codeagent dies right after the report.
func TestMoreIsWrittenAtOnce(t *testing.T) {
	b := newBench(t)
	b.store.bounds.entries = 1
	b.ses.Begin("")
	b.during(func() { b.write("a", "new") })
	b.during(func() { b.write("b", "new") })
	b.again()
	if p := b.plan(); p.More != "the turn changed over 1 files" {
		t.Errorf("more %q", p.More)
	}
}

// TestFullLog: if the log has no room for the state that the agent left, or for somebody
// else's change, nothing is wrongly attributed to the agent.
func TestFullLog(t *testing.T) {
	b := newBench(t)
	for _, n := range []string{"between", "known", "later", "gone"} {
		b.user(n, "old")
	}
	room := b.store.bounds.log
	b.ses.Begin("")
	b.during(func() { b.write("between", "agent's"); b.write("known", "agent's") })
	b.user("between", "user's")
	b.call = b.ses.Call()
	b.write("later", "agent's")
	b.remove("gone")
	b.store.bounds.log = b.ses.current.logged / 2 // no line fits any more
	b.write("between", "agent's again")
	b.write("new", "agent's")
	b.store.bounds.log = room // nor is a hole in the log covered up
	b.call.Settle()
	b.during(func() { b.write("new too", "agent's") })
	b.ses.End()
	b.user("later", "user's")
	b.again()
	p := b.undo()
	if !strings.HasPrefix(p.More, "the list of what the turn changed takes over ") {
		t.Errorf("more %q", p.More)
	}
	if is := b.steps(p); !slices.Equal(is, []string{"gone", "known"}) {
		t.Errorf("put back: %q", is)
	}
	want := []Skip{{b.at("between"), changedSince}, {b.at("later"), notNoted}}
	if !slices.Equal(p.Conflicts, want) {
		t.Errorf("conflicts %v, want %v", p.Conflicts, want)
	}
	for name, want := range map[string]string{"between": "agent's again", "known": "old", "later": "user's", "gone": "old", "new": "agent's", "new too": "agent's"} {
		if is := tree(t, b.ws)[name]; is != "-rw-r--r-- "+want {
			t.Errorf("%s is %q, want %q", name, is, want)
		}
	}
}

// TestLongLog: the part read of a log that exceeds the limit does not count as the whole.
func TestLongLog(t *testing.T) {
	text := `{"kind":"turn","version":1,"at":"2026-01-02T03:04:05Z","title":"t"}` + "\n" +
		`{"kind":"before","path":"/a","state":{"k":"absent"}}` + "\n" + `{"kind":"end"}` + "\n"
	for _, row := range []struct {
		text string
		most int
		more bool
	}{
		{text, len(text) + 1, false},
		{text, len(text), false},
		{text, len(text) - 1, true},
		{text + text, len(text), true},
		{text + strings.Repeat("x", maxLine+1) + "\n", 1 << 20, true},
	} {
		k, err := readLog(bytes.NewReader([]byte(row.text)), int64(row.most))
		if err != nil || k.paths["/a"] == nil || (k.more != "") != row.more {
			t.Errorf("%d of %d bytes are read: more %q, want %v; %v", row.most, len(row.text), k.more, row.more, err)
		}
	}
}

// TestLongestLine: a record with the longest path and link can be read.
func TestLongestLine(t *testing.T) {
	p := "/" + strings.Repeat("\x01", maxPath-1)
	s := state{
		Kind: link, Mode: 0o777, Dev: 1 << 63, Ino: 1 << 63, Ctime: 1 << 62, Size: 1 << 62, Mtime: 1 << 62, Links: 1 << 63,
		Sum: bytes.Repeat([]byte{255}, 32), Target: bytes.Repeat([]byte{1}, 4097), Kept: &place{Turn: 1 << 40, At: 1 << 62},
	}
	r := about(kindBefore, p, &s)
	r.Why, r.At = strings.Repeat("\x01", maxPath), time.Now()
	var l lines
	l.turn = newBench(t).ses.turn()
	l.add(r)
	if n := l.text.Len(); n == 0 || n > maxLine {
		t.Errorf("it takes %d bytes", n)
	}
}
