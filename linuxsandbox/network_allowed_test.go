//go:build linux

package linuxsandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"
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

// allowing returns p with these hosts allowed.
func allowing(t *testing.T, p sandbox.Policy, hosts ...string) sandbox.Policy {
	t.Helper()
	p = p.Clone()
	p.Network = sandbox.Network{Mode: sandbox.NetworkAllow}
	for _, h := range hosts {
		host, err := sandbox.ParseHostPort(h)
		if err != nil {
			t.Fatal(err)
		}
		p.Network.Hosts = append(p.Network.Hosts, host)
	}
	return p
}

// fakeNames are the names that a test's backend looks up on the host.
type fakeNames struct {
	mu     sync.Mutex
	lookup LookupFunc
	// anywhere lets names lead to this machine.
	anywhere bool
}

// fakes maps each backend of newBackend to its fakeNames.
var fakes sync.Map

func (f *fakeNames) set(lookup LookupFunc, anywhere bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookup, f.anywhere = lookup, anywhere
}

func (f *fakeNames) find(ctx context.Context, network, host string) ([]netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lookup == nil {
		return nil, nil
	}
	return f.lookup(ctx, network, host)
}

func (f *fakeNames) closed(h sandbox.HostPort, a netip.Addr, named func(sandbox.HostPort) bool) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.anywhere {
		return ""
	}
	return h.ClosedTo(a, netns.HostHas, named)
}

// names returns the names that the theatre's backend looks up.
func (th *theatre) names(t *testing.T) *fakeNames {
	t.Helper()
	f, ok := fakes.Load(th.b)
	if !ok {
		t.Fatal("this backend has no names")
	}
	return f.(*fakeNames)
}

// namesOf gives names their addresses. anywhere also allows loopback addresses, which outside tests
// no name may have.
func (th *theatre) namesOf(t *testing.T, anywhere bool, names map[string]netip.Addr) {
	t.Helper()
	th.names(t).set(func(_ context.Context, network, host string) ([]netip.Addr, error) {
		addr, ok := names[host]
		if !ok || addr.Is4() != (network == "ip4") {
			return nil, &net.DNSError{Name: host, IsNotFound: true}
		}
		return []netip.Addr{addr}, nil
	}, anywhere)
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
	th := ownNetworkTheatre(t)
	open, shut := serveHost(t, "127.77.0.1:0"), serveHost(t, "127.77.0.1:0")
	th.namesOf(t, true, map[string]netip.Addr{"name.example": open.Addr(), "other.example": open.Addr()})
	base := th.policy
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
					last, _, _ := strings.Cut(th.b.brokers.Net.Unreached(&resolved.Policy{}, open).Target, ":")
					return strings.Split(fmt.Sprintf(s+"\x00%[1]d%[2]d%[3]s", open.Port(), shut.Port(), last), "\x00")[0]
				}
				th.policy = allowing(t, base, f(h.allowed))
				out, denials := th.shell(t, "export URL=http://"+f(h.asked)+"; ("+row.script+") && echo passed || echo failed")
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
	th := ownNetworkTheatre(t)
	l, err := net.Listen("tcp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go greet(l, "host")
	at := netip.MustParseAddrPort(l.Addr().String())
	th.namesOf(t, true, map[string]netip.Addr{"name.example": at.Addr()})
	name := fmt.Sprintf("name.example:%d", at.Port())
	p := allowing(t, th.policy, name)
	if st, out := sandboxtest.Output(t, th.b, p, netVictimCommand("dial "+name)); st.Exit != 0 || out != "host <nil>\n" {
		t.Errorf("%+v %q", st, out)
	}
	if _, out := sandboxtest.Output(t, th.b, p, netVictimCommand("dial other.example:80")); !strings.Contains(out, "no such host") {
		t.Errorf("another name: %q", out)
	}
}

// TestOwnServerComesFirst: a server in the session is reached even though the host's server at the
// same address is allowed.
func TestOwnServerComesFirst(t *testing.T) {
	th := ownNetworkTheatre(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go greet(l, "host")
	at := l.Addr().String()
	p := allowing(t, th.policy, at)
	dial := func() string {
		_, out := sandboxtest.Output(t, th.b, p, netVictimCommand("dial "+at))
		return strings.TrimSpace(out)
	}
	if got := dial(); got != "host <nil>" {
		t.Errorf("before: %q", got)
	}
	stop := startServer(t, th.b, at)
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
	th := ownNetworkTheatre(t)
	page := serveHost(t, "127.0.0.1:0")
	th.namesOf(t, false, map[string]netip.Addr{"name.example": page.Addr()})
	th.policy = allowing(t, th.policy, fmt.Sprintf("name.example:%d", page.Port()))
	out, denials := th.shell(t, fmt.Sprintf("curl -sS http://name.example:%d || echo failed; curl -sS http://127.0.0.1:%d || echo failed", page.Port(), page.Port()))
	if got := targetsOf(denials); strings.Contains(out, "the host's page") || strings.Count(out, "failed\n") != 2 ||
		!slices.Equal(got, []string{"connect " + page.String() + " ECONNREFUSED"}) {
		t.Errorf("%q, refused %q", out, got)
	}
	th.policy = allowing(t, th.policy, fmt.Sprintf("localhost:%d", page.Port()))
	if out, _ := th.shell(t, fmt.Sprintf("curl -sS http://localhost:%d", page.Port())); !strings.Contains(out, "the host's page") {
		t.Errorf("localhost: %q", out)
	}
}
