//go:build linux

package linuxsandbox

import "testing"

// TestNetworkAsUser is what was refused and allowed of the network, for a user
// without rights.
func TestNetworkAsUser(t *testing.T) {
	againAsUser(t, "^(TestRefused(Addresses|Bind|Names|Sockets)|TestAllowed(Hosts|ToGo)|TestRelayedSockets|TestHeldConnections|TestNothingElseIsReached|TestAddressChangesWhileHeld|TestOwnServerComesFirst|TestNamesOfThisMachine|Test(Held|Rebound|)NamesLeadNowhereClose)$")
}
