//go:build linux

package network

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/netns"

	"golang.org/x/sys/unix"
)

// peers are servers on the host that behave in different ways.
type peers struct{ echo, resets, holds, full, none netip.AddrPort }

// newPeers serves until the test ends. free makes room in the queue of full.
func newPeers(t *testing.T) (p peers, free func()) {
	t.Helper()
	serve := func(do func(c *net.TCPConn)) netip.AddrPort {
		l, err := net.Listen("tcp4", "127.77.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go do(c.(*net.TCPConn))
			}
		}()
		return netip.MustParseAddrPort(l.Addr().String())
	}
	p.echo = serve(func(c *net.TCPConn) { _, _ = io.Copy(c, c); c.Close() })
	p.resets = serve(func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1)); _ = c.SetLinger(0); c.Close() })
	p.holds = serve(func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c); c.Close() })
	listening := func(backlog int) (int, netip.AddrPort) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 77, 0, 1}})
		}
		if err == nil && backlog >= 0 {
			err = unix.Listen(fd, backlog)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		at, _ := netns.LocalAddress(fd)
		return fd, at
	}
	_, p.none = listening(-1)
	var queue int
	queue, p.full = listening(0)
	// This duplicate may be closed while another goroutine waits.
	own, err := unix.FcntlInt(uintptr(queue), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(own), "queue")
	accepts, err := net.FileListener(file)
	file.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepts.Close() })
	// Once one connection waits, the queue is full.
	var waiting []unix.PollFd
	for range 4 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		_, _ = netns.ConnectNow(fd, netns.SocketAddress(p.full, unix.AF_INET))
		waiting = append(waiting, unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT})
	}
	for n := 0; n == 0; {
		if n, err = unix.Poll(waiting, -1); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
	}
	return p, func() {
		for {
			c, err := accepts.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}
}

// TestRelayedSockets: however it is made, a connection to an allowed host behaves for a program as
// without a sandbox.
func TestRelayedSockets(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	script := func(p peers) string {
		return strings.NewReplacer("ECHO", fmt.Sprint(p.echo.Port()), "RESETS", fmt.Sprint(p.resets.Port()), "HOLDS", fmt.Sprint(p.holds.Port()),
			"FULL", fmt.Sprint(p.full.Port()), "NONE", fmt.Sprint(p.none.Port())).Replace(relayedScript)
	}
	// freeing makes room in the queue when the program in dir waits for it.
	freeing := func(dir string, free func()) {
		go func() {
			for unix.Access(dir+"/full", unix.F_OK) != nil {
				time.Sleep(10 * time.Millisecond)
			}
			free()
		}()
	}
	p, free := newPeers(t)
	bare := exec.Command(attack.Need(t, "python3"), "-c", "import os, socket\n"+script(p))
	bare.Dir = t.TempDir()
	freeing(bare.Dir, free)
	want, err := bare.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	p, free = newPeers(t)
	freeing(th.Dir, free)
	th.Policy = backendtest.Allowing(t, th.Policy, p.echo.String(), p.resets.String(), p.holds.String(), p.full.String(), p.none.String())
	got, denials := th.Python(t, script(p))
	if got != string(want) || len(denials) > 0 {
		t.Errorf("%s\nwithout a sandbox:\n%s\n%+v", got, want, denials)
	}
}

// relayedScript uses connections in many ways.
const relayedScript = `
import fcntl, select, signal, struct, threading
host = "127.77.0.1"
def say(f, *a):
    try: return f(*a) or "done"
    except OSError as e: return e.errno
tcp = lambda f=socket.AF_INET: socket.socket(f)
error = lambda s: s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
def all(s):
    got = b""
    while True:
        more = s.recv(1 << 16)
        if not more: return got
        got += more
c = tcp(); print(say(c.connect, (host, ECHO)), c.getpeername() == (host, ECHO), say(c.connect, (host, ECHO)), fcntl.fcntl(c, fcntl.F_GETFL) & os.O_NONBLOCK)
c.sendall(b"through"); print(c.recv(9)); c.shutdown(socket.SHUT_WR); print(c.recv(9))
c = tcp(socket.AF_INET6); c.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0); print(say(c.connect, ("::ffff:" + host, ECHO)), c.getpeername()[:2] == ("::ffff:" + host, ECHO))
big = os.urandom(5 << 20); c = tcp(); c.connect((host, ECHO))
t = threading.Thread(target=lambda: (c.sendall(big), c.shutdown(socket.SHUT_WR))); t.start(); print(all(c) == big); t.join()
print(say(tcp().connect, (host, NONE)))
c = tcp(); c.setblocking(False); e = select.epoll(); e.register(c.fileno(), select.EPOLLOUT | select.EPOLLET) # before it is connected, as Go does
e.poll(0.01); print(say(c.connect, (host, ECHO)) in (115, "done")); print(e.poll(120)[0][1] & select.EPOLLOUT, error(c), c.getpeername() == (host, ECHO)); c.setblocking(True); c.sendall(b"late"); print(c.recv(9))
c = tcp(); c.setblocking(False); r = say(c.connect, (host, NONE)); select.select([], [c], [], 120); print(r in (111, 115), error(c) in ((111,) if r == 115 else (0,)))
c = tcp(); c.connect((host, RESETS)); c.send(b"x"); print(say(c.recv, 9))
c = tcp(); c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); c.connect((host, HOLDS)); c.send(b"x"); print(say(c.close))
c = tcp(); c.bind(("127.0.0.1", 0)); a = c.getsockname(); print(say(c.connect, (host, ECHO)), c.getsockname() == a)
c = tcp(); print(c.connect_ex((host, ECHO)), say(c.listen), say(c.bind, ("127.0.0.1", 0)))
def backlogged(f):
    while True:
        try: f(); return
        except BlockingIOError: print("time is up"); return
        except InterruptedError: print("interrupted"); return
c = tcp(); c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 20000)); backlogged(lambda: c.connect((host, FULL)))
class Late(Exception): pass
def late(*a): signal.setitimer(signal.ITIMER_REAL, 0); raise Late
signal.signal(signal.SIGALRM, late)
try: signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02); tcp().connect((host, FULL))
except Late: print("interrupted")
waiting = tcp(); waiting.setblocking(False); print(say(waiting.connect, (host, FULL)) in (110, 115), error(waiting)) # codeagent gives up after 3 s
open("full", "w").close()
blocked = tcp(); print(say(blocked.connect, (host, FULL)))
`
