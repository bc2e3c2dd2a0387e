//go:build linux

// Package escapes tries to break out of the sandbox: each attempt is made by a plain child, where it
// must land, and by a command of the whole backend, where it must not.
package escapes

import (
	"testing"

	"codeagent/backends/bwrap"
	"codeagent/backends/container"
	"codeagent/internal/attack"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// tests are those of this package, which run again as other users and in other settings.
var tests = backendtest.Tests("codeagent/linuxsandbox/escapes")

// TestMain lets the test binary be each of the attackers.
func TestMain(m *testing.M) {
	attack.Launcher()
	escapeVictim()
	chainVictim()
	blindVictim()
	tempVictim()
	hostileVictim()
	backendtest.Main(m)
}

// newBackend returns a backend that finds host names with lookup.
func newBackend(t testing.TB, lookup linuxsandbox.LookupFunc) *linuxsandbox.Backend {
	t.Helper()
	o := linuxsandbox.Options{Helper: tests.Helper(t), Lookup: lookup}
	b, err := linuxsandbox.New(o)
	if attack.InBwrap() {
		program, bad := attack.LookIn(attack.Path, bwrap.Name)
		if bad != nil {
			t.Skip(bad)
		}
		b, err = bwrap.New(program, o)
	}
	if attack.InContainers() {
		b, err = container.New(container.Options{Program: attack.NewPodman(t), Run: attack.RunPodman, Image: attack.Image}, o, t.TempDir())
	}
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Patient(b)
	return b
}

// backendInSetting returns a backend that is closed when the test ends, and what it enforces.
func backendInSetting(t *testing.T, test string) (*linuxsandbox.Backend, sandbox.Enforcement) {
	t.Helper()
	attack.CurrentSetting(t, test)
	b := newBackend(t, nil)
	t.Cleanup(func() { b.Close() })
	e, err := sandboxtest.Enforcement(b, sandbox.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	return b, e
}
