package undo

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// hardLink gives a file another name; the broker reports both.
func (b *bench) hardLink(from, to string) {
	b.t.Helper()
	b.tell(from)
	b.tell(to)
	b.must(os.Link(b.at(from), b.at(to)))
}

// into writes into the file that is there.
func (b *bench) into(name, content string) {
	b.t.Helper()
	b.tell(name)
	f, err := os.OpenFile(b.at(name), os.O_WRONLY|os.O_TRUNC, 0)
	b.must(err)
	_, err = f.WriteString(content)
	b.must(err)
	b.must(f.Close())
}

// one reports whether names are names of one file.
func (b *bench) one(names ...string) bool {
	b.t.Helper()
	first, err := os.Lstat(b.at(names[0]))
	b.must(err)
	return !slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Lstat(b.at(name))
		b.must(err)
		return !os.SameFile(first, info)
	})
}

// TestNamesOfOneFile: a file with several names that is changed under some of them, in
// any order, is a conflict that is reported; undo leaves it unchanged, still one file.
func TestNamesOfOneFile(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b *bench)
		left []string
	}{
		"one of them": {func(b *bench) { b.into("a", "1") }, []string{"a"}},
		"both, in one call": {func(b *bench) {
			b.into("a", "1")
			b.into("b", "2")
		}, []string{"a", "b"}},
		"both, in two calls": {func(b *bench) {
			b.into("a", "1")
			b.nextCall()
			b.into("b", "2")
		}, []string{"a", "b"}},
		"to and fro": {func(b *bench) {
			for i, n := range []string{"b", "a", "c", "b", "a"} {
				b.into(n, strings.Repeat("x", i+1))
				b.nextCall()
			}
		}, []string{"a", "b", "c"}},
		"with a new name": {func(b *bench) {
			b.hardLink("a", "new")
			b.nextCall()
			b.into("new", "1")
			b.nextCall()
			b.into("b", "2")
		}, []string{"b", "new"}},
		"moved between": {func(b *bench) {
			b.into("a", "1")
			b.rename("a", "moved")
			b.nextCall()
			b.into("b", "2")
			b.rename("moved", "a")
		}, []string{"a", "b"}},
		"another name's mode": {func(b *bench) {
			b.into("a", "1")
			b.nextCall()
			b.chmod("b", 0o600)
		}, []string{"a", "b"}},
		"nothing in the end": {func(b *bench) {
			b.into("a", "1")
			b.into("a", "old")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old")
			b.must(os.Link(b.at("a"), b.at("b")))
			b.must(os.Link(b.at("a"), b.at("c")))
			b.turn(func() { c.do(b) })
			was := tree(t, b.ws)
			var left []string
			if _, err := b.ses.Plan(all); !errors.Is(err, ErrNothing) {
				p := b.undo()
				for _, l := range p.Conflicts {
					left = append(left, strings.TrimPrefix(l.Path, b.ws+"/"))
					if l.Why != manyNames {
						t.Errorf("%s: %q", l.Path, l.Why)
					}
				}
				if len(p.Steps)+len(p.NotKept) > 0 {
					t.Errorf("it would %+v, not kept %q", p.Steps, p.NotKept)
				}
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("left: %q, want %q", left, c.left)
			}
			same(t, was, b.ws)
			if !b.one("a", "b", "c") {
				t.Error("they are one file no more")
			}
		})
	}
}

// nextCall ends the call of the turn and begins another.
func (b *bench) nextCall() {
	b.call.Settle()
	b.call = b.ses.Call()
}

// TestNewNameOfAFile: a file that the agent gave a second name and wrote under both is a
// conflict: none of it is lost.
func TestNewNameOfAFile(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.turn(func() {
		b.hardLink("a", "b")
		b.nextCall()
		b.into("b", "new")
		b.nextCall()
		b.into("a", "newer")
	})
	was := tree(t, b.ws)
	if p := b.undo(); len(p.Conflicts) != 2 || len(p.Steps) != 0 {
		t.Errorf("left: %q, it would %+v", p.Conflicts, p.Steps)
	}
	same(t, was, b.ws)
}

// TestReplacedNames: a name that the agent gave to another file, or removed, gets its content
// from before the turn, unless the turn had changed it under another name.
func TestReplacedNames(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	for _, name := range []string{"b", "c", "d"} {
		b.must(os.Link(b.at("a"), b.at(name)))
	}
	b.turn(func() {
		b.remove("b")
		b.tell("c")
		b.remove("c")
		b.must(os.WriteFile(b.at("c"), []byte("another"), 0o644))
		b.nextCall()
		b.into("a", "changed")
		b.nextCall()
		b.remove("d")
	})
	p := b.undo()
	var left []string
	for _, l := range p.Conflicts {
		left = append(left, strings.TrimPrefix(l.Path, b.ws+"/"))
	}
	if want := []string{"a", "d"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
	b.has("a", "changed")
	b.has("b", "old")
	b.has("c", "old")
}

// TestUsersEditsOfOtherNames: what somebody else wrote under one name of a file is kept under
// all names.
func TestUsersEditsOfOtherNames(t *testing.T) {
	for _, order := range [][2]string{{"a", "b"}, {"b", "a"}, {"a", "a"}} {
		b := newBench(t)
		b.user("a", "old")
		b.must(os.Link(b.at("a"), b.at("b")))
		b.turn(func() {
			b.into(order[0], "agent's")
			b.nextCall()
			b.user("b", "the user's own")
			b.into(order[1], "the agent's again")
		})
		p := b.plan()
		if len(p.Steps) > 0 {
			t.Errorf("%q: it would %s %s", order, p.Steps[0].Do, p.Steps[0].Path)
		}
		b.user("a", "and after the turn")
		_, err := b.ses.Apply(context.Background(), b.plan(), hands{})
		b.must(err)
		b.has("b", "and after the turn")
	}
}

// TestManyNames: nothing of a file with many names is lost.
func TestManyNames(t *testing.T) {
	b := newBench(t)
	b.user("f00", "old")
	var names []string
	for i := range 96 {
		names = append(names, "f"+string(rune('0'+i/10))+string(rune('0'+i%10)))
		if i > 0 {
			b.must(os.Link(b.at("f00"), b.at(names[i])))
		}
	}
	b.turn(func() {
		for _, n := range names {
			b.into(n, "now "+n)
		}
		b.nextCall()
		b.into("f95", "last")
	})
	was := tree(t, b.ws)
	if p := b.undo(); len(p.Conflicts) != len(names) {
		t.Errorf("%d of %d names are conflicts", len(p.Conflicts), len(names))
	}
	same(t, was, b.ws)
	b.turn(func() {
		for _, n := range names {
			b.remove(n)
		}
	})
	b.undo()
	same(t, was, b.ws)
}
