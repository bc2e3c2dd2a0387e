//go:build linux

package keeper

import (
	"testing"

	"codeagent/linuxsandbox/spec"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// TestHandledRights: every ABI handles all rights that it knows, and no rule has a right that is
// not handled.
func TestHandledRights(t *testing.T) {
	const netTCP = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	for abi, want := range map[int]uint64{3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 7: 1<<16 - 1, 8: 1<<16 - 1, 9: 1<<17 - 1, 11: 1<<17 - 1} {
		a := handled(abi, false)
		if a.HandledAccessFS != want {
			t.Errorf("ABI %d handles %#x, want %#x", abi, a.HandledAccessFS, want)
		}
		if tcp := a.HandledAccessNet&netTCP == netTCP; tcp != (abi >= 4) {
			t.Errorf("ABI %d: TCP handled: %v", abi, tcp)
		}
		if scoped := a.Scoped == ll.ScopeSignal|ll.ScopeAbstractUnixSocket; scoped != (abi >= 6) {
			t.Errorf("ABI %d: scoped: %v", abi, scoped)
		}
	}
	if a := handled(11, true); a.HandledAccessNet != 0 {
		t.Errorf("with the full network %#x is handled", a.HandledAccessNet)
	}
	if devices := rights[spec.AccessWrite] & (ll.AccessFSMakeBlock | ll.AccessFSMakeChar); devices != 0 {
		t.Errorf("AccessWrite makes devices: %#x", devices)
	}
	if writes := rights[spec.AccessRead] & fsWrite; writes != 0 {
		t.Errorf("AccessRead writes: %#x", writes)
	}
	if list := rights[spec.AccessList]; list != ll.AccessFSReadDir {
		t.Errorf("AccessList is %#x, want %#x", list, ll.AccessFSReadDir)
	}
}
