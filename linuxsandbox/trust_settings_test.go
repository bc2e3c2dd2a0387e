//go:build linux

package linuxsandbox

import (
	"testing"

	"codeagent/internal/machine"
)

// TestTrustSettings runs, in every setting, the tests of the asking program, of names and their
// addresses, and of git directories that the session created. Where commands have no network, no
// name leads anywhere.
func TestTrustSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI these tests run in this setting, and some as a user
	tests.InSettings(t, "^(Test(Held|Rebound|)NamesLeadNowhereClose|TestMayReachByName|TestHeldNamesTheExecutable|TestCallerCacheKnowsAnotherProgram|TestMadeGit|TestMadeGitApart)$")
}
