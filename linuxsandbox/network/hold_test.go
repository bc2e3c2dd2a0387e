//go:build linux

package network

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// granting grants these hosts if the question is about one of them, or about its name.
func granting(t *testing.T, hosts ...string) *backendtest.Asker {
	t.Helper()
	return &backendtest.Asker{Answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
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
	th := backendtest.NetworkTheatre(t)
	open, shut := serveHost(t, "127.77.0.1:0"), serveHost(t, "127.77.0.1:0")
	for _, row := range fetching {
		t.Run(row.program, func(t *testing.T) {
			attack.Need(t, row.program)
			for _, host := range []string{"name.example", "127.77.0.1"} {
				th := backendtest.NetworkTheatre(t) // it knows no names yet
				th.NamesOf(t, true, map[string]netip.Addr{"name.example": open.Addr()})
				at, other := fmt.Sprintf("%s:%d", host, open.Port()), fmt.Sprintf("%s:%d", host, shut.Port())
				get := func(at string) string {
					return "export URL=http://" + at + "; (" + row.script + ") && echo passed || echo failed; "
				}
				a := granting(t, at)
				_, out, denials := th.Held(t, a, get(at)+get(at)+get(other))
				if strings.Count(out, "the host's page") != 2 || strings.Count(out, "passed\n") != 2 || !strings.HasSuffix(out, "failed\n") {
					t.Errorf("%s granted: %q", at, out)
				}
				want := []string{at, other}
				if host == "name.example" {
					want[0] = host // including the port
				}
				if got := a.Targets(); !slices.Equal(got, want) {
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
		a := &backendtest.Asker{Answer: backendtest.No}
		_, out, denials := th.Held(t, a, "curl -sS http://"+at+" || echo failed; curl -sS http://"+at+" || echo failed")
		if strings.Count(out, "failed\n") != 2 || len(a.Targets()) != 1 || len(denials) != 1 || denials[0].Count < 2 {
			t.Errorf("%s denied: %q, asked %q, %+v", at, out, a.Targets(), denials)
		}
	}
}

// TestSlowAnswers: a user may take longer to answer than libraries wait for a datagram.
func TestSlowAnswers(t *testing.T) {
	machine.Turn(t, 0) // it takes as long as a library's patience
	th := backendtest.NetworkTheatre(t)
	page := serveHost(t, "127.77.0.1:0")
	th.NamesOf(t, true, map[string]netip.Addr{"name.example": page.Addr()})
	at := fmt.Sprintf("name.example:%d", page.Port())
	quick := granting(t, at)
	slow := &backendtest.Asker{Answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
		time.Sleep(12 * time.Second)
		return quick.Answer(ctx, d)
	}}
	st, out, denials := th.Held(t, slow, "curl -sS http://"+at)
	if st.Exit != 0 || !strings.Contains(out, "the host's page") || len(denials) > 0 || len(slow.Targets()) != 1 {
		t.Errorf("%+v: %q, asked %q, %+v", st, out, slow.Targets(), denials)
	}
}

// TestHeldSockets: after a yes the command connects to that socket of the host, and to no other; a
// socket is also created outside.
func TestHeldSockets(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		away := filepath.Dir(th.Out)
		granted, other := filepath.Join(away, "granted"), filepath.Join(away, "other")
		came, cameOther := servePath(t, granted), servePath(t, other)
		a := &backendtest.Asker{Answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			switch d.Target {
			case granted:
				return sandbox.Grant{Sockets: []string{d.Target}}, true
			case away + "/mine":
				return sandbox.Grant{Write: []string{d.Target}}, true
			}
			return sandbox.Grant{}, false
		}}
		_, text, denials := th.Ask(t, a, sandbox.Command{Path: attack.Need(t, "python3"), Env: th.Env("", away), Args: []string{"python3", "-c", `
import os, socket
os.chdir(os.environ["TARGET"])
for n in ["granted", "other", "granted"]:
    c = socket.socket(socket.AF_UNIX)
    try: c.connect(n); print(c.recv(99))
    except OSError as e: print(e.strerror)
for n in ["mine", "yours"]:
    l = socket.socket(socket.AF_UNIX)
    try: l.bind(n); l.listen(1); c = socket.socket(socket.AF_UNIX); c.connect(n); print("bound")
    except OSError as e: print(e.strerror)`}})
		const host, refused = "b'from the host'\n", "Operation not permitted\n"
		if want := host + refused + host + "bound\n" + refused; text != want || came() != 2 || cameOther() != 0 || len(denials) != 2 {
			t.Errorf("%q, want %q; %+v", text, want, denials)
		}
		if want := []string{granted, other, away + "/mine", away + "/yours"}; !slices.Equal(a.Targets(), want) {
			t.Errorf("asked for %q, want %q", a.Targets(), want)
		}
	})
}

// TestHeldSocketsSettings runs TestHeldSockets in every setting.
func TestHeldSocketsSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI it runs in this setting, and as a user
	tests.InSettings(t, "^TestHeldSockets$")
}
