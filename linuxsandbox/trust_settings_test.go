//go:build linux

package linuxsandbox

import "testing"

// TestTrustSettings: who asks, where names lead and what the session made for git,
// in every setting; where commands have no network no name leads anywhere.
func TestTrustSettings(t *testing.T) {
	if !underCI() {
		t.Skip("only with CI=true: outside of it these tests run in this setting, and some as a user")
	}
	inSettings(t, "^(Test(Held|Rebound|)NamesLeadNowhereClose|TestMayReachByName|TestHeldNamesTheExecutable|TestCallerCacheKnowsAnotherProgram|TestMadeGit)$")
}
