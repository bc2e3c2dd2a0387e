package approvals

import (
	"slices"
	"strings"
	"testing"

	"codeagent/event/word"
	"codeagent/sandbox"
)

func fetch(host string) Action {
	return Action{
		CallID: "c3", Tool: "fetch_url", Kind: word.KindFetch, Title: "fetch https://" + host + "/", Folder: workspace,
		Wish: Wish{Hosts: []string{host}, Justification: "the manual"},
	}
}

var (
	manual = sandbox.HostPort{Host: "docs.example", Port: 443}
	other  = sandbox.HostPort{Host: "other.example", Port: 443}
)

// The question shows the host, and is the same if the backend cannot grant hosts to commands:
// codeagent itself makes the request.
func TestAFetchIsAskedForItsHost(t *testing.T) {
	for _, grants := range []bool{false, true} {
		g := newGate(OnRequest, confined(), func(o *Options) { o.GrantsHosts = grants })
		a := fetch("Docs.Example.:443")
		r := mustAsk(t, g, a)
		if r.Title != "fetch_url wants to reach docs.example:443" || keys(r) != insideOnly || r.Widest || len(r.Warnings) > 0 || r.Justification != "the manual" {
			t.Errorf("%+v", r)
		}
		p, err := g.Settle(r, Answer{Decision: Once})
		pol := mustPolicy(t, p, err, a)
		if !pol.JudgeHost(manual).Allowed || pol.JudgeHost(other).Allowed {
			t.Errorf("once opened %+v", pol.Network)
		}
		if mustAsk(t, g, a) == nil {
			t.Error("once was remembered")
		}
	}
}

// A grant to fetches allows nothing to commands; what commands may reach, fetches may too.
func TestASessionOfFetchesOpensNothingToCommands(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := fetch("docs.example:443")
	if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	p, r, err := g.Decide(a)
	if r != nil {
		t.Fatal("asked again")
	}
	if pol := mustPolicy(t, p, err, a); !pol.JudgeHost(manual).Allowed || pol.JudgeHost(other).Allowed {
		t.Errorf("the fetch may reach %+v", pol.Network)
	}
	if g.Base().Network.Mode != sandbox.NetworkDeny {
		t.Errorf("commands may reach %+v", g.Base().Network)
	}
	mustAsk(t, g, fetch("docs.example:80"))

	h := newGate(OnRequest, confined(), func(o *Options) { o.GrantsHosts = true })
	c := command("curl", Wish{Hosts: []string{"docs.example:443"}})
	if _, err := h.Settle(mustAsk(t, h, c), Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if _, r, err := h.Decide(a); r != nil || err != nil {
		t.Errorf("a host open to commands: %v %v", r, err)
	}
}

// Under untrusted an open network replaces no question; an answer for the session does.
func TestUntrustedAsksOncePerHost(t *testing.T) {
	full := confined()
	full.Network.Mode = sandbox.NetworkFull
	for name, base := range map[string]sandbox.Policy{"no network": confined(), "full network": full, "no sandbox": sandbox.FullAccess()} {
		g := newGate(Untrusted, base)
		a := fetch("docs.example:443")
		r := mustAsk(t, g, a)
		if len(r.Grant.Hosts) != 1 || r.Grant.Hosts[0] != manual {
			t.Errorf("%s: asked for %+v", name, r.Grant)
		}
		p, err := g.Settle(r, Answer{Decision: Session})
		if pol := mustPolicy(t, p, err, a); !pol.JudgeHost(manual).Allowed {
			t.Errorf("%s: yes opened nothing", name)
		}
		if _, r, err := g.Decide(a); r != nil || err != nil {
			t.Errorf("%s: asked again: %v %v", name, r, err)
		}
		mustAsk(t, g, fetch("other.example:443"))
	}
}

func TestAFetchAsksForOneHostAlone(t *testing.T) {
	for _, base := range []sandbox.Policy{confined(), sandbox.FullAccess()} {
		for _, w := range []Wish{
			{}, {Hosts: []string{"a:1", "b:1"}}, {Hosts: []string{"a:1"}, Write: []string{"/x"}}, {Hosts: []string{"a:1"}, Read: []string{"/x"}},
			{Hosts: []string{"a:1"}, Sockets: []string{"/x"}}, {Hosts: []string{"a:1"}, Unsandboxed: true}, {Hosts: []string{"a"}}, {Hosts: []string{"0x7f.1:80"}},
		} {
			a := fetch("")
			a.Wish = w
			if p, r, err := newGate(OnRequest, base).Decide(a); decided(p, r, err) != "refuse" {
				t.Errorf("%+v: %s", w, decided(p, r, err))
			}
		}
	}
}

func TestAFetchFromNearbyIsSaidAloud(t *testing.T) {
	for host, want := range map[string]string{
		"127.0.0.1:80": "this machine", "localhost:80": "this machine", "LocalHost.:80": "this machine", "[::1]:80": "this machine", "0.0.0.0:80": "this machine",
		"[::]:80": "this machine", "[::ffff:127.0.0.1]:80": "this machine", "[64:ff9b::7f00:1]:80": "this machine",
		"169.254.169.254:80": "credentials", "[fe80::1]:80": "credentials", "[::ffff:a9fe:a9fe]:80": "credentials", "[64:ff9b::a9fe:a9fe]:80": "credentials",
		"10.0.0.1:80": "private network", "[fd00::1]:80": "private network", "100.64.0.1:80": "private network", "[::ffff:192.168.1.1]:80": "private network",
		"224.0.0.1:80": "not on the public internet", "[2002:7f00:1::]:80": "not on the public internet", "[100::1]:80": "not on the public internet",
		"example.com:80": "", "1.1.1.1:80": "", "[2606:4700::1111]:80": "", "[64:ff9b::1.1.1.1]:80": "",
	} {
		r := mustAsk(t, newGate(OnRequest, confined()), fetch(host))
		if got := strings.Join(r.Warnings, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", host, got)
		}
	}
}

// The hint allows exactly what was asked, also if no host can be granted to commands.
func TestARefusedFetchHasAHint(t *testing.T) {
	for _, grants := range []bool{true, false} {
		for _, mode := range []Mode{Never, OnRequest} {
			g := newGate(mode, confined(), func(o *Options) { o.GrantsHosts = grants })
			_, r, err := g.Decide(fetch("docs.example:443"))
			if r != nil {
				_, err = g.Settle(r, Answer{Decision: Unattended})
			}
			if refusal, ok := AsRefusal(err); !ok || refusal.Hint != "codeagent exec --allow-fetch docs.example:443 …" || refusal.Request == nil {
				t.Errorf("%s, grants %v: %+v", mode, grants, refusal)
			}
		}
	}
}

// What the settings allow to fetches is closed to commands, in every mode.
func TestHostsOfTheSettings(t *testing.T) {
	for _, mode := range Modes() {
		full := confined()
		full.Network.Mode = sandbox.NetworkFull
		for _, base := range []sandbox.Policy{confined(), full, sandbox.FullAccess()} {
			g := newGate(mode, base, func(o *Options) { o.Fetch = []sandbox.HostPort{manual} })
			a := fetch("docs.example:443")
			p, r, err := g.Decide(a)
			if r != nil {
				t.Fatalf("%s: asked", mode)
			}
			if pol := mustPolicy(t, p, err, a); !pol.JudgeHost(manual).Allowed || !slices.Contains(pol.Network.Hosts, manual) {
				t.Errorf("%s: not open by its name: %+v", mode, pol.Network)
			}
			if !base.Unconfined && base.Network.Mode != sandbox.NetworkFull && g.Base().Network.Mode != sandbox.NetworkDeny {
				t.Errorf("%s: commands may reach %+v", mode, g.Base().Network)
			}
		}
	}
}
