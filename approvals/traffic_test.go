package approvals

import (
	"net/netip"
	"testing"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/sandbox"
)

// TestTraffic: connections are counted for each entry that opens their name or their address, and for no other.
// What was denied counts for none.
func TestTraffic(t *testing.T) {
	var saved []ledger.Entry
	at := time.Unix(1000, 0)
	g := newGate(OnRequest, confined(), grants, func(o *Options) { o.Changed = func(list []ledger.Entry) { saved = list } })
	sayYes(t, g, command("x", Wish{Hosts: []string{"docs.example:443"}}), Session)
	sayYes(t, g, command("x", Wish{Hosts: []string{"other.example:443"}}), Session)
	list, err := rules.Parse("rules.toml", []byte("[[host]]\nhosts = [\"10.0.0.0/8:80\"]\n\n[[host]]\nhosts = [\"docs.example:443\"]\naccess = \"fetch\"\n"), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	set := rules.Join(list)
	g.Ledger().SetRules(set)
	connection := func(host, addr string, port uint16, v sandbox.ConnectionVerdict) sandbox.Connection {
		return sandbox.Connection{Host: host, Address: netip.MustParseAddr(addr), Port: port, Verdict: v,
			Traffic: sandbox.Traffic{Count: 2, Bytes: &sandbox.Bytes{Sent: 3, Received: 4}, Last: at}}
	}
	made := sandbox.Connections{List: []sandbox.Connection{
		connection("docs.example", "1.2.3.4", 443, sandbox.ConnectionAllowed),
		connection("docs.example", "1.2.3.4", 444, sandbox.ConnectionAllowed),
		connection("other.example", "1.2.3.4", 443, sandbox.ConnectionDenied),
		connection("in.example", "10.1.2.3", 80, sandbox.ConnectionAllowed),
	}}
	g.Ledger().Connected("", made)
	g.Ledger().Connected("some server", made)
	counts := map[string]int{}
	for _, e := range g.Ledger().List() {
		counts[e.Lines(nil)[0]] += e.Traffic.Count
		if e.Traffic.Count > 0 && (*e.Traffic.Bytes != sandbox.Bytes{Sent: 3, Received: 4} || !e.Traffic.Last.Equal(at)) {
			t.Errorf("%+v", e.Traffic)
		}
	}
	for what, want := range map[string]int{"network docs.example:443": 2, "network other.example:443": 0, list[0].String(): 2, list[1].String(): 0} {
		if counts[what] != want {
			t.Errorf("%s: %d connections, want %d, of %v", what, counts[what], want, counts)
		}
	}
	if len(saved) != 2 || saved[0].Traffic.Count+saved[1].Traffic.Count != 2 {
		t.Errorf("saved: %+v", saved)
	}
}
