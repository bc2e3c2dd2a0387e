// Package machine is what tests know of the machine that they run on: what it cannot do, and how
// fast it starts processes. Nothing is concluded from a name or a version. What it cannot do is
// tried, and how fast it is, is measured. internal/testsummary lists at the end of a run what was
// not possible, and prints which part of each table was tried.
package machine

import (
	"strings"
	"testing"
)

// NotPossible begins what a trial says that did not work. No other room may write it (house_test.go),
// so that nothing is called impossible that was not tried.
const NotPossible = "not possible on this machine: "

// Trial tries something that a test or a row of a table needs of the machine, without anything of
// codeagent: a fault of codeagent's must not pass for one of the machine's.
type Trial struct {
	What string
	// Do returns what the kernel answered: nil if it works. What merely prepares the trial fails the
	// test if it fails: then nothing is known.
	Do func(t testing.TB) error
}

// Works makes the trial and reports whether the machine can do it.
func (tr Trial) Works(t testing.TB) bool {
	t.Helper()
	said := tr.says(t)
	if said != "" {
		t.Log(said)
	}
	return said == ""
}

// Require skips the test if the machine cannot do it.
func (tr Trial) Require(t testing.TB) {
	t.Helper()
	if said := tr.says(t); said != "" {
		t.Skip(said)
	}
}

func (tr Trial) says(t testing.TB) string {
	t.Helper()
	err := tr.Do(t)
	if err == nil {
		return ""
	}
	return NotPossible + tr.What + ": " + strings.Join(strings.Fields(err.Error()), " ")
}
