//go:build linux

package network

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"

	"golang.org/x/sys/unix"
)

// These are attacks on the broker that makes the connections and sends the messages of commands in codeagent's
// own network: on what it reads, on the sockets that it shares with them, and on its time.

const besideTools = `
import ctypes, struct, threading, time, errno
libc = ctypes.CDLL(None, use_errno=True)
def say(f, *a):
    try: return f(*a)
    except OSError as e: return errno.errorcode.get(e.errno, e.errno)
NAMES = next((l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver") and "." in l), "127.0.0.1")
tcp = lambda: socket.socket(socket.AF_INET)
udp = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def full(s): # until it takes no more
    s.setblocking(False)
    while isinstance(say(s.send, bytes(1 << 16)), int): pass
    s.setblocking(True)
def crowded(): # a server of the session with a full queue
    l = tcp(); l.bind(("127.0.0.1", 0)); l.listen(0); fill = []
    for _ in range(4): c = tcp(); c.setblocking(False); c.connect_ex(l.getsockname()); fill.append(c)
    return l, fill
def race(attempt):
    end, at, go, tries = time.time() + SECONDS, [None], [0], 0
    def closing():
        seen = 0
        while time.time() < end:
            if go[0] != seen:
                seen = go[0]
                for _ in range(seen % 60): pass
                say(at[0].shutdown, 2)
    t = threading.Thread(target=closing); t.start()
    while time.time() < end or tries < 200:
        s = tcp()
        def ready(): at[0] = s; go[0] += 1
        if attempt(s, ready): print("reached"); break
        tries += 1; s.close()
    t.join(); print("tried")
`

// besideTheatre is one in codeagent's own network.
func besideTheatre(t *testing.T) *backendtest.Theatre {
	t.Helper()
	b := backendtest.NewPlain(t)
	t.Cleanup(func() { b.Close() })
	return backendtest.NewTheatre(t, b)
}

// attacking is a script with the tools.
func attacking(script string, values ...string) string {
	seconds := "1"
	if machine.Thorough() {
		seconds = "6"
	}
	return strings.NewReplacer(append(values, "SECONDS", seconds)...).Replace(besideTools + script)
}

// used is the processor time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestBrokerAttacked: what a command gives the broker to read or to send does it no harm, and gets nothing of
// it. Of each row the whole output is compared.
func TestBrokerAttacked(t *testing.T) {
	th := besideTheatre(t)
	for _, row := range []struct{ name, script, want string }{
		{"descriptors of which half is missing", `
a, b = socket.socketpair(); data = ctypes.create_string_buffer(b"x"); piece = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(data), 1))
ctl = ctypes.create_string_buffer(struct.pack("Qii", 16 + 5, 1, 1) + struct.pack("i", 1) + bytes(4), 24)
m = ctypes.create_string_buffer(struct.pack("QIIQQQQiI", 0, 0, 0, ctypes.addressof(piece), 1, ctypes.addressof(ctl), 24, 0, 0), 56)
print(libc.sendmsg(a.fileno(), m, 0), len(socket.recv_fds(b, 9, 9)[1]))`, "1 1\n"},
		{"too many descriptors", `a, b = socket.socketpair(); print(say(socket.send_fds, a, [b"x"], [1] * 254), say(socket.send_fds, a, [b"x"], [1] * 253))`, "EINVAL 1\n"},
		{"another device", `s = udp(); print(say(s.setsockopt, 1, 25, b"lo\0"), say(s.setsockopt, 1, 62, 1))`, "EPERM EPERM\n"},
		{"codeagent's process", `a, b = socket.socketpair(); print(say(b.setsockopt, 1, 76, 1))`, "EPERM\n"},
		{"another protocol over TCP", `print(say(tcp().setsockopt, 6, 31, b"smc"))`, "ENOPROTOOPT\n"},
		{"what waits does not stop another", `
a, b = socket.socketpair(); full(a); threading.stack_size(65536)
for _ in range(200): threading.Thread(target=lambda: say(a.sendmsg, [b"x"]), daemon=True).start()
time.sleep(1); c, d = socket.socketpair(); full(c); t = threading.Thread(target=lambda: print(say(c.sendmsg, [b"y"])), daemon=True); t.start(); time.sleep(.2)
d.setblocking(False)
while isinstance(say(d.recv, 1 << 20), bytes): pass
t.join(20); sys.stdout.flush(); os._exit(0)`, "1\n"},
		{"many sockets do not make a server unknown", `
l = tcp(); l.bind(("127.0.0.1", 0)); l.listen(100)
for _ in range(5000): s = udp(); s.connect((NAMES, 53)); s.close()
print(tcp().connect_ex(l.getsockname()))`, "0\n"},
		{"a full server", `l, _ = crowded(); s = tcp(); s.setblocking(False); print(errno.errorcode[s.connect_ex(l.getsockname())])`, "ECONNREFUSED\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if text, denials := th.Python(t, attacking(row.script)); text != row.want {
				t.Errorf("%q, want %q, %+v", text, row.want, denials)
			}
		})
	}
}

// TestHeapStays: the kernel does not read codeagent's memory after a send.
func TestHeapStays(t *testing.T) {
	th := besideTheatre(t)
	over := make(chan bool)
	defer close(over)
	var kept atomic.Pointer[[]byte]
	go func() { // other memory of the same size comes and goes
		for {
			select {
			case <-over:
				return
			case <-time.After(2 * time.Millisecond):
				b := bytes.Repeat([]byte("SECRET"), 1000000/6)
				kept.Store(&b)
			}
		}
	}()
	text, _ := th.Python(t, attacking(`
other = 0; l = tcp(); l.bind(("127.0.0.1", 0)); l.listen()
for n in range(4):
    s = tcp(); s.setsockopt(1, 60, 1); s.connect(l.getsockname()); r, _ = l.accept(); s.setblocking(False)
    while isinstance(say(s.sendmsg, [b"A" * 1000000], [], 0x4000000), int): pass
    time.sleep(0.3); s.close(); all = b""
    while (d := r.recv(1 << 20)): all += d
    other += len(all) - all.count(b"A")
print(len(all) > 1000, other)`))
	if text != "True 0\n" {
		t.Errorf("%q", text)
	}
}

// TestFreedSockets: a thread that frees a socket in use, in the middle of a connect or a listen, opens nothing.
// Without a sandbox both need no race.
func TestFreedSockets(t *testing.T) {
	th := besideTheatre(t)
	no := newVisited(t, "127.77.0.2")
	at := fmt.Sprintf(`("127.77.0.2", %d)`, no.at.Port())
	if out, err := exec.Command(attack.Need(t, "python3"), "-c", "import socket; socket.create_connection("+at+")").CombinedOutput(); err != nil {
		t.Fatalf("without a sandbox: %s", out)
	}
	backendtest.WaitFor(t, no.forget, "without a sandbox nothing is reached either")
	for name, script := range map[string]string{
		"a server connects": `
def attempt(s, ready): s.bind(("127.0.0.1", 0)); s.listen(); ready(); return s.connect_ex(AT) == 0
race(attempt)`,
		"a connection on its way connects elsewhere": `
l, _ = crowded()
def attempt(s, ready): s.setblocking(False); s.connect_ex(l.getsockname()); ready(); return s.connect_ex(AT) in (0, errno.EINPROGRESS) and say(s.getpeername) == AT
race(attempt)`,
		"a connection on its way listens": `
l, _ = crowded()
def attempt(s, ready): s.setblocking(False); s.connect_ex(l.getsockname()); ready(); return say(s.listen) is None and s.getsockname()[0] != "127.0.0.1"
race(attempt)`,
	} {
		t.Run(name, func(t *testing.T) {
			text, _ := th.Python(t, attacking(script, "AT", at))
			if text != "tried\n" || no.forget() {
				t.Errorf("%q", text)
			}
		})
	}
}

// TestOtherLoopback: the address that stands for this machine is the one that was judged, whatever loopback address the socket
// has. Without a sandbox the kernel takes the socket's own.
func TestOtherLoopback(t *testing.T) {
	th := besideTheatre(t)
	no := newVisited(t, "127.77.0.2")
	th.Policy = backendtest.Allowing(t, th.Policy, fmt.Sprintf("127.0.0.1:%d", no.at.Port()))
	for name, script := range map[string]string{
		"TCP":            `s = tcp(); s.bind(("127.77.0.2", 0)); print(say(s.connect, ("0.0.0.0", PORT)))`,
		"UDP":            `s = udp(); s.bind(("127.77.0.2", 0)); say(s.connect, ("0.0.0.0", PORT)); print(say(s.send, b"x"))`,
		"UDP, a message": `s = udp(); s.bind(("127.77.0.2", 0)); print(say(s.sendto, b"x", ("0.0.0.0", PORT)))`,
		"IPv6":           `s = socket.socket(socket.AF_INET6); s.bind(("::ffff:127.77.0.2", 0)); print(say(s.connect, ("::ffff:0.0.0.0", PORT)))`,
	} {
		t.Run(name, func(t *testing.T) {
			script := attacking("import socket, sys\n"+script, "PORT", fmt.Sprint(no.at.Port()))
			if out, err := exec.Command(attack.Need(t, "python3"), "-c", "import socket, sys\n"+script).CombinedOutput(); err != nil {
				t.Fatalf("without a sandbox: %s", out)
			}
			backendtest.WaitFor(t, no.forget, "without a sandbox nothing is reached either")
			text, _ := th.Python(t, script)
			time.Sleep(50 * time.Millisecond)
			if no.forget() {
				t.Errorf("reached: %q", text)
			}
		})
	}
}

// TestSharedPort: no server of the host gets what a command sends to the port of a server of its own. With SO_REUSEPORT the kernel
// chooses between servers for each connection, and to the broadcast address of the loopback it gives a datagram to all.
func TestSharedPort(t *testing.T) {
	th := besideTheatre(t)
	const broadcasts = `l = udp(); l.setsockopt(1, 2, 1); l.bind(("127.255.255.255", 0)); s = udp(); s.setsockopt(1, 6, 1)`
	for _, row := range []struct {
		name          string
		option        int
		serve, attack string
	}{
		{"SO_REUSEPORT", unix.SO_REUSEPORT, `l = tcp(); l.setsockopt(1, 15, 1); l.bind(("127.0.0.1", 0)); l.listen(200)`,
			`for _ in range(60): c = tcp(); c.connect(l.getsockname()); c.close()`},
		{"broadcast", unix.SO_REUSEADDR, broadcasts, `print(say(s.sendto, b"x", l.getsockname()))`},
		{"broadcast, connected", unix.SO_REUSEADDR, broadcasts, `print(say(s.connect, l.getsockname()), say(s.send, b"x"))`},
	} {
		t.Run(row.name, func(t *testing.T) {
			script := attacking("import os\n" + row.serve + `
open("P", "w").write(str(l.getsockname()[1])); os.rename("P", "port")
while not os.path.exists("serves"): time.sleep(.01)
` + row.attack + `
os.remove("port"); os.remove("serves")`)
			reached := func(run func()) bool {
				var hits atomic.Int32
				over := make(chan bool)
				go func() {
					defer close(over)
					joinPort(t, th.Dir, row.option, &hits)
				}()
				run()
				<-over
				return hits.Load() > 0
			}
			if !reached(func() {
				cmd := exec.Command(attack.Need(t, "python3"), "-c", "import socket, sys\n"+script)
				cmd.Dir = th.Dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("without a sandbox: %s", out)
				}
			}) {
				t.Fatal("without a sandbox the host's server is not reached either")
			}
			if reached(func() { th.Python(t, script) }) {
				t.Error("the host's server was reached")
			}
		})
	}
}

// joinPort serves, as a program of the host with a socket option, at the port in the file port of dir, until that file is gone.
func joinPort(t *testing.T, dir string, option int, hits *atomic.Int32) {
	port, serves := filepath.Join(dir, "port"), filepath.Join(dir, "serves")
	var at []byte
	backendtest.WaitFor(t, func() bool { at, _ = os.ReadFile(port); return len(at) > 0 }, "the command does not serve")
	shared := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, 1) })
	}}
	if l, err := shared.Listen(t.Context(), "tcp4", "127.0.0.1:"+string(at)); err == nil {
		defer l.Close()
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				hits.Add(1)
				c.Close()
			}
		}()
	}
	if p, err := shared.ListenPacket(t.Context(), "udp4", "0.0.0.0:"+string(at)); err == nil {
		defer p.Close()
		go func() {
			for _, _, err := p.ReadFrom(make([]byte, 9)); err == nil; _, _, err = p.ReadFrom(make([]byte, 9)) {
				hits.Add(1)
			}
		}()
	}
	_ = os.WriteFile(serves, nil, 0o666)
	backendtest.WaitFor(t, func() bool { _, err := os.Stat(port); return err != nil }, "the command does not end")
	time.Sleep(50 * time.Millisecond)
}

// TestBrokerRests: a call that cannot go on costs codeagent little time, and none after the command's end.
func TestBrokerRests(t *testing.T) {
	th := besideTheatre(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0") // nobody accepts or reads
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	th.Policy = backendtest.Allowing(t, th.Policy, l.Addr().String())
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	for name, script := range map[string]string{
		"nothing more arrives": `
def one(): s = udp(); s.sendto(b"x", (NAMES, 53)); say(s.shutdown, 2); print(say(s.recvfrom, 9)[0]); sys.stdout.flush()
for _ in range(8): threading.Thread(target=one, daemon=True).start()
time.sleep(2); sys.stdout.flush(); os._exit(0)`,
		"errors wait in the socket": `
def one():
    s = tcp(); s.connect(("127.0.0.1", PORT)); s.setsockopt(1, 37, (1 << 1) | (1 << 4)); s.send(b"x"); time.sleep(.05); full(s); s.sendmsg([bytes(1 << 20)])
for _ in range(8): threading.Thread(target=one, daemon=True).start()
time.sleep(3); sys.stdout.flush(); os._exit(0)`,
		"the last one to close waits": `
s = tcp(); s.connect(("127.0.0.1", PORT)); s.setsockopt(1, 13, struct.pack("ii", 1, 100)); full(s)
threading.Thread(target=lambda: say(s.sendmsg, [bytes(1 << 20)]), daemon=True).start(); time.sleep(.3); os.close(s.fileno())
time.sleep(.5); sys.stdout.flush(); os._exit(0)`,
	} {
		t.Run(name, func(t *testing.T) {
			before, began := used(t), time.Now()
			text, _ := th.Python(t, attacking(script, "PORT", port))
			if spent, took := used(t)-before, time.Since(began); spent > took/4 || took > time.Minute {
				t.Errorf("%v of %v: %q", spent, took, text)
			}
			if name == "nothing more arrives" && text != strings.Repeat("b''\n", 8) {
				t.Errorf("%q", text)
			}
		})
	}
}
