//go:build linux

package network

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestInetSockets: for a command with a network, calls through the broker give the kernel's
// answers.
func TestInetSockets(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		script := func(shut int) string {
			return "import os, socket\n" + strings.Replace(inetScript, "SHUT", strconv.Itoa(shut), 1)
		}
		bare, err := exec.Command(attack.Need(t, "python3"), "-c", script(0)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, bare)
		}
		// A refusal in the session's own network would be recorded if the host had a listener
		// there, so use a port without one.
		shut := 0
		if backendtest.Facts(t, th.Backend).HostNet == 0 {
			th.Policy.Network.Mode = sandbox.NetworkFull
		} else {
			shut = sandboxtest.ShutPort(t)
		}
		if text, denials := th.Python(t, script(shut)); text != string(bare) || len(denials) > 0 {
			t.Errorf("uid %d: %q, without a sandbox %q; %+v", os.Getuid(), text, bare, denials)
		}
	})
}

// inetScript uses network sockets in many ways.
const inetScript = `
import fcntl, signal, struct, select, threading
def say(f, *a):
    try: return f(*a) or "done"
    except OSError as e: return e.errno
tcp = lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)
shut = tcp(); shut.bind(("127.0.0.1", SHUT)); none = shut.getsockname()
l = tcp(); l.bind(("127.0.0.1", 0)); l.listen(64); a = l.getsockname()
c = tcp(); print(say(c.connect, a), say(c.connect, a), c.getpeername() == a, l.accept()[1] == c.getsockname())
print(say(tcp().connect, none), say(tcp().bind, a), say(shut.bind, none), say(tcp().bind, ("127.0.0.1", 1)) in (13, 98, "done"), say(tcp().bind, ("192.0.2.1", 0)))
c = tcp(); c.setblocking(False); say(c.connect, a); select.select([], [c], []); print(c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), say(c.connect, a), fcntl.fcntl(c, fcntl.F_GETFL) & os.O_NONBLOCK != 0)
c = tcp(); c.connect(a); print(fcntl.fcntl(c, fcntl.F_GETFL) & os.O_NONBLOCK)
u, v = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(2)]
u.bind(("127.0.0.1", 0)); v.connect(u.getsockname()); v.send(b"datagram"); print(u.recv(99), say(v.connect, ("127.0.0.1", 0)) != 1)
full = tcp(); full.bind(("127.0.0.1", 0)); full.listen(0); waiting = []
for i in range(8):
    w = tcp(); w.setblocking(False); say(w.connect, full.getsockname()); waiting.append(w)
select.select([], waiting, []) # one is in the queue, which is full
def backlogged(f):
    while True:
        try: f(); return
        except BlockingIOError: print("time is up"); return
        except InterruptedError: print("interrupted"); return
c = tcp(); c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 20000)); backlogged(lambda: c.connect(full.getsockname()))
class Late(Exception): pass
def late(*a): signal.setitimer(signal.ITIMER_REAL, 0); raise Late
signal.signal(signal.SIGALRM, late) # again and again: the first may come before the call
try: signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02); tcp().connect(full.getsockname())
except Late: print("interrupted")
done = []
def wait(): c = tcp(); c.connect(full.getsockname()); done.append(c)
threads = [threading.Thread(target=wait) for i in range(3)]
for t in threads: t.start()
while len(done) < 3:
    select.select([full], [], [], 0.1)[0] and full.accept()
print("connected", len(socket.getaddrinfo("127.0.0.1", 80)) > 0, socket.if_nameindex() != [])`
