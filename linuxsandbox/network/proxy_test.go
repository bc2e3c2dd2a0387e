//go:build linux

package network

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// fakeProxy is a proxy for tunnels. It leads name.example to a server and refuses all other hosts.
type fakeProxy struct {
	at    netip.AddrPort
	mu    sync.Mutex
	asked []string // the heads of requests
}

func newFakeProxy(t *testing.T, to netip.AddrPort) *fakeProxy {
	t.Helper()
	l, err := net.Listen("tcp4", "127.77.0.9:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &fakeProxy{at: netip.MustParseAddrPort(l.Addr().String())}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c, to)
		}
	}()
	return p
}

func (p *fakeProxy) serve(c net.Conn, to netip.AddrPort) {
	defer c.Close()
	r := bufio.NewReader(c)
	var head []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		head = append(head, line)
	}
	p.mu.Lock()
	p.asked = append(p.asked, strings.Join(head, "|"))
	p.mu.Unlock()
	if !strings.HasPrefix(head[0], "CONNECT name.example:") {
		fmt.Fprint(c, "HTTP/1.1 403 Forbidden\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
		return
	}
	out, err := net.Dial("tcp", to.String())
	if err != nil {
		return
	}
	defer out.Close()
	// A host may speak first: its words come with the head of the answer.
	first := make([]byte, 99)
	_ = out.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	n, _ := out.Read(first)
	_ = out.SetReadDeadline(time.Time{})
	fmt.Fprintf(c, "HTTP/1.1 200 Connection established\r\nX-Other: words\r\n\r\n%s", first[:n])
	go func() { _, _ = io.Copy(out, r); _ = out.(*net.TCPConn).CloseWrite() }()
	_, _ = io.Copy(c, out)
}

// TestProxies: where the environment names a proxy, programs reach an allowed host through it without knowing,
// under a name that only the proxy knows. What is not allowed does not get to the proxy, and a host that the
// proxy refuses is refused.
func TestProxies(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	l, err := net.Listen("tcp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go greet(l, "host")
	proxy, greeter := newFakeProxy(t, serveHost(t, "127.77.0.1:0")), newFakeProxy(t, netip.MustParseAddrPort(l.Addr().String()))
	through := func(p *fakeProxy) {
		th.Names(t).SetProxy(func(h sandbox.HostPort) (*url.URL, error) {
			if strings.HasSuffix(h.Host, ".example") {
				return &url.URL{Scheme: "http", User: url.UserPassword("ada", "secret"), Host: p.at.String()}, nil
			}
			return nil, nil
		})
	}
	through(proxy)
	th.Policy = backendtest.Allowing(t, th.Policy, "name.example:8080", "refused.example:8080")
	for _, row := range fetching {
		t.Run(row.program, func(t *testing.T) {
			if _, err := exec.LookPath(row.program); err != nil {
				t.Skip(err)
			}
			for _, at := range []struct{ host, says string }{{"name.example:8080", "passed"}, {"refused.example:8080", "failed"}, {"other.example:8080", "failed"}} {
				out, denials := th.Shell(t, "export URL=http://"+at.host+"; ("+row.script+") && echo passed || echo failed")
				if !strings.HasSuffix(out, at.says+"\n") || (at.says == "passed") != strings.Contains(out, "the host's page") || (at.host == "other.example:8080") != (len(denials) > 0) {
					t.Errorf("%s: %q, refused %q", at.host, out, targetsOf(denials))
				}
			}
		})
	}
	proxy.mu.Lock()
	defer proxy.mu.Unlock()
	slices.Sort(proxy.asked)
	want := []string{
		"CONNECT name.example:8080 HTTP/1.1|Host: name.example:8080|Proxy-Authorization: Basic YWRhOnNlY3JldA==",
		"CONNECT refused.example:8080 HTTP/1.1|Host: refused.example:8080|Proxy-Authorization: Basic YWRhOnNlY3JldA==",
	}
	if got := slices.Compact(proxy.asked); !slices.Equal(got, want) {
		t.Errorf("the proxy was asked %q, want %q", got, want)
	}
	if text, _ := th.Python(t, `
at = socket.getaddrinfo("name.example", 8080)[0][4][0]
for f in lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (at, 8080)), lambda: socket.create_connection((at, 0)):
    try: f(); print("sent")
    except OSError as e: print("refused")`); text != "refused\nrefused\n" && !sandboxtest.HasLayer(t, th.Backend, "netns") {
		t.Errorf("past the proxy: %q", text)
	}
	through(greeter)
	if _, out := sandboxtest.Output(t, th.Backend, th.Policy, netVictimCommand("dial name.example:8080")); out != "host <nil>\n" {
		t.Errorf("a host that speaks first: %q", out)
	}
	through(&fakeProxy{at: netip.MustParseAddrPort("127.77.0.9:1")})
	if out, _ := th.Shell(t, "curl -sS http://name.example:8080 || echo failed"); !strings.HasSuffix(out, "failed\n") {
		t.Errorf("a proxy that is not there: %q", out)
	}
}
