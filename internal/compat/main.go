//go:build linux

// Compat compares the results of other projects' tests outside and inside the sandbox.
//
//	go run ./internal/compat [-quick] [-bare N] [-surroundings NAME] [SUITE]...
//
// The suites are those of Go's and Python's standard libraries that deal with
// the operating system most. Each runs several times outside, to exclude tests that fail
// now and then, and then inside `codeagent sandbox`, both times as an ordinary user. A test
// that passes in every run outside and in no run inside is a difference. exceptions.txt
// lists the known ones, each with a reason. The status is 1 if a difference is not listed,
// or a listed one does not occur any more.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"codeagent/internal/attack"
)

func main() {
	attack.Launcher()
	o := options{out: os.Stdout}
	flag.BoolVar(&o.quick, "quick", false, "only the suites that take seconds")
	flag.IntVar(&o.bare, "bare", 3, "how often each suite runs bare")
	flag.StringVar(&o.surroundings, "surroundings", attack.SurroundPlain, "plain, or no-namespaces: as on a machine without user namespaces (needs root)")
	flag.BoolVar(&o.verbose, "v", false, "print what the runs print")
	flag.Parse()
	o.only = flag.Args()
	ok, err := o.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// options are the parameters of a comparison.
type options struct {
	quick, verbose bool
	bare           int
	surroundings   string
	only           []string
	out            io.Writer
}

// run reports whether the differences are exactly the listed ones.
func (o *options) run() (ok bool, err error) {
	known, err := readExceptions(exceptionsText, o.surroundings)
	if err != nil {
		return false, err
	}
	st, err := newStage(o)
	if err != nil {
		return false, err
	}
	defer st.remove()
	ok = true
	for _, s := range suites {
		switch {
		case len(o.only) > 0 && !slices.Contains(o.only, s.name), len(o.only) == 0 && o.quick && !s.quick:
			continue
		}
		good, err := o.compare(st, s, known)
		if err != nil {
			return false, fmt.Errorf("%s: %w", s.name, err)
		}
		ok = ok && good
	}
	return ok, nil
}

// compare runs one suite both ways and prints the differences.
func (o *options) compare(st *stage, s suite, known *exceptions) (bool, error) {
	argv, dir, err := s.prepare(st, s)
	if err != nil {
		return false, err
	}
	passed := outcomes(nil)
	for range o.bare {
		got, output, err := s.runBare(st, argv, dir)
		if err != nil {
			return false, err
		}
		if o.verbose {
			fmt.Fprintln(o.out, output)
		}
		passed = passed.steady(got)
	}
	if passed.count(pass) == 0 {
		return false, fmt.Errorf("no test passes without the sandbox")
	}
	inside, output, err := s.runBoxed(st, argv, dir)
	if err != nil {
		return false, err
	}
	if len(known.unlisted(s.name, passed.lost(inside))) > 0 {
		again, more, err := s.runBoxed(st, argv, dir)
		if err != nil {
			return false, err
		}
		inside, output = inside.either(again), output+more
	}
	if o.verbose {
		fmt.Fprintln(o.out, output)
	}
	lost := passed.lost(inside)
	bad, gone := known.unlisted(s.name, lost), known.gone(s.name, passed, inside)
	fmt.Fprintf(o.out, "%-12s %5d pass bare, %3d of them not in the sandbox, %d listed\n", s.name, passed.count(pass), len(lost), len(lost)-len(bad))
	for _, test := range bad {
		fmt.Fprintf(o.out, "  DIFFERS  %s %s: %s\n", s.name, test, inside.of(test))
	}
	for _, test := range gone {
		fmt.Fprintf(o.out, "  PASSES   %s %s: remove it from exceptions.txt\n", s.name, test)
	}
	return len(bad)+len(gone) == 0, nil
}
