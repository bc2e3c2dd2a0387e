//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// A published port is served at an address of the host's loopback. It must let nobody in but the person,
// lead nowhere but to the listening command, and end with it.

// TestPorts makes the attempts in every setting.
func TestPorts(t *testing.T) { tests.InSettings(t, "^TestPortInSetting$") }

// publishedAt and publishedAt2 are where two sessions publish.
var publishedAt, publishedAt2 = netip.MustParseAddr("127.79.3.4"), netip.MustParseAddr("127.79.3.5")

// portScript listens on the ports of its arguments, answers each connection with its name, and obeys lines:
// "take AT" listens there too, "reach AT" connects and prints what comes, "end PORT" stops listening.
const portScript = `
import socket, sys, threading
kept = {}
def take(at):
    l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.argv[1] in ("free", "other"): l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    host, port = at.split(":"); l.bind((host, int(port))); l.listen(); kept[port] = l
    def serve():
        while True:
            try: c = l.accept()[0]
            except OSError: return
            c.sendall(sys.argv[1].encode()); c.close()
    threading.Thread(target=serve, daemon=True).start()
for at in sys.argv[2:]: take(at)
print("ready", flush=True)
for line in sys.stdin:
    word, at = line.split()
    try:
        if word == "take": take(at)
        if word == "end": kept[at].shutdown(2); kept[at].close()
        if word == "reach":
            host, port = at.split(":"); print("got", socket.create_connection((host, int(port)), 3).recv(99).decode(), flush=True); continue
        print("done", flush=True)
    except OSError as e: print(e, flush=True)
`

// listener is a process of portScript. seen are the ports on which it was seen to listen.
type listener struct {
	t    *testing.T
	in   *os.File
	out  *os.File
	seen chan sandbox.Listener
	end  func()
}

// pipes are the standard input and output of a process, each with the other end. They block, as a program expects.
func pipes(t *testing.T) (in, stdin, stdout, out *os.File) {
	t.Helper()
	var a, b [2]int
	if err := errors.Join(unix.Pipe2(a[:], unix.O_CLOEXEC), unix.Pipe2(b[:], unix.O_CLOEXEC)); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(a[0]), "in"), os.NewFile(uintptr(a[1]), "stdin"), os.NewFile(uintptr(b[0]), "stdout"), os.NewFile(uintptr(b[1]), "out")
}

func (l *listener) do(line string) string {
	l.t.Helper()
	if line != "" {
		_, _ = io.WriteString(l.in, line+"\n") // it may have ended
	}
	var text string
	for buf := make([]byte, 1); !strings.HasSuffix(text, "\n"); text += string(buf) {
		if n, _ := l.out.Read(buf); n == 0 {
			return "ended"
		}
	}
	return strings.TrimSpace(text)
}

// greeting connects as the person, and returns what comes: "" for nothing.
func greeting(at string) string {
	c, err := net.DialTimeout("tcp", at, 3*time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Second))
	text, _ := io.ReadAll(c)
	return string(text)
}

func at(host netip.Addr, port uint16) string { return netip.AddrPortFrom(host, port).String() }

// portsBeside: first, without a network of its own, serves on the loopback alone, and reaches no program of the
// person. A second session takes no port from it, and does not reach it.
func portsBeside(t *testing.T, first *listener, two *linuxsandbox.Backend, theirs string, port uint16, start func(*linuxsandbox.Backend, string, ...string) *listener) {
	if got := greeting(fmt.Sprint("127.0.0.1:", port)); got != "first" {
		t.Errorf("on the loopback: %q", got)
	}
	if got := first.do("reach " + theirs); strings.Contains(got, "secret") {
		t.Errorf("ESCAPE: %q", got)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	first.do(fmt.Sprint("take 0.0.0.0:", port+1))
	for _, a := range addresses {
		host := a.(*net.IPNet).IP
		if got := greeting(net.JoinHostPort(host.String(), fmt.Sprint(port+1))); got != "" && !host.IsLoopback() {
			t.Errorf("ESCAPE: %s answers %q", host, got)
		}
	}
	second := start(two, "other", fmt.Sprint("127.0.0.1:", port+2)) // it sets SO_REUSEPORT
	if got := second.do(""); got != "ready" {
		t.Fatal(got)
	}
	second.do(fmt.Sprint("take 127.0.0.1:", port))
	for range 5 {
		if got := greeting(fmt.Sprint("127.0.0.1:", port)); got != "first" {
			t.Errorf("ESCAPE: another session answers: %q", got)
		}
	}
	if got := second.do(fmt.Sprint("reach 127.0.0.1:", port)); strings.Contains(got, "first") {
		t.Errorf("ESCAPE: a command of another session reaches it: %q", got)
	}
	second.end()
	first.end()
}

// TestPortInSetting is the body of TestPorts, in a process of the setting.
func TestPortInSetting(t *testing.T) {
	setting, python := attack.CurrentSetting(t, "TestPorts"), attack.Need(t, "python3")
	// Settings run beside each other, and each has ports of its own.
	port := 7100 + 10*uint16(slices.Index(attack.Settings, setting))
	on := func(host string, n uint16) string { return fmt.Sprintf("%s:%d", host, port+n) }
	// sessions are backends, each with a network of its own; nil: a plain child.
	start := func(b *linuxsandbox.Backend, name string, ports ...string) *listener {
		in, stdin, stdout, out := pipes(t)
		l := &listener{t: t, in: stdin, out: stdout, seen: make(chan sandbox.Listener, 10)}
		args := append([]string{"-c", portScript, name}, ports...)
		if b == nil {
			cmd := exec.Command(python, args...)
			cmd.Stdin, cmd.Stdout = in, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			l.end = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
		} else {
			p, err := sandboxtest.Start(b, t.Context(), sandbox.ReadOnly(), sandbox.Command{
				Path: python, Args: append([]string{"python3"}, args...), Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "HOME=/"}, Stdin: in, Stdout: out, Stderr: out,
				Listens: func(s sandbox.Listener) { l.seen <- s },
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			l.end = func() { p.Kill(); _, _ = p.Wait() }
		}
		in.Close()
		out.Close()
		t.Cleanup(func() { l.end(); stdin.Close(); stdout.Close() })
		return l
	}
	// A service of the person's own, at all addresses of the loopback.
	own, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	go func() { // ends with the listener
		for c, err := own.Accept(); err == nil; c, err = own.Accept() {
			_, _ = io.WriteString(c, "secret")
			c.Close()
		}
	}()
	theirs := at(publishedAt, uint16(own.Addr().(*net.TCPAddr).Port))

	// Without a sandbox all of this works.
	free := start(nil, "free", on("0.0.0.0", 0))
	if got := free.do(""); got != "ready" {
		t.Fatal(got)
	}
	other := start(nil, "other", at(publishedAt2, port)) // takes an address of another from it
	if got := other.do(""); got != "ready" || free.do("reach "+theirs) != "got secret" || greeting(at(publishedAt, port)) != "free" || greeting(at(publishedAt2, port)) != "other" {
		t.Errorf("without a sandbox: %q; nothing is shown", got)
	}
	free.end()
	other.end()

	one, _ := backendInSetting(t, "TestPorts")
	two := newBackend(t, nil)
	t.Cleanup(func() { two.Close() })
	first := start(one, "first", on("127.0.0.1", 0))
	ready := first.do("")
	var published sandbox.Listener
	select {
	case published = <-first.seen:
	default:
	}
	nobody := func(what, at string) {
		t.Helper()
		if got := greeting(at); got != "" {
			t.Errorf("%s: ESCAPE: %s answers %q", what, at, got)
		}
	}
	if published.Publish == nil {
		// It has no network of its own, and listens on the loopback of the machine if the broker gives it sockets.
		if listens := sandboxtest.HasLayer(t, one, "connect"); (ready == "ready") != listens {
			t.Errorf("listening: %q", ready)
		} else if listens {
			portsBeside(t, first, two, theirs, port, start)
		}
		return
	}
	nobody("before anybody said yes", at(publishedAt, port))
	nobody("before anybody said yes", on("127.0.0.1", 0))
	for _, host := range []string{"0.0.0.0", "10.0.0.1", "::", "::1", "::ffff:0.0.0.0"} {
		if got, stop, err := published.Publish(netip.MustParseAddr(host)); err == nil {
			stop()
			t.Errorf("ESCAPE: published at %s", got)
		}
	}
	to, _, err := published.Publish(publishedAt)
	if err != nil || to.Addr() != publishedAt || greeting(to.String()) != "first" {
		t.Fatalf("%s: %v, %q", to, err, greeting(to.String()))
	}
	// The person's ports cannot be reached by that address, nor one's own be taken from outside it.
	if got := first.do("reach " + theirs); strings.Contains(got, "secret") {
		t.Errorf("ESCAPE: %q", got)
	}
	for _, taken := range []string{on("0.0.0.0", 1), at(publishedAt, port+1), at(publishedAt, port+2)} {
		first.do("take " + taken)
		_, number, _ := strings.Cut(taken, ":")
		n, _ := strconv.Atoi(number)
		nobody("a port that nobody published", at(publishedAt, uint16(n)))
		nobody("a port that nobody published", "127.0.0.1:"+number)
	}
	// Another session listens at the same place and publishes there: the first keeps its address.
	second := start(two, "second", at(publishedAt, port), on("127.0.0.1", 3))
	if got := second.do(""); got != "ready" {
		t.Fatal(got)
	}
	for range 2 {
		if l := <-second.seen; l.Port == port {
			if elsewhere, _, err := l.Publish(publishedAt); err == nil && elsewhere == to {
				t.Errorf("ESCAPE: another session has %s", elsewhere)
			}
		}
	}
	for range 5 {
		if got := greeting(to.String()); got != "first" {
			t.Errorf("ESCAPE: %s answers %q", to, got)
		}
	}
	if got := second.do("reach " + to.String()); strings.Contains(got, "first") {
		t.Errorf("ESCAPE: a command of another session reaches it: %q", got)
	}
	// It stops listening: whoever listens on that port of the host is not served by the address.
	first.do(fmt.Sprint("end ", port))
	nobody("nobody listens any more", to.String())
	first.do("take " + on("127.0.0.1", 0))
	if got := greeting(to.String()); got != "first" {
		t.Errorf("after a restart: %q", got)
	}
	first.end()
	nobody("after the command", to.String())
	if l, _, err := published.Publish(publishedAt); err == nil {
		t.Errorf("ESCAPE: published at %s after the command", l)
	}
}
