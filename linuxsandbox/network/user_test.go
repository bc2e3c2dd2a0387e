//go:build linux

package network

import "testing"

// TestNetworkInSettings runs those that hold wherever commands have sockets.
func TestNetworkInSettings(t *testing.T) {
	tests.InSettings(t, "^(TestAllowed(Hosts|ToGo)|TestRefused(Bind|Names)|TestRelayedSockets|TestHeldConnections|TestNothingElseIsReached|TestAddressChangesWhileHeld|TestNamesOfThisMachine|Test(Held|Rebound|)NamesLeadNowhereClose)$")
}

// TestNetworkAsUser runs the tests of refused and allowed connections for a user without
// privileges.
func TestNetworkAsUser(t *testing.T) {
	tests.AsUser(t, "^(TestRefused(Addresses|Bind|Names|Beside)|TestAllowed(Hosts|ToGo)|TestRelayedSockets|TestHeldConnections|TestNothingElseIsReached|TestAddressChangesWhileHeld|TestOwnServerComesFirst|TestNamesOfThisMachine|Test(Held|Rebound|)NamesLeadNowhereClose)$")
}
