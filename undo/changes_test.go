package undo

import (
	"os"
	"testing"
)

// TestChanged: when a call is over, exactly its changes are known.
func TestChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(b *bench)
		want string
	}{
		"nothing":               {func(*bench) {}, ""},
		"change":                {func(b *bench) { b.write("a", "new") }, "a"},
		"the same once more":    {func(b *bench) { b.write("a", "old") }, ""},
		"replaced by the same":  {func(b *bench) { b.remove("a"); b.write("a", "old") }, ""},
		"make, change, remove":  {func(b *bench) { b.write("x", "new"); b.remove("a"); b.write("d/b", "new") }, "a (deleted), d/b, x (new)"},
		"make and remove again": {func(b *bench) { b.write("x", "new"); b.remove("x") }, ""},
		"mode":                  {func(b *bench) { b.chmod("a", 0o755) }, "a"},
		"mode of a folder":      {func(b *bench) { b.chmod("d", 0o700) }, "d/"},
		"move":                  {func(b *bench) { b.rename("a", "z") }, "a (deleted), z (new)"},
		"move a folder":         {func(b *bench) { b.rename("d", "e") }, "d/ (deleted), e/ (new)"},
		"a tree": {func(b *bench) {
			b.mkdir("t")
			b.must(os.MkdirAll(b.at("t/u/v"), 0o755))
			b.must(os.WriteFile(b.at("t/u/v/x"), nil, 0o644))
			b.write("t-", "between t and what is in it")
		}, "t- (new), t/ (new)"},
		"a tree taken away": {func(b *bench) {
			b.remove("d/b")
			b.remove("d/sub/c")
			b.remove("d/sub")
			b.remove("d")
		}, "d/ (deleted)"},
		"a folder made anew": {func(b *bench) {
			b.remove("d/sub/c")
			b.remove("d/sub")
			b.mkdir("d/sub")
			b.must(os.WriteFile(b.at("d/sub/z"), nil, 0o644))
		}, "d/sub/c (deleted), d/sub/z (new)"},
		"a file for a folder": {func(b *bench) {
			b.remove("d/sub/c")
			b.remove("d/sub")
			b.write("d/sub", "new")
		}, "d/sub"},
		"a link":       {func(b *bench) { b.link("a", "l") }, "l (new)"},
		"what git has": {func(b *bench) { b.write(".git/index", "new"); b.write(".git/HEAD", "new"); b.write(".gitignore", "x") }, ".git/, .gitignore (new)"},
		"hostile":      {func(b *bench) { b.write("\xff\x1b[31m\n", "") }, "\xff\x1b[31m\n (new)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old")
			b.user("d/b", "old")
			b.user("d/sub/c", "old")
			b.user(".git/index", "old")
			b.user(".git/HEAD", "old")
			b.turn(func() { tt.do(b) })
			changed := b.call.Changed()
			if got := changed.Words(b.ws, 99); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if again := b.call.Changed(); !again.None() {
				t.Errorf("told twice: %+v", again)
			}
		})
	}
}

// TestChangedByEachCall: each of two calls of a turn reports its own changes, and one that
// continues in the background those since the last report.
func TestChangedByEachCall(t *testing.T) {
	b := newBench(t)
	is := func(want string) {
		t.Helper()
		changed := b.call.Changed()
		if got := changed.Words(b.ws, 99); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	b.user("a", "old")
	b.ses.Begin("")
	b.during(func() { b.write("a", "new"); b.write("b", "new"); b.mkdir("d") })
	is("a, b (new), d/ (new)")
	b.during(func() { b.write("a", "new"); b.write("b", "newer"); b.write("d/x", "new") })
	is("b, d/x (new)")
	b.during(func() { b.write("a", "old") })
	is("a")
	beside := b.ses.Call()
	b.call = beside
	b.write("s", "1")
	b.ses.End()
	is("s (new)")
	b.ses.Begin("")
	b.write("s", "2")
	b.during(func() { b.write("a", "other") })
	is("a")
	beside.Settle()
	b.call = beside
	is("s")
}

// TestChangedIsNotClaimed: if changes are not reported, none is listed. If the list is full,
// that is reported.
func TestChangedIsNotClaimed(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.ses.Begin("")
	call := b.ses.Call()
	call.Watch(b.files())
	b.user("a", "new")
	call.Settle()
	if changed := call.Changed(); !changed.None() {
		t.Errorf("it may be somebody else's: %+v", changed)
	}
	b.store.bounds.entries = 1
	b.turn(func() { b.write("b", ""); b.write("c", "") })
	changed := b.call.Changed()
	if got, want := changed.Words(b.ws, 99), "b (new) and what could not be noted"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
