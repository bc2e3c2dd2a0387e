// Command testsummary runs its arguments, `go test -json …`, and prints what a person needs: a line
// per package, the whole output of failed tests, what the rows that failed said first, slow tests, and every skipped test with its
// reason. It exits 1 when something failed, when nothing ran, and, with CI=true, when
// anything was skipped: in CI a skip is a gap. A test that is the body of another one, which
// runs it in a process of its own, is not a gap if the other one passed. Neither is what a trial
// showed to be impossible on this machine, which is listed at the end, nor a test for another turn.
// The output names what was not tried in such a process, and which part of a table was.
//
// First it measures the machine, so that all tests choose as much as it can do (internal/machine).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"codeagent/internal/machine"
)

type testEvent struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// slow is the number of seconds from which on a test is listed.
const slow = 20

type summary struct {
	out                     io.Writer
	output                  map[string][]string // by package and test
	passed, failed, skipped int
	later                   map[string]bool // tests for another turn
	broken                  bool            // a package failed to build or outside of any test
	passes                  map[string]bool
	faults                  []string            // the failed tests and rows, which are said again at the end
	bodies                  map[string]string   // by body: the test that runs it
	impossible              map[string][]string // by what a trial said: the tests that heard it
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, output: map[string][]string{}, passes: map[string]bool{}, bodies: map[string]string{}, impossible: map[string][]string{}, later: map[string]bool{}}
}

var (
	bodyOf   = regexp.MustCompile(`: body of (Test\w+)$`)
	notTried = regexp.MustCompile(`: (not tried in .*|(?:in .* )?` + machine.Sampled + `.*)`)
)

func main() {
	s := newSummary(os.Stdout)
	ended, err := s.run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	code := s.finish(machine.Thorough())
	if ended != nil && code == 0 {
		fmt.Fprintln(s.out, "no test failed, but the run did:", ended)
		code = 1
	}
	os.Exit(code)
}

// run starts the tests with the pace of this machine. ended is how they ended.
func (s *summary) run(args []string) (ended, err error) {
	if len(args) == 0 {
		return nil, errors.New("want a command that prints what `go test -json` does")
	}
	pace := machine.Measured()
	fmt.Fprintf(s.out, "starts of processes take %.1f times what they do on the reference; the same choice again: %s\n", pace.Slowness, pace.Variable())
	tests := exec.Command(args[0], args[1:]...)
	tests.Stderr, tests.Env = os.Stderr, append(os.Environ(), pace.Variable())
	out, err := tests.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := tests.Start(); err != nil {
		return nil, err
	}
	if err := s.read(out); err != nil {
		return nil, err
	}
	return tests.Wait(), nil
}

func (s *summary) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	for lines.Scan() {
		var e testEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(s.out, lines.Text()) // the go command's own messages
			continue
		}
		s.take(e)
	}
	return lines.Err()
}

func (s *summary) take(e testEvent) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		s.output[key] = append(s.output[key], e.Output)
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "build-fail":
		s.broken = true
	case "pass", "fail", "skip":
		if e.Test != "" {
			s.test(e, key)
		} else {
			s.pkg(e, key)
		}
	}
}

func (s *summary) test(e testEvent, key string) {
	switch e.Action {
	case "pass":
		s.passed++
		s.passes[key] = true
		for _, line := range s.output[key] {
			s.hear(key, line)
			if found := notTried.FindStringSubmatch(line); found != nil {
				fmt.Fprintf(s.out, "%s %s: %s\n", e.Package, e.Test, found[1])
			}
		}
		if e.Elapsed >= slow && !strings.Contains(e.Test, "/") {
			fmt.Fprintf(s.out, "slow %s %s %.0fs\n", e.Package, e.Test, e.Elapsed)
		}
	case "skip":
		why, last := reason(s.output[key])
		for _, line := range s.output[key] {
			s.hear(key, line)
		}
		if found := bodyOf.FindStringSubmatch(why); found != nil {
			s.bodies[key] = e.Package + " " + found[1]
			break
		}
		switch {
		case strings.Contains(last, ": "+machine.NotPossible):
		case strings.Contains(last, ": "+machine.Sampled):
			s.later[key] = true
			fmt.Fprintf(s.out, "another turn: %s %s: %s\n", e.Package, e.Test, why)
		default:
			s.skipped++
			fmt.Fprintf(s.out, "SKIP %s %s: %s\n", e.Package, e.Test, why)
		}
	case "fail":
		s.failed++
		rows, said := rowsOf(e.Test, s.output[key])
		s.faults = append(s.faults, strings.Join(append([]string{key}, rows...), " "))
		fmt.Fprintf(s.out, "FAIL %s\n%s%s", s.faults[len(s.faults)-1], said, strings.Join(s.output[key], ""))
	}
	delete(s.output, key)
}

func (s *summary) pkg(e testEvent, key string) {
	said := ""
	for _, line := range s.output[key] {
		choice, tests := machine.LeftOut(line)
		for _, name := range tests {
			s.later[key+name] = true
		}
		if choice != said && choice != "" {
			fmt.Fprintf(s.out, "%s: %s\n", e.Package, choice)
			said = choice
		}
	}
	switch e.Action {
	case "pass":
		fmt.Fprintf(s.out, "ok   %s %.1fs\n", e.Package, e.Elapsed)
	case "fail":
		s.broken = true
		fmt.Fprintf(s.out, "FAIL %s %.1fs\n%s", e.Package, e.Elapsed, strings.Join(s.output[key], ""))
	}
	delete(s.output, key)
}

var (
	beginsRow = regexp.MustCompile(`=== (?:RUN|CONT|NAME) +(Test\S+)`)
	failedRow = regexp.MustCompile(`--- FAIL: (Test\S+)`)
)

// rowsOf returns the rows that failed in a test whose output is that of another process, and what
// they said there: the whole may be long, and its middle cut by whoever shows it.
func rowsOf(test string, output []string) (rows []string, said string) {
	for _, line := range output {
		if found := failedRow.FindStringSubmatch(line); found != nil && found[1] != test {
			rows = append(rows, found[1])
		}
	}
	within := false
	for _, line := range output {
		if found := beginsRow.FindStringSubmatch(line); found != nil {
			within = slices.Contains(rows, found[1])
		}
		if within {
			said += line
		}
	}
	return rows, said
}

// hear remembers what a trial said in a line of a test's output.
func (s *summary) hear(key, line string) {
	if _, said, found := strings.Cut(line, ": "+machine.NotPossible); found {
		said = strings.TrimSpace(said)
		if !slices.Contains(s.impossible[said], key) {
			s.impossible[said] = append(s.impossible[said], key)
		}
	}
}

// reason returns a test's reason for skipping, without the frame lines, and the line with which it
// was skipped.
func reason(output []string) (all, last string) {
	var words []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			words = append(words, line)
		}
	}
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	return strings.Join(words, " "), last
}

func (s *summary) finish(ci bool) int {
	// A test that never reported its end was cut off by a crash or a timeout.
	for key, lines := range s.output {
		if s.broken && !strings.HasSuffix(key, " ") && len(lines) > 1 {
			fmt.Fprintf(s.out, "CUT OFF %s\n%s", key, strings.Join(lines, ""))
		}
	}
	for body, by := range s.bodies {
		if !s.passes[by] && !s.later[by] {
			s.skipped++
			fmt.Fprintf(s.out, "SKIP %s: its work is done by %s, which did not pass\n", body, by)
		}
	}
	for _, said := range slices.Sorted(maps.Keys(s.impossible)) {
		fmt.Fprintf(s.out, "%s%s (%s)\n", machine.NotPossible, said, strings.Join(s.impossible[said], ", "))
	}
	for _, fault := range s.faults {
		fmt.Fprintln(s.out, "failed:", fault)
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped, %d for another turn\n", s.passed, s.failed, s.skipped, len(s.later))
	switch {
	case s.failed > 0 || s.broken:
		return 1
	case s.passed == 0:
		fmt.Fprintln(s.out, "no test ran")
		return 1
	case ci && s.skipped > 0:
		fmt.Fprintln(s.out, "in CI a skip is a failure")
		return 1
	}
	return 0
}
