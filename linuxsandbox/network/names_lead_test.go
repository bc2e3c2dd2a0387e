//go:build linux

package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// TestNamesLeadNowhereClose: the owner of an allowed name makes it lead to a server on this
// machine. Without the check that server is reached; with it, only if the address itself is
// allowed.
func TestNamesLeadNowhereClose(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	page := serveHost(t, "127.77.0.1:0")
	name, at := fmt.Sprintf("name.example:%d", page.Port()), page.String()
	leads := "name.example leads to 127.77.0.1, an address of this machine; allow " + at + " itself to reach it"
	get := fmt.Sprintf("curl -sS -m 60 http://%s || echo failed", name)
	base := th.Policy
	for _, answer := range []string{"127.77.0.1", "::ffff:127.77.0.1"} {
		for _, c := range []struct {
			name    string
			hosts   []string
			off     bool // the check
			reached bool
		}{
			{"without the defence", []string{name}, true, true},
			{"by name alone", []string{name}, false, false},
			{"another port of the address", []string{name, "127.77.0.1:1"}, false, false},
			{"another address", []string{name, fmt.Sprintf("127.77.0.2:%d", page.Port())}, false, false},
			{"the address too", []string{name, at}, false, true},
		} {
			th.Policy = backendtest.Allowing(t, base, c.hosts...)
			th.NamesOf(t, c.off, map[string]netip.Addr{"name.example": netip.MustParseAddr(answer)})
			out, denials := th.Shell(t, get)
			if reached := strings.Contains(out, "the host's page"); reached != c.reached || reached == strings.Contains(out, "failed\n") {
				t.Errorf("%s, %s: %q", answer, c.name, out)
			}
			told := slices.ContainsFunc(denials, func(d sandbox.Denial) bool {
				return d.Kind == sandbox.KindNetwork && d.Target == at && d.Requested == name && d.Note == leads
			})
			if told == c.reached {
				t.Errorf("%s, %s: refused %+v", answer, c.name, denials)
			}
		}
	}
}

// TestHeldNamesLeadNowhereClose: approving a name does not open a local address to which it leads.
// The question is about the address, and says which name led there.
func TestHeldNamesLeadNowhereClose(t *testing.T) {
	page := serveHost(t, "127.77.0.1:0")
	name, at := fmt.Sprintf("name.example:%d", page.Port()), page.String()
	for _, c := range []struct {
		name    string
		grants  []string
		reached bool
	}{{"the name", []string{name}, false}, {"both", []string{name, at}, true}} {
		th := backendtest.NetworkTheatre(t)
		th.NamesOf(t, false, map[string]netip.Addr{"name.example": page.Addr()})
		a := granting(t, c.grants...)
		_, out, _ := th.Held(t, a, "curl -sS -m 60 http://"+name+" || echo failed")
		if strings.Contains(out, "the host's page") != c.reached || !slices.Equal(a.Targets(), []string{"name.example", at}) {
			t.Errorf("%s granted: %q, asked %q", c.name, out, a.Targets())
		}
		if d := a.Asked[len(a.Asked)-1]; !strings.HasPrefix(d.Note, "name.example leads to 127.77.0.1, ") {
			t.Errorf("%+v", d)
		}
	}
}

// TestReboundNamesLeadNowhereClose: a name leads elsewhere a moment after it was judged. The
// dialled address counts.
func TestReboundNamesLeadNowhereClose(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	page := serveHost(t, "127.77.0.1:0")
	asked := 0
	th.Names(t).Set(func(_ context.Context, network, _ string) ([]netip.Addr, error) {
		if network != "ip4" {
			return nil, nil
		}
		if asked++; asked == 1 {
			return []netip.Addr{netip.MustParseAddr("1.1.1.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.77.0.1")}, nil
	}, false)
	th.Policy = backendtest.Allowing(t, th.Policy, fmt.Sprintf("name.example:%d", page.Port()))
	out, _ := th.Shell(t, fmt.Sprintf("getent ahostsv4 name.example; curl -4 -sS -m 60 http://name.example:%d || echo failed", page.Port()))
	if asked < 2 || !strings.HasSuffix(out, "failed\n") {
		t.Errorf("looked up %d times: %q", asked, out)
	}
}
