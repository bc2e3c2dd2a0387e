//go:build linux

package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// visited is a server on the host that records whether anybody connected.
type visited struct {
	at   netip.AddrPort
	mu   sync.Mutex
	came bool
}

func (v *visited) note() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.came = true
}

// forget reports whether anybody connected since the last call.
func (v *visited) forget() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	came := v.came
	v.came = false
	return came
}

// newVisited serves streams and datagrams at one port.
func newVisited(t *testing.T, host string) *visited {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp4", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		p, err := net.ListenPacket("udp4", l.Addr().String())
		if err != nil {
			l.Close() // the port is taken
			continue
		}
		t.Cleanup(func() { l.Close(); p.Close() })
		v := &visited{at: netip.MustParseAddrPort(l.Addr().String())}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				v.note()
				_, _ = c.Write([]byte("come in"))
				c.Close()
			}
		}()
		go func() {
			for {
				if _, _, err := p.ReadFrom(make([]byte, 99)); err != nil {
					return
				}
				v.note()
			}
		}()
		return v
	}
	t.Fatal("no port is free for both")
	return nil
}

// attackTools is the common part of the attacks. yes is the allowed address and no the refused one;
// both are encoded addresses in memory.
const attackTools = `
import ctypes, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def address(host, port, family=socket.AF_INET): return ctypes.create_string_buffer(struct.pack("=H", family) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8), 16)
def connect(s, a): return libc.connect(s.fileno(), a, 16)
yes, no, none = address(YES_HOST, YES_PORT), address(NO_HOST, NO_PORT), address("0.0.0.0", 0, 0)
tcp = lambda: socket.socket(socket.AF_INET)
udp = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
class Piece(ctypes.Structure): _fields_ = [("at", ctypes.c_char_p), ("size", ctypes.c_size_t)]
class Message(ctypes.Structure): _fields_ = [("name", ctypes.c_void_p), ("room", ctypes.c_uint), ("pieces", ctypes.POINTER(Piece)), ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controls", ctypes.c_size_t), ("flags", ctypes.c_int)]
def message(a): return Message(ctypes.addressof(a), 16, ctypes.pointer(Piece(b"x", 1)), 1, None, 0, 0)
def heard(s):
    s.settimeout(1)
    try: return s.recv(9)
    except OSError: return b""
def race(flip, attempt):
    # Turns count as well as time: on a loaded machine it may not run for all that time.
    end, turns, over = time.time() + SECONDS, [0, 0], threading.Event()
    def flipping():
        while not over.is_set(): flip(); turns[0] += 1
    t = threading.Thread(target=flipping); t.start()
    while time.time() < end or min(turns) < 500: attempt(); turns[1] += 1
    over.set(); t.join()
`

// TestNothingElseIsReached: a command that may reach one host cannot reach another one by it. Each
// attack is first shown to work without a sandbox.
func TestNothingElseIsReached(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	// Without a sandbox each attack reaches the other server, in some cases with a delay.
	yes, no, free := newVisited(t, "127.77.0.1"), newVisited(t, "127.77.0.2"), newVisited(t, "127.77.0.2")
	th.Policy = backendtest.Allowing(t, th.Policy, yes.at.String())
	seconds := "0.5"
	if machine.Thorough() {
		seconds = "4"
	}
	against := func(no *visited, script string) string {
		return "import os, socket\n" + strings.NewReplacer("YES_HOST", `"127.77.0.1"`, "NO_HOST", `"127.77.0.2"`, "YES_PORT", fmt.Sprint(yes.at.Port()), "NO_PORT", fmt.Sprint(no.at.Port()),
			"YES", fmt.Sprint(yes.at.Port()), "NO", fmt.Sprint(no.at.Port()), "SECONDS", seconds).Replace(attackTools+script)
	}
	for _, row := range []struct{ name, script string }{
		{"straight", `connect(tcp(), no)`},
		{"in clothes of version 6", `socket.socket(socket.AF_INET6).connect_ex(("::ffff:127.77.0.2", NO))`},
		{"a connection is taken back and made anew", `s = tcp(); connect(s, yes); heard(s); connect(s, none); connect(s, no)`},
		{"a connection that has ended", `s = tcp(); connect(s, yes); heard(s); s.shutdown(2); connect(s, none); connect(s, no)`},
		{"with the first words", `s = tcp(); s.sendto(b"x", socket.MSG_FASTOPEN, ("127.77.0.2", NO))`},
		{"with the first words, on a connection taken back", `s = tcp(); connect(s, yes); heard(s); connect(s, none); s.sendto(b"x", socket.MSG_FASTOPEN, ("127.77.0.2", NO))`},
		{"by the option for first words", `s = tcp(); s.setsockopt(socket.IPPROTO_TCP, 30, 1); connect(s, no); s.send(b"x")`},
		{"datagrams", `udp().sendto(b"x", ("127.77.0.2", NO))`},
		{"datagrams on a connection", `s = udp(); connect(s, yes); s.sendto(b"x", ("127.77.0.2", NO)); connect(s, no); s.send(b"x")`},
		{"MPTCP", `socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect_ex(("127.77.0.2", NO))`},
		{"race: the address changes", `
a = ctypes.create_string_buffer(yes.raw, 16)
def attempt():
    with tcp() as s: connect(s, a)
race(lambda: (ctypes.memmove(a, no, 16), ctypes.memmove(a, yes, 16)), attempt)`},
		{"race: the address changes, without waiting", `
a = ctypes.create_string_buffer(yes.raw, 16)
def attempt():
    with tcp() as s: s.setblocking(False); connect(s, a)
race(lambda: (ctypes.memmove(a, no, 16), ctypes.memmove(a, yes, 16)), attempt)`},
		{"race: the socket changes", `
own, other = tcp(), tcp(); s = own.dup()
race(lambda: (os.dup2(other.fileno(), s.fileno()), os.dup2(own.fileno(), s.fileno())), lambda: (connect(s, yes), connect(s, none), connect(s, no)))`},
		{"race: the receiver of a datagram changes", `
a, s = ctypes.create_string_buffer(yes.raw, 16), udp()
race(lambda: (ctypes.memmove(a, no, 16), ctypes.memmove(a, yes, 16)), lambda: libc.sendto(s.fileno(), b"x", 1, 0, a, 16))`},
		{"race: the receiver of a message changes", `
a, s = ctypes.create_string_buffer(yes.raw, 16), udp(); m = message(a)
race(lambda: (ctypes.memmove(a, no, 16), ctypes.memmove(a, yes, 16)), lambda: libc.sendmsg(s.fileno(), ctypes.byref(m), 0))`},
		{"race: the socket of a message changes", `
pair, other, m = socket.socketpair()[0], udp(), message(no); fd = os.dup(pair.fileno()); pair.setblocking(False)
race(lambda: (os.dup2(other.fileno(), fd), os.dup2(pair.fileno(), fd)), lambda: libc.sendmsg(fd, ctypes.byref(m), 0))`},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, err := exec.Command(attack.Need(t, "python3"), "-c", against(free, row.script)).CombinedOutput()
			if strings.Contains(string(out), "Protocol not available") || strings.Contains(string(out), "not supported") {
				t.Logf("not on this kernel, so there is no such way: %s", out)
				return
			}
			backendtest.WaitFor(t, free.forget, fmt.Sprintf("without a sandbox nothing is reached either: %v %s", err, out))
			text, denials := th.Python(t, against(no, row.script)+"\nos.write(1, b'tried')")
			if no.forget() {
				t.Errorf("it was reached: %q", text)
			}
			// A way that the broker cannot follow is one that the kernel does not have, so programs take another.
			missing := (strings.Contains(text, "not supported") || strings.Contains(text, "not available")) && !sandboxtest.HasLayer(t, th.Backend, "netns")
			if len(targetsOf(denials)) == 0 && !missing {
				t.Errorf("nothing was refused: %q %+v", text, denials)
			}
		})
	}
	// The attacks could use the allowed server.
	th.Python(t, against(no, "connect(tcp(), yes)"))
	backendtest.WaitFor(t, yes.forget, "the allowed host was not reached")
}

// TestAddressChangesWhileHeld: an approval opens the address that was shown, and not one that
// replaces it meanwhile.
func TestAddressChangesWhileHeld(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	yes, no := newVisited(t, "127.77.0.1"), newVisited(t, "127.77.0.2")
	tools := strings.NewReplacer("YES_HOST", `"127.77.0.1"`, "NO_HOST", `"127.77.0.2"`, "YES_PORT", fmt.Sprint(yes.at.Port()), "NO_PORT", fmt.Sprint(no.at.Port())).Replace(attackTools)
	asked, flipped := th.Dir+"/asked", th.Dir+"/flipped"
	granted := granting(t, yes.at.String())
	a := &backendtest.Asker{Answer: func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
		if d.Target == yes.at.String() {
			if err := os.WriteFile(asked, nil, 0o600); err != nil {
				t.Error(err)
			}
			for _, err := os.Stat(flipped); err != nil && ctx.Err() == nil; _, err = os.Stat(flipped) {
				time.Sleep(time.Millisecond)
			}
		}
		return granted.Answer(ctx, d)
	}}
	script := "import os, socket\n" + tools + `
def flip():
    while not os.path.exists("asked"): time.sleep(0.001)
    ctypes.memmove(a, no, 16); open("flipped", "w").close()
a = ctypes.create_string_buffer(yes.raw, 16); threading.Thread(target=flip).start()
print(connect(tcp(), a), ctypes.get_errno(), connect(tcp(), yes))`
	_, out, denials := th.Ask(t, a, sandbox.Command{Path: attack.Need(t, "python3"), Args: []string{"python3", "-c", script}, Env: th.Env("", th.Out)})
	if out != "-1 111 0\n" || no.forget() {
		t.Errorf("%q", out)
	}
	if got := a.Targets(); !slices.Equal(got, []string{yes.at.String(), no.at.String()}) || len(denials) != 1 || denials[0].Target != no.at.String() {
		t.Errorf("asked for %q, refused %+v", got, denials)
	}
	backendtest.WaitFor(t, yes.forget, "what was granted was not reached")
}
