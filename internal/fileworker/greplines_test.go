package fileworker

import (
	"context"
	"fmt"
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
