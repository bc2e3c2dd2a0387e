package exec

import (
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestDeciding: the commands whose failure can be that of the whole text.
func TestDeciding(t *testing.T) {
	for _, row := range []struct {
		text string
		exit int
		want string
	}{
		{"a", 1, "a"},
		{"a; b", 1, "b"},
		{"a && b", 1, "a b"},
		{"a || b", 1, "a b"},
		{"a || true", 1, "a true"},
		{"a || exit 9", 9, "a"},
		{"a; false", 1, ""},
		{"a; exit 3", 3, ""},
		{"a; exit $?", 1, "a"},
		{"a; r=$?; b; exit $r", 1, "a"},
		{"a | b; exit ${PIPESTATUS[0]}", 1, "a b"},
		{"a | b", 1, "a< b"},
		{"set -o pipefail; a | b", 1, "a b"},
		{"set -e; a; b", 1, "set a b"},
		{"set -euo pipefail\na | b\nc", 1, "set a b c"},
		{"a || exit 9; b", 9, "a b"},
		{"a || exit 9; b", 1, "b"},
		{"if a; then b; fi", 1, "a b"},
		{"if ! a; then exit 3; fi", 3, "a"},
		{"if a; then b; else c; fi; d", 1, "d"},
		{"! a", 1, ""},
		{"for i in 1 2; do a; done", 1, "a"},
		{"for i in 1 2; do a || exit 2; done; b", 2, "a b"},
		{"while a; do b; done", 1, "b"},
		{"(a; b)", 1, "b"},
		{"{ a; b; } >out", 1, "b"},
		{"(a || exit 3); b", 3, "b"},
		{"f() { a; b; }; f", 1, "b"},
		{"f() { f; }; f", 1, "f"},
		{"x=$(a)", 1, "a"},
		{"a $(b)", 1, "a b<"},
		{"case x in x) a;; *) b;; esac", 1, "a b"},
		{"bash -c 'a; b'", 1, "b"},
		{"/bin/sh -ec 'a; b'", 1, "set a b"},
		{"dash -eo pipefail -c 'a | b'", 1, "set set a b"},
		{"bash script.sh", 1, "bash"},
		{"a &", 1, ""},
		{"[[ -f x ]]", 1, "["},
		{"time a", 1, "a"},
	} {
		steps, ok := deciding(row.text, row.exit)
		var got []string
		for _, s := range steps {
			name := ""
			if len(s.words) > 0 {
				name = s.words[0]
			}
			if s.feeds {
				name += "<"
			}
			got = append(got, name)
		}
		if !ok || strings.Join(got, " ") != row.want {
			t.Errorf("%q with %d: %q %v, want %q", row.text, row.exit, got, ok, row.want)
		}
	}
	for _, text := range []string{"a (", "'", "f() {" + strings.Repeat("f;", 200) + "}; f", strings.Repeat("x", maxScript+1)} {
		if _, ok := deciding(text, 1); ok {
			t.Errorf("%.10q: read", text)
		}
	}
}

// TestMeans: a word of a script, and what it can stand for.
func TestMeans(t *testing.T) {
	for _, row := range []struct {
		word, target string
		want         bool
	}{
		{"/out/x", "/out/x", true}, {"*/x", "/out/x", true}, {"x", "/out/x", true}, {"../out/x", "/ws/out/x", true}, {"x", "/out/xx", false},
		{"*.log", "/out/a.log", true}, {"*/dir/*", "/out/dir/a", true}, {"of=*/x", "/out/x", true}, {"-x", "/out/x", false},
		{"*/d/e/f", "/out/d", true}, {"*/d", "/out/d/e", true}, {"a", "/out/x", false}, {"x/y", "/out/y", false},
	} {
		if got := means(row.word, &sandbox.Denial{Kind: sandbox.KindWrite, Target: row.target}); got != row.want {
			t.Errorf("%q and %s: %v", row.word, row.target, got)
		}
	}
	at := &sandbox.Denial{Kind: sandbox.KindNetwork, Target: "db.example:5432", Requested: "192.0.2.1:5432"}
	for word, want := range map[string]bool{"postgres://db.example/x": true, "192.0.2.1": true, "/dev/tcp/*": true, "other": false} {
		if means(word, at) != want {
			t.Errorf("%q and %s: %v", word, at.Target, !want)
		}
	}
}

func FuzzDeciding(f *testing.F) {
	for _, text := range []string{"a; b", "set -e; a | b", "f() { f; }; f", "x=$(a `b`)", "if ! a; then exit $?; fi", "bash -c 'bash -c \"a\"'", "case x in x) a;; esac"} {
		f.Add(text, "/out/x")
	}
	f.Fuzz(func(t *testing.T, text, target string) {
		steps, _ := deciding(text, 1)
		d := &sandbox.Denial{Kind: sandbox.KindWrite, Target: "/" + target}
		for _, s := range steps {
			_, _, _ = s.names(d), s.opens(d), s.runs("a")
		}
	})
}
