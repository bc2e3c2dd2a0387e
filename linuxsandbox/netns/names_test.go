//go:build linux

package netns

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

func TestHostNames(t *testing.T) {
	h := newHostNames("10.0.0.9 Db.Example db # the database\n::ffff:10.0.0.8 mapped\nnonsense x\n")
	if got := h.all(netip.MustParseAddr("10.0.0.9")); !slices.Equal(got, []string{"db.example", "db"}) {
		t.Errorf("%q", got)
	}
	if got := h.all(netip.MustParseAddr("10.0.0.8")); !slices.Equal(got, []string{"mapped"}) {
		t.Errorf("%q", got)
	}
	if got := h.all(netip.IPv6Loopback()); !slices.Equal(got, []string{"localhost"}) {
		t.Errorf("%q", got)
	}
	at := netip.MustParseAddr("192.0.2.1")
	for i := range 3 * maxNamesEach {
		h.add(at, fmt.Sprint("n", i))
	}
	h.add(at, fmt.Sprint("n", 3*maxNamesEach-2))
	if got := h.all(at); len(got) != maxNamesEach || h.last(at) != fmt.Sprint("n", 3*maxNamesEach-2) {
		t.Errorf("%q", got)
	}
	for i := range 2 * maxHostNames {
		h.add(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), "n")
	}
	if len(h.list) > maxHostNames {
		t.Errorf("%d addresses", len(h.list))
	}
}

// TestMayReachByName checks names that lead to addresses of every kind.
func TestMayReachByName(t *testing.T) {
	n := &Network{names: newNameService(resolvConf{}, Outside{Hosts: "10.0.0.9 written.example\n"})}
	declared := sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkAllow}}
	for _, text := range []string{"name.example:443", "written.example:443", "localhost:443", "10.0.0.8:443"} {
		h, err := sandbox.ParseHostPort(text)
		if err != nil {
			t.Fatal(err)
		}
		declared.Network.Hosts = append(declared.Network.Hosts, h)
	}
	exact := sandboxtest.Resolved(declared)
	p := &exact
	for _, c := range []struct {
		address string
		open    bool
	}{
		{"1.1.1.1", true}, {"2606:4700::1111", true},
		{"10.0.0.1", false}, {"172.16.0.1", false}, {"192.168.1.1", false}, {"100.64.0.1", false}, {"169.254.169.254", false}, {"127.0.0.2", false},
		{"224.0.0.1", false}, {"0.1.2.3", false}, {"fd00:ec2::254", false}, {"fe80::1", false}, {"ff02::1", false}, {"64:ff9b::a9fe:a9fe", false},
		{"64:ff9b:1::1", false}, {"2002:a00:1::", false}, {"2001::1", false}, {"::ffff:10.0.0.1", false}, {"198.18.0.1", false}, {"255.255.255.255", false},
		{"10.0.0.8", true}, // the policy names the address itself
		{"10.0.0.9", false},
	} {
		a := meant(netip.MustParseAddr(c.address))
		n.names.known.add(a, "name.example")
		if got := n.MayReach(p, netip.AddrPortFrom(a, 443)); got != c.open {
			t.Errorf("%s: reached %v", c.address, got)
		}
		if d := n.Unreached(p, netip.AddrPortFrom(a, 443)); (d.Note == "") != c.open {
			t.Errorf("%s: %+v", c.address, d)
		}
		if n.MayReach(p, netip.AddrPortFrom(a, 80)) {
			t.Errorf("%s: another port is reached", c.address)
		}
	}
	if !n.MayReach(p, netip.MustParseAddrPort("127.0.0.1:443")) {
		t.Error("localhost is not reached")
	}
}
