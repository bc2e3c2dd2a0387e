//go:build linux

package denials

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// greeter accepts connections, sends a line on each, and reports when one ends.
func greeter(t *testing.T, network, at string) (l net.Listener, ended <-chan error) {
	t.Helper()
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	over := make(chan error, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, "hello\n")
				_, err := io.Copy(io.Discard, c)
				over <- err
			}()
		}
	}()
	return l, over
}

// revoke revokes g from the running command.
func (k *talk) revoke(g sandbox.Grant, open ...sandbox.Policy) sandbox.RevokeResult {
	return k.proc.Revoke(sandbox.Revocation{Grant: g, Open: append(open, sandbox.Policy{})[0]})
}

func (k *talk) endsSoon(ended <-chan error) {
	k.Helper()
	select {
	case <-ended:
	case <-time.After(attack.Patience):
		k.Fatal("the connection is still open")
	}
}

// TestRevokeHost: an open connection to a revoked host ends, and one to another host does not. The
// revoked host cannot be reached again, and nobody is asked about it.
func TestRevokeHost(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	first, firstEnded := greeter(t, "tcp", "127.77.0.1:0")
	second, secondEnded := greeter(t, "tcp", "127.77.0.1:0")
	th.Policy = backendtest.Allowing(t, th.Policy, first.Addr().String(), second.Addr().String())
	port := func(l net.Listener) string { return strings.TrimPrefix(l.Addr().String(), "127.77.0.1:") }
	k := newTalk(t, th, "bash", "-c", `
		exec 3<>/dev/tcp/127.77.0.1/`+port(first)+` 4<>/dev/tcp/127.77.0.1/`+port(second)+`
		read -u 3 a; read -u 4 b; echo "$a $b"
		read -u 3 a 2>/dev/null || echo cut
		read
		(exec 5<>/dev/tcp/127.77.0.1/`+port(first)+`) 2>/dev/null || echo refused
		echo more >&4 && echo open
		read`)
	k.hears("hello hello")
	host, err := sandbox.ParseHostPort(first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if out := k.revoke(sandbox.Grant{Hosts: []sandbox.HostPort{host}}); out.Cut != 1 || len(out.Stays) != 0 {
		t.Errorf("revoked: %+v", out)
	}
	k.hears("cut")
	k.endsSoon(firstEnded)
	k.tell()
	k.hears("refused")
	k.hears("open")
	select {
	case err := <-secondEnded:
		t.Errorf("the other connection ended: %v", err)
	case q := <-k.asked:
		t.Errorf("asked for %s", q.Target)
	default:
	}
	k.tell()
	k.hears("")
}

// TestRevokeDatagrams: what a connected datagram socket sends to a revoked host does not get there any more.
func TestRevokeDatagrams(t *testing.T) {
	th := backendtest.OwnNetworkTheatre(t)
	host, err := net.ListenPacket("udp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	at := host.LocalAddr().String()
	th.Policy = backendtest.Allowing(t, th.Policy, at)
	k := newTalk(t, th, attack.Need(t, "python3"), "-uc", strings.ReplaceAll(`
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(AT); s.send(b"one"); print("sent"); sys.stdin.readline()
for f in lambda: s.send(b"two"), lambda: s.sendto(b"three", AT), lambda: s.connect(AT):
    try: f(); print("done")
    except OSError as e: print("refused")
sys.stdin.readline()`, "AT", `("127.77.0.1", `+strings.TrimPrefix(at, "127.77.0.1:")+`)`))
	k.hears("sent")
	buf := make([]byte, 9)
	if n, _, err := host.ReadFrom(buf); string(buf[:n]) != "one" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	to, err := sandbox.ParseHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	if out := k.revoke(sandbox.Grant{Hosts: []sandbox.HostPort{to}}); out.Cut != 1 || len(out.Stays) != 0 {
		t.Errorf("revoked: %+v", out)
	}
	k.tell()
	for _, says := range []string{"done", "refused", "refused"} { // the kernel reports the first with the next call
		k.hears(says)
	}
	_ = host.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, _, err := host.ReadFrom(buf); err == nil {
		t.Errorf("it got %q", buf[:n])
	}
	k.tell()
	k.hears("")
}

// TestRevokeHidden: where commands have no network of their own, a connection to a revoked host ends that the
// command keeps in the descriptors of one thread. One that it hides in a message stays, and the result says so.
// What it began to send to the host, and holds back, does not get there.
func TestRevokeHidden(t *testing.T) {
	attack.Need(t, "python3")
	for _, row := range []struct{ name, hide, back, cut, then string }{
		{"in a thread's own table", `
go, ok, out = threading.Event(), threading.Event(), []
def own():
    ctypes.CDLL(None).unshare(0x400); s = socket.create_connection(AT); s.recv(9); ok.set(); go.wait()
    out.append(try_(s)); ok.set()
threading.Thread(target=own).start(); ok.wait(); ok.clear()`, `go.set(); ok.wait(); print(out[0])`, "1 []", "cut"},
		{"in a message on its way", `a, b = socket.socketpair(); s = socket.create_connection(AT); s.recv(9); socket.send_fds(a, [b"x"], [s.fileno()]); s.close()`,
			`print(try_(socket.socket(fileno=socket.recv_fds(b, 9, 1)[1][0])))`, "0 [connections to a host that are open already]", "open"},
		{"in a datagram that waits for more", `u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.sendto(b"now", socket.MSG_MORE, AT)`,
			`
try: u.send(b"later"); print("open")
except OSError: print("cut")`, "0 []", "cut"},
		{"in a connected datagram that waits for more", `u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.connect(AT); u.send(b"now", socket.MSG_MORE)`,
			`
try: u.send(b"later"); print("open")
except OSError: print("cut")`, "1 []", "cut"},
		{"in a datagram that a pipe began", `
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.connect(AT); r, w = os.pipe(); os.write(w, b"now"); os.splice(r, u.fileno(), 3, flags=4)`,
			`
try: u.send(b"later"); print("open")
except OSError: print("cut")`, "1 []", "cut"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := backendtest.NewPlain(t)
			defer b.Close()
			th := backendtest.NewTheatre(t, b)
			l, _ := greeter(t, "tcp", "127.77.0.1:0")
			datagrams, err := net.ListenPacket("udp", l.Addr().String())
			if err != nil {
				t.Skip("another program has the port for datagrams")
			}
			defer datagrams.Close()
			th.Policy = backendtest.Allowing(t, th.Policy, l.Addr().String())
			k := newTalk(t, th, "python3", "-uc", strings.ReplaceAll(`
import ctypes, os, socket, sys, threading
def try_(s):
    s.settimeout(.3)
    try: s.send(b"after"); return "cut" if s.recv(9) == b"" else "open"
    except TimeoutError: return "open"
    except OSError: return "cut"
`+row.hide+`
print("ready"); sys.stdin.readline()
`+row.back+`
sys.stdin.readline()`, "AT", `("127.77.0.1", `+strings.TrimPrefix(l.Addr().String(), "127.77.0.1:")+`)`))
			k.hears("ready")
			host, err := sandbox.ParseHostPort(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			out := k.revoke(sandbox.Grant{Hosts: []sandbox.HostPort{host}})
			if got := fmt.Sprint(out.Cut, out.Stays); got != row.cut {
				t.Errorf("revoked: %s, want %s", got, row.cut)
			}
			k.tell()
			k.hears(row.then)
			k.tell()
			k.hears("")
			_ = datagrams.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			buf := make([]byte, 99)
			for {
				n, _, err := datagrams.ReadFrom(buf)
				if err != nil {
					break
				}
				if strings.Contains(string(buf[:n]), "later") {
					t.Errorf("the host got %q", buf[:n])
				}
			}
		})
	}
}

// TestRevokeSocket: a connection to a revoked path socket is shut down, also in a child that
// inherited it.
func TestRevokeSocket(t *testing.T) {
	attack.Need(t, "python3")
	th := backendtest.NewTheatre(t, backendtest.New(t))
	t.Cleanup(func() { th.Backend.Close() })
	path := filepath.Join(filepath.Dir(th.Out), "s")
	l, ended := greeter(t, "unix", path)
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	_ = l
	th.Policy = th.Policy.With(sandbox.Grant{Sockets: []string{path}})
	k := newTalk(t, th, "python3", "-uc", `
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect("`+path+`")
print(s.recv(100).decode().strip())
if os.fork() == 0:
    print("cut" if s.recv(1) == b"" else "more")
    os._exit(0)
os.wait()
print("cut" if s.recv(1) == b"" else "more")
sys.stdin.readline()
try:
    socket.socket(socket.AF_UNIX).connect("`+path+`"); print("reached")
except OSError as e:
    print("refused")
sys.stdin.readline()`)
	k.hears("hello")
	out := k.revoke(sandbox.Grant{Sockets: []string{path}})
	if out.Cut != 1 || len(out.Stays) != 0 {
		k.Skipf("not tried: sockets of commands cannot be copied here (%+v)", out)
	}
	k.hears("cut")
	k.hears("cut")
	k.endsSoon(ended)
	k.tell()
	k.hears("refused")
	k.tell()
	k.hears("")
}

// TestRevokeMany: of very many connections to a host or a socket, those that are open end, also after more than
// are remembered at a time.
func TestRevokeMany(t *testing.T) {
	attack.Need(t, "python3")
	before, open := 50, 1100
	if machine.Thorough() {
		before = 5000
	}
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			b := backendtest.NewPlain(t)
			defer b.Close()
			th := backendtest.NewTheatre(t, b)
			at := map[string]string{"tcp": "127.77.0.1:0", "unix": filepath.Join(filepath.Dir(th.Out), "s")}[network]
			l, err := net.Listen(network, at)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() { _, _ = io.Copy(io.Discard, c); c.Close() }()
				}
			}()
			g, family, to := sandbox.Grant{Sockets: []string{at}}, "AF_UNIX", `"`+at+`"`
			if network == "tcp" {
				host, err := sandbox.ParseHostPort(l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				g, family, to = sandbox.Grant{Hosts: []sandbox.HostPort{host}}, "AF_INET", fmt.Sprintf(`("127.77.0.1", %d)`, host.Port)
				th.Policy = backendtest.Allowing(t, th.Policy, host.String())
			} else if err := os.Chmod(at, 0o777); err != nil {
				t.Fatal(err)
			} else {
				th.Policy = th.Policy.With(g)
			}
			k := newTalk(t, th, "python3", "-uc", fmt.Sprintf(`
import resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
def one(): s = socket.socket(socket.%s); s.connect(%s); return s
for _ in range(%d): one().close()
l = [one() for _ in range(%d)]
print("ready"); sys.stdin.readline()
print({s.recv(1) for s in l})
sys.stdin.readline()`, family, to, before, open))
			k.hears("ready")
			if out := k.revoke(g); out.Cut != open || len(out.Stays) != 0 {
				t.Errorf("revoked: %+v", out)
			}
			k.tell()
			k.hears("{b''}")
			k.tell()
			k.hears("")
		})
	}
}

// TestRevokeFolder: after its revocation a folder cannot be changed, whether it was granted before
// the start or while the command ran. An open file stays open, and the answer says so.
func TestRevokeFolder(t *testing.T) {
	for name, held := range map[string]bool{"before the start": false, "while it ran": true} {
		t.Run(name, func(t *testing.T) {
			th := backendtest.NewTheatre(t, backendtest.New(t))
			t.Cleanup(func() { th.Backend.Close() })
			folder := filepath.Join(filepath.Dir(th.Out), "granted")
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			g := sandbox.Grant{Write: []string{folder}}
			if !held {
				th.Policy = th.Policy.With(g)
			}
			k := newTalk(t, th, "bash", "-c", `
				exec 3>`+folder+`/open && echo made
				read
				echo more >&3 && echo still
				(echo x > `+folder+`/new) 2>/dev/null || echo refused
				rm -f `+folder+`/open 2>/dev/null || echo kept
				echo x > file && echo inside
				read`)
			if held {
				k.next(folder + "/open").answer <- &g
			}
			k.hears("made")
			if out := k.revoke(g); len(out.Stays) != 1 || out.Cut != 0 {
				t.Errorf("revoked: %+v", out)
			}
			k.tell()
			for _, line := range []string{"still", "refused", "kept", "inside"} {
				k.hears(line)
			}
			select {
			case q := <-k.asked:
				t.Errorf("asked for %s", q.Target)
			default:
			}
			k.tell()
			k.hears("")
		})
	}
}

// TestRevokeBelow: a file that was opened through a folder closes with the folder, whether it was
// opened before the start or while the command ran. A file that is also open in another way stays
// open.
func TestRevokeBelow(t *testing.T) {
	for name, held := range map[string]bool{"before the start": false, "while it ran": true} {
		t.Run(name, func(t *testing.T) {
			th := backendtest.NewTheatre(t, backendtest.New(t))
			t.Cleanup(func() { th.Backend.Close() })
			folder := filepath.Join(filepath.Dir(th.Out), "granted")
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			file, other := sandbox.Grant{Write: []string{folder + "/open"}}, sandbox.Grant{Write: []string{folder + "/other"}}
			open := th.Policy.With(other)
			th.Policy = open
			if !held {
				th.Policy = th.Policy.With(file)
			}
			k := newTalk(t, th, "bash", "-c", `
				exec 3>`+folder+`/open && echo a > `+folder+`/other && echo made
				read
				echo more >&3 && echo still
				(echo x > `+folder+`/open) 2>/dev/null || echo refused
				rm -f `+folder+`/open 2>/dev/null || echo kept
				echo x > `+folder+`/other && echo other
				read`)
			if held {
				k.next(folder + "/open").answer <- &file
			}
			k.hears("made")
			if out := k.revoke(sandbox.Grant{Write: []string{folder}}, open); len(out.Stays) != 1 || out.Cut != 0 {
				t.Errorf("revoked: %+v", out)
			}
			k.tell()
			for _, line := range []string{"still", "refused", "kept", "other"} {
				k.hears(line)
			}
			select {
			case q := <-k.asked:
				t.Errorf("asked for %s", q.Target)
			default:
			}
			k.tell()
			k.hears("")
		})
	}
}

// TestRevokeSettings runs these tests in every setting.
func TestRevokeSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI these tests run in this setting, and as a user
	tests.InSettings(t, "^TestRevoke(Host|Socket|Folder|Below)$")
}

// TestRevokeAsUser runs these tests for a user without privileges.
func TestRevokeAsUser(t *testing.T) { tests.AsUser(t, "^TestRevoke(Host|Socket|Folder|Below)$") }
