//go:build linux

package linuxsandbox

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/sandbox"
)

// granting grants these hosts if the question is about one of them, or about its name.
func granting(t *testing.T, hosts ...string) *asker {
	t.Helper()
	return &asker{answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
		for _, text := range hosts {
			h, err := sandbox.ParseHostPort(text)
			if err != nil {
				t.Error(err)
			}
			if d.Kind == sandbox.KindNetwork && (d.Target == text || d.Target == h.Host) {
				return sandbox.Grant{Hosts: []sandbox.HostPort{h}}, true
			}
		}
		return sandbox.Grant{}, false
	}}
}

// TestHeldConnections: after one question for the name and the port, a program that waits can use
// what was granted, and nothing else.
func TestHeldConnections(t *testing.T) {
	th := ownNetworkTheatre(t)
	open, shut := serveHost(t, "127.77.0.1:0"), serveHost(t, "127.77.0.1:0")
	for _, row := range fetching {
		t.Run(row.program, func(t *testing.T) {
			attack.Need(t, row.program)
			for _, host := range []string{"name.example", "127.77.0.1"} {
				th := ownNetworkTheatre(t) // it knows no names yet
				th.namesOf(t, true, map[string]netip.Addr{"name.example": open.Addr()})
				at, other := fmt.Sprintf("%s:%d", host, open.Port()), fmt.Sprintf("%s:%d", host, shut.Port())
				get := func(at string) string {
					return "export URL=http://" + at + "; (" + row.script + ") && echo passed || echo failed; "
				}
				a := granting(t, at)
				_, out, denials := th.held(t, a, get(at)+get(at)+get(other))
				if strings.Count(out, "the host's page") != 2 || strings.Count(out, "passed\n") != 2 || !strings.HasSuffix(out, "failed\n") {
					t.Errorf("%s granted: %q", at, out)
				}
				want := []string{at, other}
				if host == "name.example" {
					want[0] = host // including the port
				}
				if got := a.targets(); !slices.Equal(got, want) {
					t.Errorf("asked for %q, want %q", got, want)
				}
				if got := targetsOf(denials); !slices.Equal(got, []string{"connect " + other + " ECONNREFUSED"}) {
					t.Errorf("refused %q", got)
				}
			}
		})
	}
	for _, host := range []string{"name.example", "127.77.0.1"} {
		at := fmt.Sprintf("%s:%d", host, open.Port())
		a := &asker{answer: no}
		_, out, denials := th.held(t, a, "curl -sS http://"+at+" || echo failed; curl -sS http://"+at+" || echo failed")
		if strings.Count(out, "failed\n") != 2 || len(a.targets()) != 1 || len(denials) != 1 || denials[0].Count < 2 {
			t.Errorf("%s denied: %q, asked %q, %+v", at, out, a.targets(), denials)
		}
	}
}

// TestSlowAnswers: a user may take longer to answer than libraries wait for a datagram.
func TestSlowAnswers(t *testing.T) {
	machine.Turn(t, 0) // it takes as long as a library's patience
	th := ownNetworkTheatre(t)
	page := serveHost(t, "127.77.0.1:0")
	th.namesOf(t, true, map[string]netip.Addr{"name.example": page.Addr()})
	at := fmt.Sprintf("name.example:%d", page.Port())
	quick := granting(t, at)
	slow := &asker{answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
		time.Sleep(12 * time.Second)
		return quick.answer(ctx, d)
	}}
	st, out, denials := th.held(t, slow, "curl -sS http://"+at)
	if st.Exit != 0 || !strings.Contains(out, "the host's page") || len(denials) > 0 || len(slow.targets()) != 1 {
		t.Errorf("%+v: %q, asked %q, %+v", st, out, slow.targets(), denials)
	}
}
