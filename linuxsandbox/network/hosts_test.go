//go:build linux

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// TestHostPatterns: each form of an allowed host opens what it says, and deny_hosts closes it again, by the
// name and by the address that is dialled. No question is asked about what is denied.
func TestHostPatterns(t *testing.T) {
	page := serveHost(t, "127.77.0.1:0")
	port := fmt.Sprint(page.Port())
	for _, c := range []struct {
		allowed, denied, asked string
		reached                bool
		why                    string // of the denial, with its target
	}{
		{"*.example.com:PORT", "", "a.b.example.com", true, ""},
		{"*.example.com:PORT", "", "example.com", false, "example.com"},
		{"*.example.com:PORT", "", "127.77.0.1", false, "127.77.0.1:PORT"},
		{"*.example.com:1", "", "a.b.example.com", false, "a.b.example.com:PORT"},
		{"127.77.0.0/16:PORT", "", "127.77.0.1", true, ""},
		{"0.0.0.0/0:PORT", "", "127.77.0.1", false, "127.77.0.1:PORT"},
		{"127.78.0.0/16:PORT", "", "127.77.0.1", false, "127.77.0.1:PORT"},
		{"a.b.example.com:PORT", "*.example.com", "a.b.example.com", false, "a.b.example.com deny_hosts names it (*.example.com)"},
		{"a.b.example.com:PORT", "*.example.com:PORT", "a.b.example.com", false, "a.b.example.com:PORT deny_hosts names it (*.example.com:PORT)"},
		{"a.b.example.com:PORT", "*.example.com:1", "a.b.example.com", true, ""},
		{"a.b.example.com:PORT", "127.77.0.0/16", "a.b.example.com", false, "127.77.0.1:PORT deny_hosts names it (127.77.0.0/16)"},
		{"127.77.0.1:PORT", "127.0.0.0/8:PORT", "127.77.0.1", false, "127.77.0.1:PORT deny_hosts names it (127.0.0.0/8:PORT)"},
		{"127.77.0.1:PORT", "127.77.0.1", "127.77.0.1", false, "127.77.0.1:PORT deny_hosts names it (127.77.0.1)"},
	} {
		with := func(s string) string { return strings.ReplaceAll(s, "PORT", port) }
		th := backendtest.NetworkTheatre(t) // it knows no names yet
		th.NamesOf(t, true, map[string]netip.Addr{"a.b.example.com": page.Addr(), "example.com": page.Addr()})
		th.Policy = backendtest.Allowing(t, th.Policy, with(c.allowed))
		if c.denied != "" {
			h, err := sandbox.ParsePattern(with(c.denied))
			if err != nil {
				t.Fatal(err)
			}
			th.Policy.Network.Deny = []sandbox.HostPort{h}
		}
		a := granting(t, with("a.b.example.com:PORT"), with("127.77.0.1:PORT"))
		if c.denied == "" {
			a.Answer = backendtest.No
		}
		_, out, denials := th.Held(t, a, with("curl -sS -m 60 http://"+c.asked+":PORT || echo failed"))
		if reached := strings.Contains(out, "the host's page"); reached != c.reached || reached == strings.HasSuffix(out, "failed\n") {
			t.Errorf("%+v: %q", c, out)
		}
		told := slices.ContainsFunc(denials, func(d sandbox.Denial) bool {
			return strings.TrimSpace(d.Target+" "+d.Why) == with(c.why)
		})
		if told == c.reached {
			t.Errorf("%+v: refused %+v", c, denials)
		}
		if c.denied != "" && len(a.Targets()) > 0 {
			t.Errorf("%+v: asked about %q", c, a.Targets())
		}
	}
}
