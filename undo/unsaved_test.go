package undo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/machine"
)

// unsaved asks about a file that is about to be lost, after reporting the change.
func (b *bench) unsaved(name string) string {
	b.t.Helper()
	b.tell(name)
	dir, err := os.Open(filepath.Dir(b.at(name)))
	b.must(err)
	defer dir.Close()
	return b.call.Unsaved(int(dir.Fd()), filepath.Base(name), b.at(name))
}

// TestUnsaved: a file that could not be restored is named before it is lost, under every name of
// the file. No other file is named.
func TestUnsaved(t *testing.T) {
	const large, many, size = "over 1000 bytes", "the turn changed over 6 files", "the turn changed over 4.9 KiB"
	for name, tt := range map[string]struct {
		earlier, do func(b *bench)
		file, want  string
	}{
		"kept":                          {nil, func(*bench) {}, "a", ""},
		"kept, among others":            {nil, func(b *bench) { b.tell("large") }, "a", ""},
		"too large":                     {nil, func(*bench) {}, "large", large},
		"too large, moved":              {nil, func(b *bench) { b.rename("large", "other") }, "other", large},
		"too large, in a moved folder":  {nil, func(b *bench) { b.rename("d", "e") }, "e/large", large},
		"kept, in a moved folder":       {nil, func(b *bench) { b.rename("d", "e") }, "e/small", ""},
		"too large, under another name": {nil, func(b *bench) { b.hardLink("large", "second") }, "second", large},
		"written into":                  {func(b *bench) { b.into("large", strings.Repeat("y", 1001)) }, func(*bench) {}, "large", large},
		"a link to it":                  {nil, func(b *bench) { b.tell("large"); b.link("large", "l") }, "l", ""},
		"the turn's own":                {nil, func(b *bench) { b.write("new", strings.Repeat("y", 1001)) }, "new", ""},
		"an earlier turn's":             {func(b *bench) { b.write("new", strings.Repeat("y", 1001)) }, func(*bench) {}, "new", ""},
		"an earlier turn's, moved": {func(b *bench) { b.write("new", strings.Repeat("y", 1001)); b.rename("new", "newer") }, func(b *bench) {
			b.rename("newer", "newest")
		}, "newest", ""},
		"moved in an earlier turn":                           {func(b *bench) { b.rename("large", "other") }, func(*bench) {}, "other", large},
		"moved in an earlier turn, and another in its place": {func(b *bench) { b.rename("large", "other"); b.write("large", "new") }, func(*bench) {}, "other", large},
		"displaced in an earlier turn": {func(b *bench) {
			b.write("new", "new")
			b.hardLink("large", "other")
			b.rename("new", "large")
		}, func(*bench) {}, "other", large},
		"exchanged in an earlier turn": {func(b *bench) { b.rename("large", "t"); b.rename("a", "large"); b.rename("t", "a") }, func(*bench) {}, "a", large},
		"moved and touched in an earlier turn": {func(b *bench) {
			b.rename("large", "other")
			b.must(os.Chtimes(b.at("other"), time.Now(), time.Now()))
			b.write("large", "new")
		}, func(*bench) {}, "other", large},
		"replaced by a user's": {func(b *bench) { b.write("new", strings.Repeat("y", 1001)) }, func(b *bench) {
			b.must(os.Remove(b.at("new")))
			b.must(os.Rename(b.at("large"), b.at("new")))
		}, "new", large},
		"too many":        {nil, func(b *bench) { b.tells("1", "2", "3", "4", "5", "6") }, "a", many},
		"before too many": {nil, func(b *bench) { b.tells("1", "2", "3", "4", "5", "6", "7") }, "1", ""},
		"after too many, its own": {nil, func(b *bench) {
			b.tells("1", "2", "3", "4", "5", "6", "7")
			b.write("new", "x")
		}, "new", ""},
		"all too large together": {nil, func(b *bench) {
			for _, n := range []string{"x", "y", "z", "v"} {
				b.write(n, "new")
			}
		}, "w", size},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.store.bounds.file, b.store.bounds.entries, b.store.bounds.turn = 1000, 6, 5000
			b.user("a", "old")
			b.user("large", strings.Repeat("x", 1001))
			b.user("d/large", strings.Repeat("x", 1001))
			b.user("d/small", "x")
			for _, n := range []string{"v", "w", "x", "y", "z"} {
				b.user(n, strings.Repeat("x", 1000))
			}
			for _, n := range []string{"1", "2", "3", "4", "5", "6", "7"} {
				b.user(n, "old")
			}
			machine.Program("the time at which a file was made", "sh", "-c", `test "$(stat -c %W "$0")" -gt 0`, filepath.Join(b.ws, "a")).Require(t)
			step() // so that by its time no file was made in the turn
			if tt.earlier != nil {
				b.turn(func() { tt.earlier(b) })
				step()
			}
			got := ""
			b.turn(func() { tt.do(b); got = b.unsaved(tt.file) })
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// step waits until the coarse clock has passed the present time.
func step() {
	for now := time.Now().UnixNano(); fileClock() <= now; {
		time.Sleep(time.Millisecond)
	}
}

func (b *bench) tells(names ...string) {
	for _, n := range names {
		b.tell(n)
	}
}
