//go:build linux

package network

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// startHost runs a host as a process of its own, whose address it returns.
func startHost(t testing.TB) (at string, end func()) {
	t.Helper()
	host := exec.Command(os.Args[0], "-test.run=^TestNetVictim$")
	host.Env = netVictimCommand("pour").Env
	out, err := host.StdoutPipe()
	if err == nil {
		err = host.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	end = func() { _, _ = host.Process.Kill(), host.Wait() }
	at, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end()
		t.Fatal(err)
	}
	return strings.TrimSpace(at), end
}

// holdings are what connections may leave in this process.
type holdings struct{ goroutines, descriptors, entries int }

func holds(t *testing.T, th *backendtest.Theatre) holdings {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return holdings{runtime.NumGoroutine(), len(fds), backendtest.Connections(th.Backend)}
}

// bulkTools are for scripts about many bytes.
const bulkTools = `
import threading, time
host, port = os.environ["AT"].split(":")
def ask(size): s = socket.create_connection((host, int(port))); s.sendall(b"%d\n" % size); return s
def take(s, most=1 << 60, pause=0):
    n = 0
    while n < most:
        more = s.recv(1 << 16)
        if not more: break
        n += len(more); time.sleep(pause)
    s.close(); return n
def at_once(f, times):
    got = []; ts = [threading.Thread(target=lambda: got.append(f())) for _ in range(times)]
    for t in ts: t.start()
    for t in ts: t.join()
    return got
def failing(f):
    try: f(); return "no error"
    except OSError: return "failed"
`

// TestConnectionsLeaveNothing: whatever happens to a command's connections, they arrive whole or fail, and
// leave no goroutine, descriptor or entry in codeagent.
func TestConnectionsLeaveNothing(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	large := 256 << 20
	if machine.Everything() {
		large = 2 << 30
	}
	python := attack.Need(t, "python3")
	for _, row := range []struct {
		what, script, want string
		// during happens after the script has said "now".
		during func(p sandbox.Process, endHost func())
	}{
		{"parallel downloads", `print(set(at_once(lambda: take(ask(300000)), 200)))`, "{300000}\n", nil},
		{"a large one", fmt.Sprintf(`print(take(ask(%d)))`, large), fmt.Sprintln(large), nil},
		{"slow clients", `
slow = ask(20 << 20); print(take(ask(5 << 20))) # which another one does not stop
print(take(slow, 1 << 20, .01) >= 1 << 20)`, "5242880\nTrue\n", nil},
		{"half closed", `
s = ask(300000); s.shutdown(socket.SHUT_WR); print(take(s)); s = ask(0); print(s.recv(9)); time.sleep(.1); s.close()
s = socket.create_connection((host, int(port))); s.shutdown(socket.SHUT_WR); print(s.recv(9)); s.close(); ask(0).shutdown(socket.SHUT_RD)`, "300000\nb''\nb''\n", nil},
		{"given up", `
def give():
    s = socket.socket(); s.setblocking(False); s.connect_ex((host, int(port))); s.close()
for _ in range(300): give()
at_once(lambda: [give() for _ in range(20)], 20); print("done")`, "done\n", nil},
		{"still open at the end", `l = [ask(1 << 30) for _ in range(9)]; print(l[0].recv(1))`, "b'\\x00'\n", nil},
		{"the host is killed", `
l = [ask(1 << 40) for _ in range(9)]; print("now", flush=True); print({failing(lambda: take(s)) for s in l} <= {"failed", "no error"}, failing(lambda: ask(1)))`,
			"True failed\n", func(_ sandbox.Process, endHost func()) { endHost() }},
		{"the command is killed", `l = [ask(1 << 40) for _ in range(9)]; print("now", flush=True); at_once(lambda: take(l.pop()), 9)`, "",
			func(p sandbox.Process, _ func()) { p.Kill() }},
		// Its connections may end before it is killed.
		{"the session is over", `l = [ask(1 << 40) for _ in range(9)]; print("now", flush=True); at_once(lambda: failing(lambda: take(l.pop())), 9)`, "", nil},
	} {
		t.Run(row.what, func(t *testing.T) {
			th, sessionEnds := th, row.what == "the session is over"
			at, endHost := startHost(t)
			defer endHost()
			p := backendtest.Allowing(t, th.Policy, at)
			env := append(th.Env("", th.Out), "AT="+at)
			const imports = "import os, socket, sys\n" + bulkTools
			// What a session has once it has had a connection.
			sandboxtest.Output(t, th.Backend, p, sandbox.Command{Path: python, Args: []string{"python3", "-c", imports + "take(ask(1))"}, Dir: th.Dir, Env: env})
			before := holds(t, th)
			if sessionEnds {
				// Where no namespace can be made, package syscall leaves a pipe of each attempt open (forkExec).
				backendtest.NetworkTheatre(t).Backend.Close()
				one := holds(t, th)
				backendtest.NetworkTheatre(t).Backend.Close()
				before = holds(t, th)
				before.descriptors += before.descriptors - one.descriptors
				th = backendtest.NetworkTheatre(t)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			stdin, kept, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			// It stays until it is known what its connections have left.
			script := imports + row.script + "\nprint('end', flush=True); sys.stdin.read()"
			proc, err := sandboxtest.Start(th.Backend, t.Context(), p, sandbox.Command{Path: python, Dir: th.Dir,
				Args: []string{"python3", "-c", script}, Env: env, Stdin: stdin, Stdout: w, Stderr: w}, nil)
			w.Close()
			stdin.Close()
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for out := bufio.NewReader(r); ; {
				line, err := out.ReadString('\n')
				if line == "now\n" && row.during != nil {
					row.during(proc, endHost)
				} else if line == "now\n" {
					proc.Kill()
					th.Backend.Close()
				} else if line == "end\n" || err != nil {
					break
				} else {
					got.WriteString(line)
				}
			}
			if row.what != "still open at the end" && !sessionEnds {
				backendtest.WaitFor(t, func() bool { return backendtest.Connections(th.Backend) == 0 }, "entries stay while the command runs")
			}
			kept.Close()
			_, _ = io.Copy(io.Discard, r)
			r.Close()
			if _, err := proc.Wait(); err != nil {
				t.Error(err)
			}
			if got.String() != row.want {
				t.Errorf("%q, want %q", got.String(), row.want)
			}
			after := holdings{}
			backendtest.WaitFor(t, func() bool {
				after = holds(t, th)
				return after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.entries == 0
			}, fmt.Sprintf("before %+v", before))
		})
	}
}

// TestServerOfOneConnection: a client is connected to a server that closes its socket as soon as it has accepted.
// Datagrams to a server that is gone are lost without an error.
func TestServerOfOneConnection(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	text, denials := th.Python(t, fmt.Sprintf(`
import threading
def serve(l): c = l.accept()[0]; l.close(); c.close()
failed = 0
for i in range(%d):
    l = socket.create_server(("127.0.0.1", 0)); l.settimeout(9); at = l.getsockname()
    t = threading.Thread(target=serve, args=(l,)); t.start()
    try: socket.create_connection(at, None if i %% 2 else 30).close()
    except OSError: failed += 1; l.close()
    t.join()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(failed, u.sendto(b"abc", at), u.sendmsg([b"d", b"e"], [], 0, at))`, machine.Times(200, 1000)))
	if text != "0 3 2\n" || len(denials) > 0 {
		t.Errorf("%q %+v", text, denials)
	}
}
