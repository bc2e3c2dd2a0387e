//go:build linux

package main

import (
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// outcome is how a test ended.
type outcome string

const (
	pass    outcome = "ok"
	fail    outcome = "failed"
	skip    outcome = "skipped"
	missing outcome = "not run"
)

// outcomes are the results of one run, by test name.
type outcomes map[string]outcome

func (o outcomes) of(test string) outcome {
	if got, ok := o[test]; ok {
		return got
	}
	return missing
}

func (o outcomes) count(want outcome) (n int) {
	for _, got := range o {
		if got == want {
			n++
		}
	}
	return n
}

// steady returns the outcomes that another run had too. For the first run it returns next.
func (o outcomes) steady(next outcomes) outcomes {
	if o == nil {
		return next
	}
	maps.DeleteFunc(o, func(test string, got outcome) bool { return next.of(test) != got })
	return o
}

// either adds the tests that passed in another run.
func (o outcomes) either(again outcomes) outcomes {
	for test, got := range again {
		if _, ran := o[test]; !ran || got == pass {
			o[test] = got
		}
	}
	return o
}

// lost returns the tests that pass in o and not inside, in order.
func (o outcomes) lost(inside outcomes) []string {
	var out []string
	for test, got := range o {
		if got == pass && inside.of(test) != pass {
			out = append(out, test)
		}
	}
	slices.Sort(out)
	return out
}

//go:embed exceptions.txt
var exceptionsText string

// exceptions are the lines of exceptions.txt for some surroundings.
type exceptions struct{ lines []exception }

// exception is a test, or a path.Match pattern of tests, that does not pass in the
// sandbox, and why.
type exception struct{ suite, pattern, reason string }

// readExceptions reads lines of `surroundings suite pattern: reason`.
// Surroundings may be "any".
func readExceptions(text, surroundings string) (*exceptions, error) {
	var out exceptions
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		what, reason, _ := strings.Cut(line, ": ")
		fields := strings.Fields(what)
		if len(fields) != 3 || reason == "" {
			return nil, fmt.Errorf("exceptions.txt: %q: want surroundings, suite, test and a reason", line)
		}
		if _, err := path.Match(fields[2], ""); err != nil {
			return nil, fmt.Errorf("exceptions.txt: %q: %w", line, err)
		}
		if fields[0] == "any" || fields[0] == surroundings {
			out.lines = append(out.lines, exception{fields[1], fields[2], reason})
		}
	}
	return &out, nil
}

func (e exception) covers(suite, test string) bool {
	ok, _ := path.Match(e.pattern, test)
	return ok && e.suite == suite
}

// unlisted returns the tests of a suite that no line covers.
func (e *exceptions) unlisted(suite string, tests []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		return slices.ContainsFunc(e.lines, func(x exception) bool { return x.covers(suite, test) })
	})
}

// gone returns the patterns of a suite for which every test that passes outside also passes
// inside.
func (e *exceptions) gone(suite string, bare, inside outcomes) []string {
	var out []string
	for _, x := range e.lines {
		if x.suite != suite {
			continue
		}
		lost, seen := false, false
		for test, got := range bare {
			if got == pass && x.covers(suite, test) {
				seen, lost = true, lost || inside.of(test) != pass
			}
		}
		if seen && !lost {
			out = append(out, x.pattern)
		}
	}
	return out
}
