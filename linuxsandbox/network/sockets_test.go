//go:build linux

package network

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// servePath listens on a path socket of the host and counts connections.
func servePath(t *testing.T, path string) (came func() int) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	count, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count++
			_, _ = io.WriteString(c, "from the host")
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close() })
	return func() int {
		l.Close()
		<-done
		return count
	}
}

// eachTaking runs a test where the broker copies the command's sockets, and where it replaces them
// by its own.
func eachTaking(t *testing.T, test func(t *testing.T, th *backendtest.Theatre)) {
	backendtest.WithAndWithoutMounts(t, test)
	t.Run("without pidfd_getfd", func(t *testing.T) {
		b := backendtest.NewPlain(t)
		defer b.Close()
		th := backendtest.NewTheatre(t, b)
		backendtest.Facts(t, b).Sockets = sockets.TakesStandIns
		test(t, th)
	})
}

// TestPathSockets: a socket that a command of the session bound is reached under any of its names
// and from every other command, and behaves as without a sandbox.
func TestPathSockets(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		for _, row := range []struct{ name, script, want string }{
			{"absolute", `
os.umask(0o027); os.mkdir("d"); p = os.path.abspath("d/s")
l = socket.socket(socket.AF_UNIX); l.bind(p); l.listen(1)
c = socket.socket(socket.AF_UNIX); c.connect(p); s, _ = l.accept(); s.send(b"hello")
print(c.recv(9), oct(os.stat(p).st_mode), l.getsockname() == p, s.getsockname() == p, c.getpeername() == p, c.getsockname() == "")`,
				"b'hello' 0o140750 True True True True"},
			{"relative", `
l = socket.socket(socket.AF_UNIX); l.bind("r"); l.listen(1)
for p in ["r", "./r", "d/../r", "/proc/self/cwd/r", "/proc/thread-self/cwd/r", os.path.abspath("r")]:
    c = socket.socket(socket.AF_UNIX); c.connect(p); s = l.accept()[0]
print(l.getsockname(), c.getpeername())`, "r r"},
			{"in a folder", `
l = socket.socket(socket.AF_UNIX); l.bind("d/../d/t"); l.listen(1); print(l.getsockname())`, "d/../d/t"},
			{"seqpacket", `
l = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); l.bind("q"); l.listen(1)
c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); c.connect("q"); s, _ = l.accept(); c.send(b"one"); c.send(b"two"); print(s.recv(9), s.recv(9))
try: socket.socket(socket.AF_UNIX).connect("q")
except OSError as e: print(e.strerror)`, "b'one' b'two'\nProtocol wrong type for socket"},
			{"modes", `
m = []
for mask in [0, 0o22, 0o77, 0o777]:
    os.umask(mask); socket.socket(socket.AF_UNIX).bind("m%o" % mask); m.append("%o" % os.stat("m%o" % mask).st_mode)
s = socket.socket(socket.AF_UNIX); os.umask(0o77); s.bind("ms"); print(*m, "%o" % os.fstat(s.fileno()).st_mode)`, "140777 140755 140700 140000 140777"},
			{"long names", `
for n in [60, 85, 107]:
    try: l = socket.socket(socket.AF_UNIX); l.bind(n * "x"); l.listen(1); socket.socket(socket.AF_UNIX).connect(n * "x"); print(len(l.getsockname()), end=" ")
    except OSError as e: print(e.strerror)`, "60 85 File name too long"},
			{"renamed, linked", `
l = socket.socket(socket.AF_UNIX); l.bind("n1"); l.listen(1); os.rename("n1", "n2"); os.symlink("n2", "n3"); os.link("n2", "n4")
for p in ["n2", "n3", "n4"]:
    c = socket.socket(socket.AF_UNIX); c.connect(p); l.accept()[0].close()
print("reached")`, "reached"},
			{"errors", `
def say(f, *a):
    try: f(*a); print("no error")
    except OSError as e: print(e.errno, end=" ")
u = lambda: socket.socket(socket.AF_UNIX)
l = u(); l.bind("e"); say(l.bind, "e2"); say(u().bind, "e"); say(u().bind, "no/e"); say(u().bind, "e/e"); say(u().bind, "e3/"); say(u().bind, "."); say(u().bind, "d/..")
say(u().connect, "e"); say(u().connect, "none"); say(u().connect, "file"); say(u().connect, "e/x"); say(os.stat, "e2")
l.listen(1); l.close(); say(u().connect, "e"); os.mkdir("locked", 0o500); say(u().bind, "locked/e") if os.getuid() else print(13, end=" ")`,
				"22 98 2 20 2 98 98 111 2 111 20 2 111 13"},
			{"another command", `
if os.fork() == 0:
    os.setsid()
    l = socket.socket(socket.AF_UNIX); l.bind("f"); l.listen(1)
    s, _ = l.accept(); s.send(b"child"); os._exit(0)
import time
while not os.path.exists("f"): time.sleep(0.01)
while True:
    c = socket.socket(socket.AF_UNIX)
    try: c.connect("f"); break
    except ConnectionRefusedError: time.sleep(0.01)
print(c.recv(9))`, "b'child'"},
		} {
			t.Run(row.name, func(t *testing.T) {
				out, denials := th.Python(t, row.script)
				if strings.TrimSpace(out) != row.want || len(denials) > 0 {
					t.Errorf("uid %d: %q, want %q; %+v", os.Getuid(), out, row.want, denials)
				}
			})
		}
	})
}

// TestPathSocketsHeld: a socket of the host cannot be reached by any name, and no socket can be
// created outside.
func TestPathSocketsHeld(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		out, in := filepath.Join(filepath.Dir(th.Out), "host"), filepath.Join(th.Dir, "host")
		cameOut, cameIn := servePath(t, out), servePath(t, in)
		th.Policy.Protected.Names = append(th.Policy.Protected.Names, "guarded")
		type refusal struct {
			kind       sandbox.DenialKind
			op, target string
			count      int
		}
		text, denials := th.Python(t, `
out, here = os.environ["TARGET"].replace("file", "host"), "host"
os.symlink(out, "l"); os.symlink(here, "l2")
try: os.link(here, "h")
except OSError: pass
fd = os.open(here, os.O_PATH)
for p in [out, "../away/host", "l", here, "l2", "h", "/proc/self/fd/%d" % fd, "/proc/self/root" + out]:
    try: socket.socket(socket.AF_UNIX).connect(p); print("reached", p)
    except OSError as e: print(e.strerror)
for p in [out + "2", "guarded", "guarded/x", "@"]:
    try: socket.socket(socket.AF_UNIX).bind(p); print("bound", p)
    except OSError as e: print(e.strerror)
try: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); print("datagrams")
except OSError as e: print(e.strerror)`)
		const no = "Operation not permitted\n"
		datagrams, refused := "datagrams\n", []refusal(nil)
		if backendtest.Facts(t, th.Backend).Sockets == sockets.TakesStandIns { // the broker cannot send on copies
			datagrams, refused = no, []refusal{{sandbox.KindSocket, "socket", "unix datagram", 1}}
		}
		if want := strings.Repeat(no, 10) + "No such file or directory\nbound @\n" + datagrams; text != want {
			t.Errorf("%q, want %q", text, want)
		}
		if n := cameOut() + cameIn(); n > 0 {
			t.Errorf("the host's sockets were reached %d times", n)
		}
		if _, err := os.Lstat(out + "2"); err == nil {
			t.Error("a socket was made outside")
		}
		var got []refusal
		for _, d := range denials {
			got = append(got, refusal{d.Kind, d.Operation, d.Target, d.Count})
			if d.Evidence != sandbox.EvidenceKernel || d.Errno != "EPERM" || d.PID == 0 || d.Program != "python3" && !strings.HasPrefix(d.Program, "python") {
				t.Errorf("%+v", d)
			}
		}
		want := append([]refusal{
			{sandbox.KindSocket, "connect", out, 4}, {sandbox.KindSocket, "connect", in, 3}, {sandbox.KindSocket, "connect", th.Dir + "/h", 1},
			{sandbox.KindWrite, "bind", out + "2", 1}, {sandbox.KindProtected, "bind", th.Dir + "/guarded", 1},
		}, refused...)
		if !slices.Equal(got, want) {
			t.Errorf("recorded\n%+v\nwant\n%+v", got, want)
		}
	})
}

// TestAbstractSockets: abstract names work where the session has its own, and no program on the
// host sees them. Elsewhere they are refused.
func TestAbstractSockets(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		host := "@" + th.Out
		came := servePath(t, host)
		text, denials := th.Python(t, `
def say(f):
    try: print(f())
    except OSError as e: print(e.strerror)
l, l2, c = [socket.socket(socket.AF_UNIX) for i in range(3)]
say(lambda: socket.socket(socket.AF_UNIX).connect("\0" + os.environ["TARGET"]))
say(lambda: l.bind("\0name")); say(lambda: l2.bind("")); say(lambda: [s.listen(1) for s in [l, l2]] and None)
say(lambda: c.connect("\0name")); say(lambda: l.getsockname()); say(lambda: len(l2.getsockname()) > 1)`)
		own := "Connection refused\nNone\nNone\nNone\nNone\nb'\\x00name'\nTrue\n"
		const no = "Operation not permitted\n"
		if backendtest.Facts(t, th.Backend).HostNet != 0 && (text != own || len(denials) > 0) {
			t.Errorf("%q, want %q; %+v", text, own, denials)
		}
		if backendtest.Facts(t, th.Backend).HostNet == 0 && (text != no+no+no+"Invalid argument\n"+no+"\nFalse\n" || len(denials) != 4 ||
			denials[0].Kind != sandbox.KindSocket || denials[0].Target != host || denials[1].Target != "@name" || denials[2].Target != "@") {
			t.Errorf("%q %+v", text, denials)
		}
		if came() > 0 {
			t.Error("a socket of the host was reached")
		}
	})
}

// TestPathSocketsGranted: the policy opens exactly the sockets that it names.
func TestPathSocketsGranted(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		granted, other := filepath.Join(filepath.Dir(th.Out), "granted"), filepath.Join(filepath.Dir(th.Out), "other")
		came, cameOther := servePath(t, granted), servePath(t, other)
		th.Policy.Sockets = []string{granted}
		const script = `
for n in ["granted", "other"]:
    c = socket.socket(socket.AF_UNIX)
    try: c.connect(os.environ["TARGET"].replace("file", n)); print(c.recv(99))
    except OSError as e: print(e.strerror)`
		if text, _ := th.Python(t, script); text != "b'from the host'\nOperation not permitted\n" {
			t.Error(text)
		}
		th.Policy.DenyRead = []string{granted}
		text, denials := th.Python(t, script)
		if text != "Operation not permitted\nOperation not permitted\n" || denials[0].Kind != sandbox.KindRead {
			t.Errorf("%s %+v", text, denials)
		}
		if granted, other := came(), cameOther(); granted != 1 || other != 0 {
			t.Errorf("%d connections to the granted socket, %d to the other one; want 1 and 0", granted, other)
		}
	})
}

// TestPathSocketsOfTheSession: a later command reaches a server that an earlier one started. A
// command of another session does not.
func TestPathSocketsOfTheSession(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		server, err := sandboxtest.Start(th.Backend, t.Context(), th.Policy, sandbox.Command{
			Path: attack.Need(t, "python3"), Dir: th.Dir, Env: th.Env("", th.Out), Stdout: to, Stderr: to, Args: []string{"python3", "-c", `
import socketserver
class H(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(self.rfile.readline().upper())
s = socketserver.UnixStreamServer("server", H); print(s.server_address, flush=True); s.serve_forever()`},
		}, nil)
		to.Close()
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 64)
		n, _ := from.Read(line)
		if string(line[:n]) != "server\n" {
			t.Fatalf("%q", line[:n])
		}
		const client = `
c = socket.socket(socket.AF_UNIX)
try: c.connect("server"); c.send(b"shout\n"); print(c.recv(99))
except OSError as e: print(e.strerror)`
		if text, _ := th.Python(t, client); text != "b'SHOUT\\n'\n" {
			t.Errorf("the session's own: %s", text)
		}
		mine := th.Backend
		th.Backend = backendtest.New(t)
		defer th.Backend.Close()
		if text, _ := th.Python(t, client); text != "Operation not permitted\n" {
			t.Errorf("another session's: %s", text)
		}
		th.Backend = mine
		server.Kill()
		_, _ = server.Wait()
		if text, _ := th.Python(t, client); text != "Connection refused\n" {
			t.Errorf("after its end: %s", text)
		}
	})
}

// TestConnectWaits: a connect that must wait does not delay other calls. It ends when it is
// interrupted, when its time is over, or when it is accepted.
func TestConnectWaits(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		limit := `c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 1000))`
		if backendtest.Facts(t, th.Backend).Sockets == sockets.TakesStandIns {
			limit = "c.setblocking(False)" // socket options are lost there
		}
		text, denials := th.Python(t, `
import signal, struct, threading
p = "s"; l = socket.socket(socket.AF_UNIX); l.bind(p); l.listen(0)
full = []
while True:
    c = socket.socket(socket.AF_UNIX); c.setblocking(False)
    try: c.connect(p); full.append(c)
    except BlockingIOError: break
print("full")
c = socket.socket(socket.AF_UNIX); `+limit+`
try: c.connect(p)
except BlockingIOError: print("time")
class Late(Exception): pass
def late(*a): signal.setitimer(signal.ITIMER_REAL, 0); raise Late
signal.signal(signal.SIGALRM, late) # again and again: the first may come before the call
c = socket.socket(socket.AF_UNIX)
try: signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01); c.connect(p)
except Late: print("interrupted")
clients = [socket.socket(socket.AF_UNIX) for i in range(80)]
threads = [threading.Thread(target=c.connect, args=(p,)) for c in clients]
for t in threads: t.start()
os.chmod("file", 0o600); print("served")
for i in range(len(full) + len(clients)): l.accept()[0].close()
for t in threads: t.join()
print("all")
for i in range(9):
    if os.fork() == 0:
        l.listen(0)
        while True: socket.socket(socket.AF_UNIX).connect(p)
print("left")`)
		if text != "full\ntime\ninterrupted\nserved\nall\nleft\n" || len(denials) > 0 {
			t.Errorf("%q %+v", text, denials)
		}
	})
}

// TestHandedSockets: a command cannot connect, bind or listen with a socket passed in as descriptor
// 0, 1 or 2.
func TestHandedSockets(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		for _, row := range []struct {
			name         string
			family, kind int
			pair, open   bool
		}{
			{"pair", unix.AF_UNIX, unix.SOCK_STREAM, true, true},
			{"datagram pair", unix.AF_UNIX, unix.SOCK_DGRAM, true, false},
			{"unconnected", unix.AF_UNIX, unix.SOCK_STREAM, false, false},
			{"tcp", unix.AF_INET, unix.SOCK_STREAM, false, false},
			{"udp", unix.AF_INET, unix.SOCK_DGRAM, false, false},
		} {
			var pair [2]int
			var err error
			if pair[0], err = unix.Socket(row.family, row.kind|unix.SOCK_CLOEXEC, 0); row.pair {
				unix.Close(pair[0])
				pair, err = unix.Socketpair(row.family, row.kind|unix.SOCK_CLOEXEC, 0)
				defer unix.Close(pair[1])
			}
			if err != nil {
				t.Fatal(err)
			}
			f := os.NewFile(uintptr(pair[0]), row.name)
			text, _ := th.Confined(t, sandbox.Command{Path: attack.Need(t, "python3"), Stdin: f, Env: th.Env("", th.Out), Args: []string{"python3", "-c", fmt.Sprintf(`
import socket, os
try: os.unlink("s")
except OSError: pass
try: l = socket.socket(socket.AF_UNIX); l.bind("s"); l.listen(1); socket.socket(socket.AF_UNIX).connect("s"); print("open")
except OSError as e: print("shut", e.errno)
s = socket.socket(fileno=0)
for f in [lambda: s.connect(%q), lambda: s.connect(("127.0.0.1", 9)), lambda: s.listen(1), lambda: s.bind(("127.0.0.1", 0))]:
    try: f(); print("worked")
    except (OSError, TypeError) as e: pass`, "s")}})
			f.Close()
			if want := map[bool]string{true: "open\n", false: "shut 1\n"}[row.open]; text != want {
				t.Errorf("%s: %q, want %q", row.name, text, want)
			}
		}
	})
}

// TestPathSocketsAsUser runs all of these tests for a user without privileges.
func TestPathSocketsAsUser(t *testing.T) {
	tests.AsUser(t, "^(TestPathSockets|TestPathSocketsHeld|TestAbstractSockets|TestPathSocketsGranted|TestPathSocketsOfTheSession|TestHeldSockets|TestConnectWaits|TestHandedSockets|TestInetSockets)$")
}
