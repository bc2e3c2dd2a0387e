//go:build linux

package linuxsandbox

import "testing"

// TestNetworkAsUser runs the tests of refused and allowed connections for a user without
// privileges.
func TestNetworkAsUser(t *testing.T) {
	againAsUser(t, "^(TestRefused(Addresses|Bind|Names|Sockets)|TestAllowed(Hosts|ToGo)|TestRelayedSockets|TestHeldConnections|TestNothingElseIsReached|TestAddressChangesWhileHeld|TestOwnServerComesFirst|TestNamesOfThisMachine|Test(Held|Rebound|)NamesLeadNowhereClose)$")
}
