package undo

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// hardLink gives a file another name; the broker tells of both.
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

// one reports of names whether they are of one file.
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

// TestNamesOfOneFile: a file that is changed under several names, in any order, is put
// back under all of them, and stays one file.
func TestNamesOfOneFile(t *testing.T) {
	for name, do := range map[string]func(b *bench){
		"one of them": func(b *bench) { b.into("a", "1") },
		"both, in one call": func(b *bench) {
			b.into("a", "1")
			b.into("b", "2")
		},
		"both, in two calls": func(b *bench) {
			b.into("a", "1")
			b.nextCall()
			b.into("b", "2")
		},
		"to and fro": func(b *bench) {
			for i, n := range []string{"b", "a", "c", "b", "a"} {
				b.into(n, strings.Repeat("x", i+1))
				b.nextCall()
			}
		},
		"with a new name": func(b *bench) {
			b.hardLink("a", "new")
			b.nextCall()
			b.into("new", "1")
			b.nextCall()
			b.into("b", "2")
		},
		"moved between": func(b *bench) {
			b.into("a", "1")
			b.rename("a", "moved")
			b.nextCall()
			b.into("b", "2")
			b.rename("moved", "a")
		},
		"another name's mode": func(b *bench) {
			b.into("a", "1")
			b.nextCall()
			b.chmod("b", 0o600)
		},
		"nothing in the end": func(b *bench) {
			b.into("a", "1")
			b.nextCall()
			b.into("b", "old")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old")
			b.must(os.Link(b.at("a"), b.at("b")))
			b.must(os.Link(b.at("a"), b.at("c")))
			was := tree(t, b.ws)
			b.turn(func() { do(b) })
			if _, err := b.ses.Plan(all); !errors.Is(err, ErrNothing) {
				if p := b.undo(); len(p.Conflicts)+len(p.NotKept) > 0 {
					t.Errorf("left: %q, %q", p.Conflicts, p.NotKept)
				}
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

// TestNewNameOfAFile: a file to which the agent gave a name, and wrote by that one, is
// what it was, also if it had one name only.
func TestNewNameOfAFile(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	was := tree(t, b.ws)
	b.turn(func() {
		b.hardLink("a", "b")
		b.nextCall()
		b.into("b", "new")
		b.nextCall()
		b.into("a", "newer")
	})
	if p := b.undo(); len(p.Conflicts) > 0 {
		t.Errorf("left: %q", p.Conflicts)
	}
	same(t, was, b.ws)
}

// TestUsersEditsOfOtherNames: what somebody else wrote under one name of a file stays
// under all.
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

// TestManyNames: of a file with more names than are looked at together nothing is
// lost.
func TestManyNames(t *testing.T) {
	b := newBench(t)
	b.user("f00", "old")
	var names []string
	for i := range 3 * maxNames {
		names = append(names, "f"+string(rune('0'+i/10))+string(rune('0'+i%10)))
		if i > 0 {
			b.must(os.Link(b.at("f00"), b.at(names[i])))
		}
	}
	was := tree(t, b.ws)
	b.turn(func() {
		for _, n := range names {
			b.into(n, "now "+n)
		}
		b.nextCall()
		b.into("f95", "last")
	})
	b.undo()
	same(t, was, b.ws)
	b.turn(func() {
		for _, n := range names {
			b.remove(n)
		}
	})
	b.undo()
	same(t, was, b.ws)
}
