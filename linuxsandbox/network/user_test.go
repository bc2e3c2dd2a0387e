//go:build linux

package network

import (
	"os/exec"
	"slices"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
)

// anywhere are the tests that hold wherever commands have sockets.
const anywhere = "^(TestConnectionLog|TestHostPatterns|TestSpellings|TestProxies|TestAllowed(Hosts|ToGo)|TestDatagrams(OfAllowedHosts|Held)|TestRefused(Bind|Names)|TestRelayedSockets|TestConnectionsLeaveNothing|TestServerOfOneConnection|TestHeldConnections|TestNothingElseIsReached|TestAddressChangesWhileHeld|TestNamesOfThisMachine|Test(Held|Rebound|)NamesLeadNowhereClose)$"

// TestNetworkSettings runs them where commands have no network of their own, and in CI in one of the settings that
// neither this process nor TestNetworkAsUser is in.
func TestNetworkSettings(t *testing.T) {
	var beside, other []attack.Setting
	for _, s := range attack.Settings {
		switch s.Surroundings {
		case attack.SurroundPlain:
		case attack.SurroundNoNamespaces:
			beside = append(beside, s)
		default:
			other = append(other, s)
		}
	}
	settings := machine.Pick(t, t.Name(), 1, 1, beside)
	if machine.Thorough() {
		settings = slices.Concat(settings, machine.Pick(t, t.Name(), 1, 1, other))
	}
	attack.InThese(t, true, settings, func(t *testing.T, s attack.Setting) *exec.Cmd { return tests.Command(t, s, anywhere) })
}

// TestNetworkAsUser runs the tests of refused and allowed connections for a user without
// privileges.
func TestNetworkAsUser(t *testing.T) {
	tests.AsUser(t, anywhere+"|^(TestRefused(Addresses|Beside)|TestMessagesBeside|TestBrokerAttacked|TestHeapStays|TestFreedSockets|TestPortOfAnother|TestOwnServerComesFirst)$")
}
