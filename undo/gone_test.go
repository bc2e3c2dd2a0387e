package undo

import (
	"os"
	"strings"
	"testing"
)

// TestGone: files that the session had not made are counted when a call deletes or overwrites them.
// So is the part that undo can restore.
func TestGone(t *testing.T) {
	many := func(b *bench, do func(name string)) {
		for _, n := range []string{"a", "b", "c", "d/e"} {
			do(n)
		}
	}
	for name, tt := range map[string]struct {
		earlier, do func(b *bench)
		want        string
	}{
		"nothing":                  {nil, func(*bench) {}, ""},
		"an edit":                  {nil, func(b *bench) { b.write("a", "new"); b.write("b", "new") }, ""},
		"made":                     {nil, func(b *bench) { many(b, func(n string) { b.write(n+"new", "x") }) }, ""},
		"one deleted":              {nil, func(b *bench) { b.remove("a") }, "deleted 1 file that this session had not made; /undo can restore all of it"},
		"a tree deleted":           {nil, func(b *bench) { many(b, b.remove); b.remove("d") }, "deleted 4 files that this session had not made; /undo can restore all of it"},
		"overwritten":              {nil, func(b *bench) { many(b, func(n string) { b.write(n, "new") }) }, "overwrote 4 files that this session had not made; /undo can restore all of it"},
		"replaced":                 {nil, func(b *bench) { many(b, func(n string) { b.write("t", "new"); b.rename("t", n) }) }, "overwrote 4 files that this session had not made; /undo can restore all of it"},
		"the same content again":   {nil, func(b *bench) { many(b, func(n string) { b.remove(n); b.write(n, "old") }) }, ""},
		"moved":                    {nil, func(b *bench) { many(b, func(n string) { b.rename(n, n+"moved") }) }, ""},
		"a folder moved":           {nil, func(b *bench) { b.rename("d", "moved") }, ""},
		"a folder moved, and some": {nil, func(b *bench) { b.rename("d", "moved"); b.must(os.Remove(b.at("moved/e"))) }, "deleted 1 file that this session had not made; /undo can restore all of it"},
		"the session's own":        {func(b *bench) { b.write("x", "new"); b.write("y", "new") }, func(b *bench) { b.remove("x"); b.write("y", "newer") }, ""},
		"the session's own, moved": {func(b *bench) { b.write("x", "new"); b.rename("x", "y") }, func(b *bench) { b.remove("y") }, ""},
		"moved by the session":     {func(b *bench) { b.rename("a", "z") }, func(b *bench) { b.remove("z") }, "deleted 1 file that this session had not made; /undo can restore all of it"},
		"a second name":            {func(b *bench) { b.tell("a"); b.link("nowhere", "l"); b.must(os.Link(b.at("a"), b.at("hard"))) }, func(b *bench) { b.remove("a") }, "deleted 1 file that this session had not made; /undo can restore all of it"},
		"too large":                {nil, func(b *bench) { b.remove("large"); b.remove("a") }, "deleted 2 files that this session had not made; /undo can restore all but 1 of them"},
		"too large alone":          {nil, func(b *bench) { b.remove("large") }, "deleted 1 file that this session had not made; /undo cannot restore this"},
		"git's own":                {nil, func(b *bench) { b.remove(".git/index") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.store.bounds.file = 1000
			many(b, func(n string) { b.user(n, "old") })
			b.user("large", strings.Repeat("x", 1001))
			b.user(".git/index", "old")
			if tt.earlier != nil {
				b.turn(func() { tt.earlier(b) })
			}
			b.turn(func() { tt.do(b) })
			changed := b.call.Changed()
			if got := changed.Undoable(); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
