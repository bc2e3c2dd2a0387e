// Package machine tells tests about the machine that they run on: what it cannot do, and how fast
// it starts processes. It concludes nothing from a name or a version: it tries the one and measures
// the other. Only tests and their tools use it. internal/testsummary lists at the end of a run
// what was not possible, and prints which part of each table was tried.
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
	// Do returns what the kernel answered: nil if it works. If the preparation of the trial fails, Do
	// fails the test: the machine may well be able to do it.
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
