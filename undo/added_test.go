package undo

import (
	"os"
	"strings"
	"testing"
)

// TestAdded: what a turn's calls added is named only while all of it is theirs, and as they left it.
func TestAdded(t *testing.T) {
	for name, row := range map[string]struct {
		then func(b *bench)
		want string
	}{
		"as it was left":        {func(*bench) {}, "c/d/f c/d c/a c"},
		"a call removed a part": {func(b *bench) { b.during(func() { b.remove("c/a") }) }, "c/d/f c/d c"},
		"a call removed and made it": {func(b *bench) {
			b.during(func() { b.remove("c/d/f"); b.remove("c/d"); b.mkdir("c/d"); b.user("c/d/f", "again") })
		}, "c/d/f c/d c/a c"},
		"somebody else changed a file":  {func(b *bench) { b.user("c/a", "the user's") }, ""},
		"somebody else added a file":    {func(b *bench) { b.user("c/d/mine", "the user's") }, ""},
		"somebody else added a folder":  {func(b *bench) { b.must(os.Mkdir(b.at("c/mine"), 0o755)) }, ""},
		"somebody else removed a file":  {func(b *bench) { b.must(os.Remove(b.at("c/a"))) }, ""},
		"somebody else put a file back": {func(b *bench) { b.during(func() { b.remove("c/a") }); b.user("c/a", "x") }, ""},
		"somebody else changed a mode":  {func(b *bench) { b.must(os.Chmod(b.at("c/a"), 0o600)) }, ""},
		"a link in place of a folder": {func(b *bench) {
			b.must(os.Rename(b.at("c/d"), b.at("gone")))
			b.must(os.Symlink("../gone", b.at("c/d")))
		}, ""},
		"another call works on it": {func(b *bench) { b.call = b.ses.Call(); b.write("c/a", "more") }, ""},
		"the next turn":            {func(b *bench) { b.ses.End(); b.ses.Begin("more") }, ""},
	} {
		b := newBench(t)
		b.user("old", "precious")
		b.ses.Begin("do it")
		b.during(func() {
			b.mkdir("c")
			b.write("c/a", "x")
			b.mkdir("c/d")
			b.write("c/d/f", "y")
			b.write("old", "the call's")
		})
		row.then(b)
		added, ok := b.ses.Added([]string{b.at("c")})
		var got []string
		for _, e := range added {
			got = append(got, strings.TrimPrefix(e.Path, b.ws+"/"))
		}
		if is := strings.Join(got, " "); is != row.want || ok != (row.want != "") {
			t.Errorf("%s: %q, %v", name, is, ok)
		}
		if _, ok := b.ses.Added([]string{b.at("old")}); ok {
			t.Errorf("%s: what was there before was added", name)
		}
	}
}
