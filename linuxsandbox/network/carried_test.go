//go:build linux

package network

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// echo serves datagrams of the host at an address: it sends each back in capitals.
func echo(t *testing.T, at string) netip.AddrPort {
	t.Helper()
	p, err := net.ListenPacket("udp", at)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { p.Close() })
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = p.WriteTo([]byte(strings.ToUpper(string(buf[:n]))), from)
		}
	}()
	return netip.MustParseAddrPort(p.LocalAddr().String())
}

// hostAddress is an address of this machine that is not of the loopback.
func hostAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has only loopback addresses")
	return ""
}

const carriedTools = `
import struct, time
def say(f, *a):
    try: return f(*a)
    except OSError as e: return e.strerror
def udp(f=socket.AF_INET):
    s = socket.socket(f, socket.SOCK_DGRAM); s.settimeout(60); return s
`

// TestDatagramsOfAllowedHosts: datagrams reach an allowed host and come back from its very address, whatever way a program
// sends them; those of other sockets, to another port or address, do not.
func TestDatagramsOfAllowedHosts(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	base := th.Policy
	for _, at := range []string{"127.77.0.1:0", hostAddress(t) + ":0", "[::1]:0"} {
		yes, no := echo(t, at), echo(t, at)
		name := "quic.example"
		th.NamesOf(t, true, map[string]netip.Addr{name: yes.Addr()})
		family := "socket.AF_INET"
		if yes.Addr().Is6() {
			family = "socket.AF_INET6"
		}
		script := strings.NewReplacer("YES", fmt.Sprintf("(%q, %d)", yes.Addr(), yes.Port()), "NOADDR", fmt.Sprintf("(%q, %d)", no.Addr(), no.Port()), "FAMILY", family, "PORT", fmt.Sprint(yes.Port()), "ADDR", yes.Addr().String())
		for _, row := range []struct{ what, script, want string }{
			{"connected", `s = udp(FAMILY); s.connect(YES); print(s.getpeername()[:2] == YES, s.send(b"one"), s.recv(9), s.sendmsg([b"t", b"wo"]), s.recvfrom(9)[1][:2] == YES)`, "True 3 b'ONE' 3 True\n"},
			{"not connected", `s = udp(FAMILY); print(s.sendto(b"one", YES), s.recvfrom(9)[1][:2] == YES, s.sendmsg([b"two"], [], 0, YES), s.recv(9), s.sendto(b"", YES), s.recv(9))`, "3 True 3 b'TWO' 0 b''\n"},
			{"bound, and large", `s = udp(FAMILY); s.bind(("", 0)); s.sendto(b"x" * 9000, YES); print(len(s.recv(1 << 16)))`, "9000\n"},
			{"by name", `a = socket.getaddrinfo("quic.example", PORT, FAMILY, socket.SOCK_DGRAM)[0]; s = udp(a[0]); s.connect(a[4]); s.send(b"x"); print(s.recv(9))`, "b'X'\n"},
			{"many sockets", `
all = [udp(FAMILY) for _ in range(50)]
for i, s in enumerate(all): s.sendto(b"%d" % i, YES)
print(sum(s.recv(9) == b"%d" % i for i, s in enumerate(all)))`, "50\n"},
		} {
			th.Policy = backendtest.Allowing(t, base, fmt.Sprintf("%s:%d", name, yes.Port()), yes.String())
			if out, denials := th.Python(t, carriedTools+script.Replace(row.script)); out != row.want || len(denials) > 0 {
				t.Errorf("%s, %s: %q, want %q; %+v", at, row.what, out, row.want, denials)
			}
		}
		out, denials := th.Python(t, carriedTools+script.Replace(`
s = udp(FAMILY); s.connect(YES); s.send(b"x"); s.recv(9); print(say(s.sendto, b"x", NOADDR)); print(say(s.connect, NOADDR)); s = udp(FAMILY); s.sendto(b"x", YES); s.recv(9); print(say(s.sendto, b"x", NOADDR))`))
		refused := fmt.Sprintf("connect %s:%d", name, no.Port())
		if got := targetsOf(denials); strings.Contains(out, "None") || strings.Contains(out, "1") || len(got) != 2 || !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, refused) }) {
			t.Errorf("%s: %q, %q", at, out, got)
		}
		for _, d := range denials {
			if d.Kind != sandbox.KindNetwork || d.Why != "" {
				t.Errorf("%+v cannot be granted", d)
			}
		}
	}
}

// TestDatagramsHeld: a datagram that waits for an answer reaches the host after a yes.
func TestDatagramsHeld(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	yes, no := echo(t, "127.77.0.1:0"), echo(t, "127.77.0.1:0")
	script := strings.NewReplacer("YES", fmt.Sprint(yes.Port()), "NO", fmt.Sprint(no.Port())).Replace(carriedTools + `
s = udp(); print(s.sendto(b"one", ("127.77.0.1", YES)), s.recv(9)); s = udp(); s.connect(("127.77.0.1", YES)); s.send(b"two"); print(s.recv(9), say(udp().connect, ("127.77.0.1", NO)))`)
	a := granting(t, yes.String())
	_, out, denials := th.Ask(t, a, sandbox.Command{Path: attack.Need(t, "python3"), Args: []string{"python3", "-c", "import socket" + script}, Env: th.Env("", th.Out)})
	if out != "3 b'ONE'\nb'TWO' Connection refused\n" || !slices.Equal(a.Targets(), []string{yes.String(), no.String()}) || len(denials) != 1 {
		t.Errorf("%q, asked for %q, refused %+v", out, a.Targets(), denials)
	}
}

// TestPortOfAnother: what is carried for a command's socket is not for the socket of another command that gets its port.
// Nobody serves the address, so nothing else stops the messages.
func TestPortOfAnother(t *testing.T) {
	th := backendtest.OwnNetworkTheatre(t)
	base, at := th.Policy, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(sandboxtest.ShutPort(t)))
	for _, row := range []struct{ what, first, second string }{
		{"after its end", "s.close()", "s.bind(PORT)"},
		{"with it", "", "s.setsockopt(1, 15, 1); s.bind(PORT)"},
		{"connected", "s.close()", "s.bind(PORT); s.connect(AT); s.send(b'x'); s = udp(); s.setsockopt(1, 2, 1)"},
	} {
		run := func(p sandbox.Policy, script string) (string, sandbox.Trace) {
			script = "import os, socket" + carriedTools + strings.ReplaceAll(script, "AT", fmt.Sprintf("(%q, %d)", at.Addr(), at.Port()))
			_, out, trace := sandboxtest.Finish(t, t.Context(), th.Backend, p, sandbox.Command{
				Path: attack.Need(t, "python3"), Args: []string{"python3", "-c", script}, Dir: th.Dir, Env: th.Env("", th.Out)}, nil)
			return out, trace
		}
		done := make(chan sandbox.Trace)
		go func() {
			_, trace := run(backendtest.Allowing(t, base, at.String()), `
s = udp(); s.setsockopt(1, 15, 1); s.bind(("127.0.0.1", 0)); s.connect(AT); port = s.getsockname()[1]
`+row.first+`
open("port~", "w").write(str(port)); os.rename("port~", "port")
while os.path.exists("port"): time.sleep(.001)`)
			done <- trace
		}()
		out, _ := run(base, `
while not os.path.exists("port"): time.sleep(.001)
PORT = ("127.0.0.1", int(open("port").read()))
s = udp()
`+row.second+`
print(say(s.sendto, b"x", AT)); os.unlink("port")`)
		if trace := <-done; len(trace.Connections.List) > 0 || out == "" {
			t.Errorf("%s: %+v, %q", row.what, trace.Connections.List, out)
		}
	}
}
