package fileworker

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestGrep(t *testing.T) {
	c, dir := start(t), folder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	put(t, in("a"), "one\ntwo needle\r\nthree\nneedle four\nfive needle", 0o600)
	put(t, in("b"), "needle\x00binary", 0o600)
	put(t, in("c"), strings.Repeat("x", 1000)+"needle"+strings.Repeat("y", 1000), 0o600)
	put(t, in("big"), strings.Repeat("needle\n", 1000), 0o600)
	put(t, in("empty"), "", 0o600)
	paths := []string{in("a"), in("b"), in("c"), in("big"), in("empty"), dir, in("gone")}
	r, err := c.Grep(t.Context(), paths, "n[e]+dle", GrepLimits{FileBytes: 5000, LineBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	if r.Binary != 1 || r.Large != 1 || r.Unreadable != 2 || r.More {
		t.Errorf("counts %+v", r)
	}
	wanted := []Match{
		{in("a"), 2, "two needle", false},
		{in("a"), 4, "needle four", false},
		{in("a"), 5, "five needle", false},
		{in("c"), 1, strings.Repeat("x", 25) + "needle" + strings.Repeat("y", 69), true},
	}
	if len(r.Matches) != len(wanted) {
		t.Fatalf("matches %+v", r.Matches)
	}
	for i, m := range r.Matches {
		if m != wanted[i] {
			t.Errorf("match %d is %+v, want %+v", i, m, wanted[i])
		}
	}
	r, err = c.Grep(t.Context(), []string{in("a"), in("big")}, "needle", GrepLimits{Matches: 5})
	if err != nil || len(r.Matches) != 5 || !r.More {
		t.Errorf("five at most: %d, %v, %v", len(r.Matches), r.More, err)
	}
	for _, bad := range []string{"(", "a)|(b", "[", strings.Repeat("(a{1000}){1000}", 9)} {
		_, err = c.Grep(t.Context(), paths, bad, GrepLimits{})
		wantKind(t, err, Invalid)
	}
}

// A search finds the lines that match by themselves.
func TestGrepIsLineByLine(t *testing.T) {
	contents := []string{"", "\n", "a", "a\n", "\n\na\n\n", "ab\nb a\n\nba\nx", "a\r\nb\r\n", "b\n a\n  ", "foo\nbar\nfoobar\n"}
	patterns := []string{"a", "^", "$", "^$", "", `\s+`, `[^b]`, `a\sb`, `\n`, `\s*a`, `(?s).*`, `^a`, `b$`, `\ba`, `(?i)FOO`, `\n*foo`, `x*`, `(?:a|b\n)`}
	for _, content := range contents {
		for _, pattern := range patterns {
			s, err := newSearcher(t.Context(), pattern, GrepLimits{})
			if err != nil {
				t.Fatal(err)
			}
			s.lines("f", []byte(content))
			got, want := fmt.Sprint(lineNumbers(s.result.Matches)), fmt.Sprint(slowly(pattern, content))
			if got != want {
				t.Errorf("%q in %q: lines %s, want %s", pattern, content, got, want)
			}
		}
	}
}

func lineNumbers(matches []Match) []int {
	lines := []int{}
	for _, m := range matches {
		lines = append(lines, m.Line)
	}
	return lines
}

func slowly(pattern, content string) []int {
	lines := []int{}
	re := regexp.MustCompile("(?m:" + pattern + ")")
	if content == "" {
		return lines
	}
	for i, line := range strings.Split(strings.TrimSuffix(content, "\n"), "\n") {
		if re.MatchString(line) {
			lines = append(lines, i+1)
		}
	}
	return lines
}

func BenchmarkGrep(b *testing.B) {
	c, dir := start(b), folder(b)
	var paths []string
	text := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 500)
	for i := range 400 {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(i)))
		put(b, paths[i], text, 0o600)
	}
	b.SetBytes(int64(len(paths) * len(text)))
	for b.Loop() {
		if r, err := c.Grep(b.Context(), paths, "needle", GrepLimits{}); err != nil || r.Unreadable > 0 {
			b.Fatal(r, err)
		}
	}
}
