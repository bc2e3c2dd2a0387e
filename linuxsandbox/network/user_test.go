//go:build linux

package network

import "testing"

// TestNetworkAsUser runs the tests of refused and allowed connections for a user without
// privileges.
func TestNetworkAsUser(t *testing.T) {
	tests.AsUser(t, "^(TestRefused(Addresses|Bind|Names|Sockets)|TestAllowed(Hosts|ToGo)|TestRelayedSockets|TestHeldConnections|TestNothingElseIsReached|TestAddressChangesWhileHeld|TestOwnServerComesFirst|TestNamesOfThisMachine|Test(Held|Rebound|)NamesLeadNowhereClose)$")
}
