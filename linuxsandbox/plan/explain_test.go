//go:build linux

package plan

import (
	"encoding/json"
	"testing"

	"codeagent/internal/golden"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// machines are the results of doctor's probe on different machines.
var machines = []struct {
	name  string
	facts Facts
}{
	{"root", Facts{Facts: spec.Facts{LandlockABI: 7, SignalProof: true, Root: true, Broker: true}, Namespaces: true, HostNet: 1, Sockets: sockets.TakesCopies}},
	{"user", Facts{Facts: spec.Facts{LandlockABI: 7, SignalProof: true, Broker: true}, Namespaces: true, HostNet: 1, Sockets: sockets.TakesCopies}},
	{"user-no-namespaces", Facts{Facts: spec.Facts{LandlockABI: 7, SignalProof: true, Broker: true}, Sockets: sockets.TakesCopies, Beside: true, NamespacesWhy: "clone: the sysctls user.max_*_namespaces allow no more"}},
	{"root-in-container", Facts{Facts: spec.Facts{LandlockABI: 7, SignalProof: true, Root: true, Broker: true}, Sockets: sockets.TakesStandIns, NamespacesWhy: "clone: operation not permitted"}},
	{"inside-codeagent", Facts{Facts: spec.Facts{LandlockABI: 7, SignalProof: true, NoBroker: "another sandbox around this one holds the listener, and the kernel allows one"}, NamespacesWhy: "clone: operation not permitted"}},
	{"landlock-0", Facts{Facts: spec.Facts{Broker: true}, Namespaces: true, HostNet: 1, Sockets: sockets.TakesCopies}},
	{"landlock-1", Facts{Facts: spec.Facts{LandlockABI: 1, Broker: true}, Namespaces: true, HostNet: 1, Sockets: sockets.TakesCopies}},
	{"landlock-2", Facts{Facts: spec.Facts{LandlockABI: 2, Root: true, Broker: true}, Sockets: sockets.TakesCopies, Beside: true, NamespacesWhy: "clone: operation not permitted"}},
	{"old-kernel", Facts{Facts: spec.Facts{LandlockABI: 3, Broker: true}, Sockets: sockets.TakesCopies, Beside: true, NamespacesWhy: "clone: the sysctls user.max_*_namespaces allow no more"}},
}

// TestEnforcementOfMachines records the enforcement on each kind of machine. The tests of
// codeagent's doctor use these files.
func TestEnforcementOfMachines(t *testing.T) {
	p := sandbox.WorkspaceWrite("/work")
	p.Protected.Names = []string{".codeagent"}
	for _, m := range machines {
		layers, weak, err := enforcement(sandboxtest.Resolved(withRecords(p, m.facts, m.name != "inside-codeagent")), m.facts)
		if err != nil {
			t.Fatal(err)
		}
		e := sandbox.Enforcement{Backend: "linux", LandlockABI: m.facts.LandlockABI, Layers: layers, Weaknesses: weak}
		text, err := json.MarshalIndent(e, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "machines/"+m.name+".json", string(text)+"\n")
	}
}

// withRecords is p with the records that prepare would not find protected: reachable ones that no
// mount covers.
func withRecords(p sandbox.Policy, f Facts, inReach bool) sandbox.Policy {
	p.Protected.Own = []string{"/home/ada/.local/state/codeagent"}
	if inReach && !f.Namespaces {
		p.Protected.Hidden = []string{"/home/ada/.local/state/codeagent/sessions", "/home/ada/.local/state/codeagent/undo"}
	}
	return p
}

// TestNothingIsLostInSilence: on every possible machine, what a missing layer would enforce is
// enforced by another one or stated as a weakness.
func TestNothingIsLostInSilence(t *testing.T) {
	p := sandbox.WorkspaceWrite("/work")
	for abi := range 10 {
		for bits := range 16 {
			f := Facts{Facts: spec.Facts{LandlockABI: abi, Root: bits&1 != 0, Broker: bits&4 != 0}, Namespaces: bits&2 != 0, NamespacesWhy: "refused"}
			switch {
			case f.Namespaces:
				f.HostNet = 1
			case bits&8 != 0:
				f.Beside, f.Sockets = true, sockets.TakesCopies
			}
			layers, weak, err := enforcement(sandboxtest.Resolved(withRecords(p, f, true)), f)
			if held := abi > 0 || f.Namespaces && f.Broker; held != (err == nil) {
				t.Fatalf("%+v: %v", f, err)
			}
			if err != nil {
				continue
			}
			e := sandbox.Enforcement{Backend: "linux", LandlockABI: abi, Layers: layers, Weaknesses: weak}
			for _, l := range e.Explain() {
				if l.Holds == "" {
					t.Errorf("layer %s: nothing says what it holds", l.Name)
				}
				if l.Reason == "" {
					t.Errorf("%+v: layer %s is %s without a proof or a reason", f, l.Name, l.State)
				}
				if l.State == sandbox.LayerActive && len(l.Losses) > 0 {
					t.Errorf("%+v: layer %s is active and loses %+v", f, l.Name, l.Losses)
				}
				for _, loss := range l.Losses {
					if loss.How == "" && loss.Weakness == "" {
						t.Errorf("%+v: %s: %q is lost, and nothing holds or states it", f, l.Name, loss.What)
					}
				}
			}
		}
	}
}
