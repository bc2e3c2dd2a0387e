//go:build linux

package network

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// publishedHost is where the tests publish.
var publishedHost = netip.MustParseAddr("127.77.21.4")

// serving is a command that serves until its stdin ends. It answers each connection with its name and
// what it receives, and obeys lines: "close PORT", "open PORT".
type serving struct {
	listens chan sandbox.Listener
	stdin   io.WriteCloser
	lines   chan string
	proc    sandbox.Process
}

const servingScript = `
import threading, sys
name, family = sys.argv[1], {"4": socket.AF_INET, "6": socket.AF_INET6}
kept = {}
def serve(l):
    while True:
        try: c = l.accept()[0]
        except OSError: return
        def echo(c):
            c.sendall(name.encode() + b":" + c.getpeername()[0].encode() + b"\n")
            while True:
                try: got = c.recv(1 << 16)
                except OSError: return
                if not got: break
                c.sendall(got)
            c.close()
        threading.Thread(target=echo, args=(c,), daemon=True).start()
def open_(at, f="4"):
    host, port = at.rsplit(",", 1)
    l = socket.socket(family[f]); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if host == "::1" or host == ":::only": host = host.replace(":only", ""); l.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    l.bind((host, int(port))); l.listen(); kept[int(port)] = l
    threading.Thread(target=serve, args=(l,), daemon=True).start()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("0.0.0.0", 0))
for arg in sys.argv[2:]: open_(arg, "6" if ":" in arg else "4")
print("ready", flush=True)
for line in sys.stdin:
    word, at = line.split()
    if word == "close": kept[int(at)].shutdown(socket.SHUT_RDWR); kept[int(at)].close()
    elif word == "open": open_(at)
    elif word == "reach":
        try: print(socket.create_connection(("127.0.0.1", int(at)), 2).makefile().readline().strip(), flush=True)
        except OSError as e: print(e, flush=True)
        continue
    print("done", flush=True)
`

func serve(t *testing.T, th *backendtest.Theatre, name string, at ...string) *serving {
	t.Helper()
	s := &serving{listens: make(chan sandbox.Listener, 100), lines: make(chan string, 10)}
	pipe := func() (read, write *os.File) {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil { // it blocks, as a program expects
			t.Fatal(err)
		}
		return os.NewFile(uintptr(ends[0]), "read"), os.NewFile(uintptr(ends[1]), "write")
	}
	in, stdin := pipe()
	stdout, out := pipe()
	s.stdin = stdin
	cmd := sandbox.Command{
		Path: attack.Need(t, "python3"), Args: append([]string{"python3", "-c", "import os, socket, sys\n" + servingScript, name}, at...), Dir: th.Dir, Env: th.Env("", th.Out),
		Stdin: in, Stdout: out, Stderr: out, Listens: func(l sandbox.Listener) { s.listens <- l },
	}
	var err error
	if s.proc, err = sandboxtest.Start(th.Backend, t.Context(), th.Policy, cmd, nil); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	go func() {
		defer stdout.Close()
		buf, line := make([]byte, 1), ""
		for {
			if n, err := stdout.Read(buf); n == 0 || err != nil {
				close(s.lines)
				return
			}
			if line += string(buf); strings.HasSuffix(line, "\n") {
				s.lines <- strings.TrimSpace(line)
				line = ""
			}
		}
	}()
	t.Cleanup(s.end)
	if got := <-s.lines; got != "ready" {
		t.Fatalf("%s: %s", name, got)
	}
	return s
}

func (s *serving) end() {
	s.stdin.Close()
	s.proc.Kill()
	_, _ = s.proc.Wait()
}

func (s *serving) do(line string) string {
	_, _ = io.WriteString(s.stdin, line+"\n")
	return <-s.lines
}

func (s *serving) listener(t *testing.T, port uint16) sandbox.Listener {
	t.Helper()
	for {
		select {
		case l := <-s.listens:
			if l.Port == port {
				return l
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("nobody was seen to listen on %d", port)
		}
	}
}

// greeting connects and returns the first line that is answered, or why nothing is.
func greeting(at string) string {
	c, err := net.DialTimeout("tcp", at, 5*time.Second)
	if err != nil {
		return errno(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	line := make([]byte, 100)
	n, err := c.Read(line)
	if err != nil {
		return errno(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

func errno(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return unix.ErrnoName(number)
	}
	return err.Error()
}

// TestPublishedPort: a port of a command is reached from the host after Publish, however the command
// listens, and only that port.
func TestPublishedPort(t *testing.T) {
	th := backendtest.OwnNetworkTheatre(t)
	at := []string{"127.0.0.1,7001", "0.0.0.0,7002", "127.0.0.9,7003"}
	if _, err := net.Listen("tcp", "[::1]:0"); err == nil {
		at = append(at, "::1,7004", "::,7005", ":::only,7006")
	}
	s := serve(t, th, "one", at...)
	for i := range at {
		port := uint16(7001 + i)
		l := s.listener(t, port)
		if !strings.Contains(l.Executable, "python") {
			t.Errorf("by %q", l.Executable)
		}
		host := netip.AddrPortFrom(publishedHost, port).String()
		if got := greeting(host); got != "ECONNREFUSED" {
			t.Errorf("before it was published: %s", got)
		}
		got, stop, err := l.Publish(publishedHost)
		if err != nil || got.String() != host {
			t.Fatalf("published at %s: %v", got, err)
		}
		if got := greeting(host); got != "one:127.0.0.1" && got != "one:::1" && got != "one:::ffff:127.0.0.1" {
			t.Errorf("%s: %s", at[i], got)
		}
		for _, other := range []string{"127.0.0.1", "127.77.21.5"} {
			if got := greeting(net.JoinHostPort(other, got.String()[strings.LastIndexByte(got.String(), ':')+1:])); got != "ECONNREFUSED" {
				t.Errorf("reached at %s too: %s", other, got)
			}
		}
		stop()
		if got := greeting(host); got != "ECONNREFUSED" {
			t.Errorf("after it was stopped: %s", got)
		}
	}
	select {
	case l := <-s.listens:
		t.Errorf("what listens on %d?", l.Port)
	default: // not the UDP port
	}
}

// TestPublishedStream: much data crosses in both directions, a half closed connection works, and a port
// that is not free gets another number.
func TestPublishedStream(t *testing.T) {
	th := backendtest.OwnNetworkTheatre(t)
	taken, err := net.Listen("tcp4", netip.AddrPortFrom(publishedHost, 7011).String())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := serve(t, th, "one", "0.0.0.0,7011")
	at, stop, err := s.listener(t, 7011).Publish(publishedHost)
	if err != nil || at.Port() == 7011 {
		t.Fatalf("published at %s: %v", at, err)
	}
	defer stop()
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 256<<10)
	go func() {
		_, _ = c.Write(sent)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	time.Sleep(50 * time.Millisecond) // the buffers are full now
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "one:127.0.0.1\n"+string(sent) {
		t.Errorf("%d of %d bytes came back: %v", len(got), len(sent), err)
	}
	for range 300 { // more than may be open at once
		if got := greeting(at.String()); got != "one:127.0.0.1" {
			t.Fatal(got)
		}
	}
}

// TestPublishedAttacks: what is published ends with its command, follows no other server to the port, and
// serves no other user.
func TestPublishedAttacks(t *testing.T) {
	th := backendtest.OwnNetworkTheatre(t)
	one, two := serve(t, th, "one", "127.0.0.1,7021", "127.0.0.1,7022"), serve(t, th, "two")
	l := one.listener(t, 7021)
	for _, addr := range []string{"0.0.0.0", "::1", "10.0.0.1", "::ffff:127.0.0.1"} {
		if at, stop, err := l.Publish(netip.MustParseAddr(addr)); err == nil {
			stop()
			t.Errorf("published at %s", at)
		}
	}
	at, _, err := l.Publish(publishedHost)
	if err != nil {
		t.Fatal(err)
	}
	if got := greeting(at.String()); got != "one:127.0.0.1" {
		t.Fatal(got)
	}
	// Another port of the same command.
	if got := two.do("reach 7022"); got != "one:127.0.0.1" {
		t.Errorf("inside: %s", got)
	}
	if got := greeting(netip.AddrPortFrom(publishedHost, 7022).String()); got != "ECONNREFUSED" {
		t.Errorf("a port that nobody published: %s", got)
	}
	// Another command takes the port over.
	one.do("close 7021")
	two.do("open 127.0.0.1,7021")
	if got := one.do("reach 7021"); got != "two:127.0.0.1" {
		t.Errorf("inside: %s", got)
	}
	if got := greeting(at.String()); got != "ECONNRESET" {
		t.Errorf("another command at the port: %s", got)
	}
	two.do("close 7021")
	one.do("open 127.0.0.1,7021") // a restart of the server
	if got := greeting(at.String()); got != "one:127.0.0.1" {
		t.Errorf("after a restart: %s", got)
	}
	if os.Getuid() == 0 {
		plain, err := net.Listen("tcp4", "127.77.21.4:0")
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		go func() {
			for c, err := plain.Accept(); err == nil; c, err = plain.Accept() {
				_, _ = io.WriteString(c, "plain\n")
				c.Close()
			}
		}()
		for to, want := range map[string]string{plain.Addr().String(): "plain", at.String(): "[Errno 104]"} {
			host, port, _ := net.SplitHostPort(to)
			cmd := exec.Command(attack.Need(t, "python3"), "-c", "import socket, sys\ntry: print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).makefile().readline())\nexcept OSError as e: print(e)", host, port)
			cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: attack.PlainUser, Gid: attack.PlainUser}}
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), want) {
				t.Errorf("uid %d at %s: %s, %v", attack.PlainUser, to, out, err)
			}
		}
	}
	open, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	_, _ = open.Read(make([]byte, 100))
	one.end()
	_ = open.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadAll(open); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a connection survived its command")
	}
	if got := greeting(at.String()); got != "ECONNREFUSED" {
		t.Errorf("the port survived its command: %s", got)
	}
	if _, _, err := l.Publish(publishedHost); err == nil {
		t.Error("published after the command")
	}
}

// TestListenWithoutNetwork: where the network is not the session's own, a listen behaves as ever and nothing can
// be published. A command that has neither a network of its own nor a broker for its sockets gets none.
func TestListenWithoutNetwork(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		own, beside := sandboxtest.HasLayer(t, th.Backend, "netns"), sandboxtest.HasLayer(t, th.Backend, "connect")
		script := "l = socket.socket(); l.bind(('127.0.0.1', 7031)); l.listen(1)\nu = socket.socket(socket.AF_UNIX); u.bind('s'); u.listen(1); print('up')"
		for _, network := range []sandbox.NetworkMode{th.Policy.Network.Mode, sandbox.NetworkFull} {
			th.Policy.Network.Mode = network
			var seen []uint16
			text, _ := th.Confined(t, sandbox.Command{
				Path: attack.Need(t, "python3"), Args: []string{"python3", "-c", "import os, socket, sys\n" + script}, Env: th.Env("", th.Out),
				Listens: func(l sandbox.Listener) { seen = append(seen, l.Port) },
			})
			os.Remove(th.Dir + "/s")
			want := []uint16(nil)
			if own && network != sandbox.NetworkFull {
				want = []uint16{7031}
			}
			if !slices.Equal(seen, want) || (text == "up\n") != (own || beside || network == sandbox.NetworkFull) {
				t.Errorf("network %s: %q, seen %v, want %v", network, text, seen, want)
			}
		}
	})
}

func TestPublishAsUser(t *testing.T) {
	tests.AsUser(t, "^(TestPublished(Port|Stream|Attacks)|TestListenWithoutNetwork)$")
}
