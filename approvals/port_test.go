package approvals

import (
	"slices"
	"testing"

	"codeagent/sandbox"
)

func TestHeldLookupIsAskedWithItsPort(t *testing.T) {
	a := command("curl http://example.org/x", Wish{})
	lookup := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "sendto", Target: "example.org", Program: "curl", Executable: "/usr/bin/curl"}
	g := newGate(OnRequest, confined(), func(o *Options) { o.GrantsHosts = true })
	_, r, err := g.DecideHeld(a, lookup, HeldAnswers{})
	if r == nil || r.Title != "/usr/bin/curl wants to reach example.org:80" {
		t.Fatalf("%+v %v", r, err)
	}
	grant, err := g.SettleHeld(r, Answer{Decision: Once})
	if err != nil || !slices.Equal(grant.Hosts, []sandbox.HostPort{{Host: "example.org", Port: 80}}) {
		t.Fatalf("%+v %v", grant, err)
	}
	so := HeldAnswers{Given: []sandbox.Grant{grant}}
	for _, d := range []sandbox.Denial{lookup, {Kind: sandbox.KindNetwork, Operation: "connect", Target: "example.org:80"}} {
		if got, r, err := g.DecideHeld(a, d, so); err != nil || r != nil || !slices.Equal(got.Hosts, grant.Hosts) {
			t.Errorf("%s: %+v %+v %v", d.Target, got, r, err)
		}
	}
	other := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "connect", Target: "example.org:443"}
	if _, r, _ := g.DecideHeld(a, other, so); r == nil {
		t.Error("another port was not asked about")
	}
}
