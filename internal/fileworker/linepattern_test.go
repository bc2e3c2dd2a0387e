package fileworker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// within fails the test if do, which takes minutes without a bound, has not ended in time.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal(what + " goes on")
	}
}

// A match of a negated class ends with its line: the lines below are not read again for each
// line.
func TestNegatedClassStaysInItsLine(t *testing.T) {
	s, err := newSearcher(t.Context(), "x[^z]*y", GrepLimits{})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "a search of 200,000 lines", func() { s.lines("f", []byte(strings.Repeat("x = 1\n", 200_000)+"x y\n")) })
	if got := lineNumbers(s.result.Matches); fmt.Sprint(got) != "[200001]" {
		t.Errorf("lines %v", got)
	}
}

// fewLooks is a context that ends after it was checked so many times.
type fewLooks struct {
	context.Context
	left int
}

func (f *fewLooks) Err() error {
	if f.left--; f.left < 0 {
		return context.Canceled
	}
	return nil
}

// The end of the context ends the search between lines.
func TestSearchEndsInTheMiddle(t *testing.T) {
	const costly = `([a-q][^u-z]{50}){3}x` // ten seconds for each MB
	content := strings.Repeat(strings.Repeat("a", 2000)+"\n", 20_000)
	s, err := newSearcher(&fewLooks{t.Context(), 2}, costly, GrepLimits{})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "a search of many lines", func() { s.lines("f", []byte(content)) })
}

// Long lines and stretches of short lines give the same matches
// as each line alone.
func TestStretchesAreLineByLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	words := []string{"a", "b", "ab", " ", "\t", "é", "\xff", "\r", "x", "\n", "\n"}
	for _, pattern := range []string{"^$", `a\s*b`, `[^b]x`, `\bab\b`, `(?i)É$`, `(?s:a.b)`, `a|\n`} {
		for _, long := range []string{"", strings.Repeat("é", stretch/2+1) + "ab x"} {
			var b strings.Builder
			for b.Len() < stretch+1000 {
				b.WriteString(words[rng.IntN(len(words))])
			}
			content := b.String() + long + b.String()[stretch:]
			s, err := newSearcher(t.Context(), pattern, GrepLimits{Matches: MaxMatches, LineBytes: 1})
			if err != nil {
				t.Fatal(err)
			}
			s.lines("f", []byte(content))
			got, want := lineNumbers(s.result.Matches), slowly(pattern, content)
			if len(want) > MaxMatches {
				want = want[:MaxMatches]
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q: %d lines, want %d: %.60v and %.60v", pattern, len(got), len(want), got, want)
			}
		}
	}
}

// \A and \z match at the ends of each line, as the search goes line by line.
func TestEndsOfText(t *testing.T) {
	const content = "ab\nba"
	for pattern, want := range map[string]string{`\Aa`: "[1]", `a\z`: "[2]", `(?-m:^)b`: "[2]", `(?-m:b$)`: "[1]"} {
		s, err := newSearcher(t.Context(), pattern, GrepLimits{})
		if err != nil {
			t.Fatal(err)
		}
		s.lines("f", []byte(content))
		if got := fmt.Sprint(lineNumbers(s.result.Matches)); got != want {
			t.Errorf("%s: lines %s, want %s", pattern, got, want)
		}
	}
}
