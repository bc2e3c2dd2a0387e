//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
)

func TestMain(m *testing.M) {
	attack.Launcher()
	os.Exit(m.Run())
}

// TestQuickSuites compares the suites that take seconds. The others are for
// `make compat`.
func TestQuickSuites(t *testing.T) {
	machine.Turn(t, 0) // it compiles and runs other projects' tests for a minute
	var out strings.Builder
	o := options{quick: true, bare: 2, surroundings: attack.SurroundPlain, out: &out}
	ok, err := o.run()
	t.Logf("%s", &out)
	if err != nil || !ok {
		t.Errorf("the sandbox differs from exceptions.txt: %v", err)
	}
}

// TestExceptionsHaveReasons: each line of the list can be parsed, for all surroundings.
func TestExceptionsHaveReasons(t *testing.T) {
	for _, surroundings := range []string{attack.SurroundPlain, attack.SurroundNoNamespaces} {
		if _, err := readExceptions(exceptionsText, surroundings); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"any os TestX", "any os: why", "os TestX: why", "any os [: why"} {
		if _, err := readExceptions(bad, "plain"); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestWhatDiffers: a difference that no line covers is an error, and so is a line that covers
// none.
func TestWhatDiffers(t *testing.T) {
	var bare outcomes
	for _, run := range []outcomes{
		{"a": pass, "b": pass, "flaky": pass, "c/x": pass, "c/y": pass, "never": fail, "gone": pass},
		{"a": pass, "b": pass, "flaky": fail, "c/x": pass, "c/y": pass, "never": fail, "gone": pass},
	} {
		bare = bare.steady(run)
	}
	inside := outcomes{"a": pass, "b": skip, "flaky": fail, "c/x": fail, "c/y": pass, "gone": pass}
	lost := bare.lost(inside)
	if got := strings.Join(lost, " "); got != "b c/x" {
		t.Errorf("lost %q", got)
	}
	known, err := readExceptions("plain s c/*: why\nany s gone: why\nno-namespaces s a: why\nplain other a: why\n", "plain")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(known.unlisted("s", lost), " "); got != "b" {
		t.Errorf("unlisted %q", got)
	}
	if got := strings.Join(known.gone("s", bare, inside), " "); got != "gone" {
		t.Errorf("gone %q", got)
	}
	if got := inside.either(outcomes{"b": pass, "c/x": fail}).of("b"); got != pass {
		t.Errorf("after another run: %s", got)
	}
}

// TestOutputs parses the output of the two test runners.
func TestOutputs(t *testing.T) {
	got := goOutcomes("=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestB/one (0.01s)\n--- SKIP: TestC (0.00s)\n")
	if len(got) != 3 || got.of("TestA") != pass || got.of("TestB/one") != fail || got.of("TestC") != skip {
		t.Errorf("%v", got)
	}
	got = pythonOutcomes("test_a ... \nCOMPAT ok test.test_os.T.test_a\nok\nnoise\nCOMPAT failed test.test_os.T.test_a\nCOMPAT skipped test.test_os.T.test_b\n")
	if len(got) != 2 || got.of("test_os.T.test_a") != fail || got.of("test_os.T.test_b") != skip {
		t.Errorf("%v", got)
	}
}
