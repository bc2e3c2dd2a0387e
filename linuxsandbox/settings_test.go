//go:build linux

package linuxsandbox

import (
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/plan"
)

// backendInSetting returns a backend that is closed when the test ends, and the facts that it
// found.
func backendInSetting(t *testing.T, test string) (*Backend, plan.Facts) {
	t.Helper()
	attack.CurrentSetting(t, test)
	b := newBackend(t)
	t.Cleanup(func() { b.Close() })
	f, err := b.probe(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b, f
}

// TestDeathsInSettings kills our processes in every setting.
func TestDeathsInSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI the tests of death run in this setting
	tests.InSettings(t, "^(TestEachOfOursKilled|TestKeeperKilled|TestNoCoreDumps|TestHeldDeath)$")
}
