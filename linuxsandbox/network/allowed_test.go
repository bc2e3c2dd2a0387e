//go:build linux

package network

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"
)

// serveHost serves a page on the host and returns the address.
func serveHost(t *testing.T, at string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			fmt.Fprintf(w, "the host's page, %d bytes came\n", len(body))
		}
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return netip.MustParseAddrPort(l.Addr().String())
}

// fetching are programs that fetch a page, and fail if they do not get it. node waits ten seconds,
// which may be too short on a loaded machine.
var fetching = []struct{ program, script string }{
	{"curl", `curl -sS -m 120 $URL`},
	{"curl", `head -c 3000000 /dev/zero > big; curl -sS -m 120 --data-binary @big $URL`},
	{"wget", `wget -q -T 120 -O- $URL`},
	{"python3", `python3 -c 'import os, urllib.request; print(urllib.request.urlopen(os.environ["URL"], timeout=120).read().decode())'`},
	{"python3", `python3 -c 'import asyncio, os, urllib.parse
async def get():
    u = urllib.parse.urlparse(os.environ["URL"]); r, w = await asyncio.open_connection(u.hostname, u.port); w.write(b"GET / HTTP/1.0\r\n\r\n"); print((await r.read()).decode())
asyncio.run(get())'`},
	{"node", `node -e 'const get = () => fetch(process.env.URL).catch(e => { if (e.cause?.code !== "UND_ERR_CONNECT_TIMEOUT") throw e; return get() })
get().then(async r => console.log(await r.text())).catch(e => { console.log(e); process.exit(3) })'`},
	{"bash", `bash -ec 'hp=${URL#http://}; exec 3<>/dev/tcp/${hp%:*}/${hp##*:}; printf "GET / HTTP/1.0\r\n\r\n" >&3; cat <&3'`},
	{"perl", `perl -MIO::Socket::INET -e '$u = substr($ENV{URL}, 7); $s = IO::Socket::INET->new($u) or die $@; print $s "GET / HTTP/1.0\r\n\r\n"; print <$s>'`},
}

// TestAllowedHosts: ordinary programs reach what the policy names, under the name and the address.
// They reach no other port and no other name.
func TestAllowedHosts(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	open, shut := serveHost(t, "127.77.0.1:0"), serveHost(t, "127.77.0.1:0")
	th.NamesOf(t, true, map[string]netip.Addr{"name.example": open.Addr(), "other.example": open.Addr()})
	base := th.Policy
	for _, row := range fetching {
		t.Run(row.program, func(t *testing.T) {
			attack.Need(t, row.program)
			for _, h := range []struct{ allowed, asked, refused string }{
				{"name.example:%[1]d", "name.example:%[1]d", ""},
				{"127.77.0.1:%[1]d", "127.77.0.1:%[1]d", ""},
				{"name.example:%[1]d", "name.example:%[2]d", "connect name.example:%[2]d ECONNREFUSED"},
				{"name.example:%[1]d", "other.example:%[1]d", "lookup other.example "},
				{"127.77.0.1:%[1]d", "127.77.0.1:%[2]d", "connect %[3]s:%[2]d ECONNREFUSED"},
			} {
				f := func(s string) string {
					last, _, _ := strings.Cut(backendtest.Network(th.Backend).Unreached(&resolved.Policy{}, open).Target, ":")
					return strings.Split(fmt.Sprintf(s+"\x00%[1]d%[2]d%[3]s", open.Port(), shut.Port(), last), "\x00")[0]
				}
				th.Policy = backendtest.Allowing(t, base, f(h.allowed))
				out, denials := th.Shell(t, "export URL=http://"+f(h.asked)+"; ("+row.script+") && echo passed || echo failed")
				got := targetsOf(denials)
				if h.refused == "" {
					if !strings.Contains(out, "the host's page") || !strings.HasSuffix(out, "passed\n") || len(got) > 0 {
						t.Errorf("%s allowed: %q, refused %q", f(h.asked), out, got)
					}
					continue
				}
				if strings.Contains(out, "the host's page") || !strings.HasSuffix(out, "failed\n") || !slices.Contains(got, f(h.refused)) {
					t.Errorf("%s is not allowed: %q, refused %q, want %q", f(h.asked), out, got, f(h.refused))
				}
			}
		})
	}
}

// TestAllowedToGo: Go's own resolver and sockets work. They wait for events that they registered
// before the sockets were connected.
func TestAllowedToGo(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	l, err := net.Listen("tcp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go greet(l, "host")
	at := netip.MustParseAddrPort(l.Addr().String())
	th.NamesOf(t, true, map[string]netip.Addr{"name.example": at.Addr()})
	name := fmt.Sprintf("name.example:%d", at.Port())
	p := backendtest.Allowing(t, th.Policy, name)
	if st, out := sandboxtest.Output(t, th.Backend, p, netVictimCommand("dial "+name)); st.Exit != 0 || out != "host <nil>\n" {
		t.Errorf("%+v %q", st, out)
	}
	if _, out := sandboxtest.Output(t, th.Backend, p, netVictimCommand("dial other.example:80")); !strings.Contains(out, "no such host") {
		t.Errorf("another name: %q", out)
	}
}

// TestOwnServerComesFirst: a server in the session is reached even though the host's server at the
// same address is allowed.
func TestOwnServerComesFirst(t *testing.T) {
	th := backendtest.OwnNetworkTheatre(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go greet(l, "host")
	at := l.Addr().String()
	p := backendtest.Allowing(t, th.Policy, at)
	dial := func() string {
		_, out := sandboxtest.Output(t, th.Backend, p, netVictimCommand("dial "+at))
		return strings.TrimSpace(out)
	}
	if got := dial(); got != "host <nil>" {
		t.Errorf("before: %q", got)
	}
	stop := startServer(t, th.Backend, at)
	if got := dial(); got != "inside <nil>" {
		t.Errorf("while it is served: %q", got)
	}
	stop()
	if got := dial(); got != "host <nil>" {
		t.Errorf("after: %q", got)
	}
}

// TestNamesOfThisMachine: the owner of a name cannot make it lead to a server on this machine.
func TestNamesOfThisMachine(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	page := serveHost(t, "127.0.0.1:0")
	th.NamesOf(t, false, map[string]netip.Addr{"name.example": page.Addr()})
	th.Policy = backendtest.Allowing(t, th.Policy, fmt.Sprintf("name.example:%d", page.Port()))
	out, denials := th.Shell(t, fmt.Sprintf("curl -sS http://name.example:%d || echo failed; curl -sS http://127.0.0.1:%d || echo failed", page.Port(), page.Port()))
	if got := targetsOf(denials); strings.Contains(out, "the host's page") || strings.Count(out, "failed\n") != 2 ||
		!slices.Equal(got, []string{"connect " + page.String() + " ECONNREFUSED"}) {
		t.Errorf("%q, refused %q", out, got)
	}
	th.Policy = backendtest.Allowing(t, th.Policy, fmt.Sprintf("localhost:%d", page.Port()))
	if out, _ := th.Shell(t, fmt.Sprintf("curl -sS http://localhost:%d", page.Port())); !strings.Contains(out, "the host's page") {
		t.Errorf("localhost: %q", out)
	}
}
