//go:build linux

package network

import (
	"os/exec"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
)

// anywhere are the tests that hold wherever commands have sockets.
const anywhere = "^(TestHostPatterns|TestProxies|TestAllowed(Hosts|ToGo)|TestRefused(Bind|Names)|TestRelayedSockets|TestHeldConnections|TestNothingElseIsReached|TestAddressChangesWhileHeld|TestNamesOfThisMachine|Test(Held|Rebound|)NamesLeadNowhereClose)$"

// TestNetworkBeside runs them where commands have no network of their own.
func TestNetworkBeside(t *testing.T) {
	var beside []attack.Setting
	for _, s := range attack.Settings {
		if s.Surroundings == attack.SurroundNoNamespaces {
			beside = append(beside, s)
		}
	}
	attack.InThese(t, true, machine.Pick(t, t.Name(), 1, len(beside), beside), func(t *testing.T, s attack.Setting) *exec.Cmd { return tests.Command(t, s, anywhere) })
}

// TestNetworkAsUser runs the tests of refused and allowed connections for a user without
// privileges.
func TestNetworkAsUser(t *testing.T) {
	tests.AsUser(t, "^(TestRefused(Addresses|Bind|Names|Beside)|TestMessagesBeside|TestBrokerAttacked|TestHeapStays|TestFreedSockets|TestHostPatterns|TestProxies|TestAllowed(Hosts|ToGo)|TestRelayedSockets|TestHeldConnections|TestNothingElseIsReached|TestAddressChangesWhileHeld|TestOwnServerComesFirst|TestNamesOfThisMachine|Test(Held|Rebound|)NamesLeadNowhereClose)$")
}
