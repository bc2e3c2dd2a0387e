//go:build linux

package network

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// targetsOf are the targets of network denials, each once, in order.
func targetsOf(denials []sandbox.Denial) (out []string) {
	for _, d := range denials {
		if s := d.Operation + " " + d.Target + " " + d.Errno; d.Kind == sandbox.KindNetwork && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// TestRefusedAddresses: an address that a command could not reach is recorded. An address that the
// session itself could have served is not.
func TestRefusedAddresses(t *testing.T) {
	th := backendtest.OwnNetworkTheatre(t)
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	served, heard, shut := host.Addr().String(), packets.LocalAddr().String(), sandboxtest.ShutPort(t)
	port, listened := strings.TrimPrefix(served, "127.0.0.1:"), strings.TrimPrefix(heard, "127.0.0.1:")
	text, denials := th.Python(t, strings.NewReplacer("SERVED", port, "HEARD", listened, "SHUT", strconv.Itoa(shut)).Replace(`
def say(f, *a):
    try: return f(*a) or "done"
    except OSError as e: return e.errno
tcp = lambda f=socket.AF_INET: socket.socket(f)
udp = lambda f=socket.AF_INET: socket.socket(f, socket.SOCK_DGRAM)
print(say(tcp().connect, ("192.0.2.7", 443)), say(tcp(socket.AF_INET6).connect, ("2001:db8::7", 80)), say(tcp(socket.AF_INET6).connect, ("::ffff:192.0.2.8", 81)))
c = tcp(); c.setblocking(False); print(say(c.connect, ("192.0.2.9", 443)), say(c.connect, ("192.0.2.9", 443)))
print(say(tcp().connect, ("127.0.0.1", SERVED)), say(tcp().connect, ("0.0.0.0", SERVED)), say(tcp(socket.AF_INET6).connect, ("::ffff:127.0.0.1", SERVED)))
c = tcp(); c.setblocking(False); print(say(c.connect, ("127.0.0.1", SERVED)))
shut = tcp(); shut.bind(("127.0.0.1", SHUT)); print(say(tcp().connect, shut.getsockname()))
own = tcp(); own.bind(("127.0.0.1", SERVED)); own.listen(); print(say(tcp().connect, own.getsockname()))
print(say(udp().connect, ("192.0.2.10", 123)), say(udp().sendto, b"x", ("192.0.2.11", 124)), say(udp().sendmsg, [b"x"], [], 0, ("192.0.2.12", 125)))
print(say(udp().sendto, b"x", ("127.0.0.1", HEARD)), say(tcp().sendto, b"x", socket.MSG_FASTOPEN, ("192.0.2.13", 126)))
mine = udp(); mine.bind(("127.0.0.1", HEARD)); print(say(udp().sendto, b"xy", ("127.0.0.1", HEARD)), mine.recv(9))
print(say(tcp().bind, ("192.0.2.14", 0)), say(tcp().connect_ex, ("127.0.0.1", 1)))
a, b = socket.socketpair(); print(a.sendmsg([b"pair"]), b.recv(9))`))
	want := "101 101 101\n101 101\n111 111 111\n111\n111\ndone\n101 101 101\n111 101\n2 b'xy'\n99 111\n4 b'pair'\n"
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
	got := strings.Join(targetsOf(denials), "\n")
	targets := strings.NewReplacer("SERVED", served, "HEARD", heard).Replace(`connect 192.0.2.7:443 ENETUNREACH
connect [2001:db8::7]:80 ENETUNREACH
connect 192.0.2.8:81 ENETUNREACH
connect 192.0.2.9:443 ENETUNREACH
connect SERVED ECONNREFUSED
connect 192.0.2.10:123 ENETUNREACH
sendto 192.0.2.11:124 ENETUNREACH
sendmsg 192.0.2.12:125 ENETUNREACH
sendto HEARD ECONNREFUSED
sendto 192.0.2.13:126 ENETUNREACH`)
	if got != targets {
		t.Errorf("refused:\n%s\nwant:\n%s", got, targets)
	}
	for _, d := range denials {
		if d.Evidence != sandbox.EvidenceKernel || !strings.HasPrefix(d.Program, "python") || d.PID == 0 {
			t.Errorf("%+v", d)
		}
		if fast := strings.HasSuffix(d.Target, ":126"); fast == (d.Why == "") {
			t.Errorf("%+v: a connection and datagrams can be granted", d)
		}
	}
}

// TestWrittenNames: the command knows a name in hosts(5). Libraries also ask for its other
// addresses; refusing that does no harm.
func TestWrittenNames(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	text, denials := th.Python(t, `
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNSPEC):
    try: print(bool(socket.getaddrinfo("localhost", 1, family)))
    except OSError as e: print("not in this family")
try: socket.getaddrinfo("localhost.example.com", 1)
except OSError as e: print("no")`)
	if got := strings.Join(targetsOf(denials), "\n"); !strings.HasPrefix(text, "True\n") || !strings.HasSuffix(text, "True\nno\n") || strings.TrimSpace(got) != "lookup localhost.example.com" {
		t.Errorf("%q, %q", text, got)
	}
}

// TestRefusedBind: a command cannot serve at an address that only the host has.
func TestRefusedBind(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	at := ""
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			at = ip.IP.String()
		}
	}
	for _, row := range []struct{ at, told string }{
		{"203.0.113.77", ""}, // nobody has it: it fails without a sandbox too
		{at, "bind " + at + ":8099 EADDRNOTAVAIL"},
	} {
		if row.at == "" {
			continue // this machine has only loopback addresses
		}
		text, denials := th.Python(t, fmt.Sprintf(`
try: socket.socket().bind(("%s", 8099))
except OSError as e: print(e.errno)`, row.at))
		grantable := slices.ContainsFunc(denials, func(d sandbox.Denial) bool { return d.Why == "" })
		if got := strings.Join(targetsOf(denials), "\n"); text != "99\n" || got != row.told || grantable {
			t.Errorf("%s: %q, %q", row.at, text, got)
		}
	}
}

// TestRefusedBeside: where commands have no network of their own, an address that a command may not reach is
// recorded, and can be granted. What a command of the session serves is reached, by others and on no other
// address than the loopback.
func TestRefusedBeside(t *testing.T) {
	b := backendtest.NewPlain(t)
	defer b.Close()
	th := backendtest.NewTheatre(t, b)
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	served, heard := host.Addr().String(), packets.LocalAddr().String()
	text, denials := th.Python(t, strings.NewReplacer("SERVED", strings.TrimPrefix(served, "127.0.0.1:"), "HEARD", strings.TrimPrefix(heard, "127.0.0.1:")).Replace(`
def say(f, *a):
    try: return f(*a) or "done"
    except OSError as e: return e.errno
tcp = lambda f=socket.AF_INET: socket.socket(f)
udp = lambda f=socket.AF_INET: socket.socket(f, socket.SOCK_DGRAM)
print(say(tcp().connect, ("192.0.2.7", 443)), say(tcp(socket.AF_INET6).connect, ("2001:db8::7", 80)), say(tcp(socket.AF_INET6).connect, ("::ffff:192.0.2.8", 81)))
print(say(tcp().connect, ("127.0.0.1", SERVED)), say(tcp().connect, ("0.0.0.0", SERVED)), say(tcp().bind, ("127.0.0.1", SERVED)))
s = tcp(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); print(say(s.bind, ("127.0.0.1", SERVED)), say(tcp().bind, ("192.0.2.14", 0)))
print(say(udp().connect, ("192.0.2.10", 123)), say(udp().sendto, b"x", ("192.0.2.11", 124)), say(udp().sendmsg, [b"x"], [], 0, ("192.0.2.12", 125)))
print(say(udp().sendto, b"x", ("127.0.0.1", HEARD)), say(tcp().sendto, b"x", socket.MSG_FASTOPEN, ("192.0.2.13", 126)))
print(say(socket.socket, socket.AF_INET, socket.SOCK_STREAM, 262), say(udp().setsockopt, 0, 4, bytes(4)))
for family, everywhere in (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"):
    own = tcp(family); own.bind((everywhere, 0)); own.listen(); at = own.getsockname()
    c = tcp(); print(at[0], say(c.connect, ("127.0.0.1", at[1])))
    a, _ = own.accept(); a.sendmsg([b"thr", b"ough"]); print(c.recv(9), c.getpeername() == ("127.0.0.1", at[1]))
quiet = tcp(); quiet.listen(); print(quiet.getsockname()[0])
mine = udp(); mine.bind(("0.0.0.0", 0)); at = mine.getsockname(); other = udp()
print(at[0], other.sendto(b"xy", ("127.0.0.1", at[1]))); got, back = mine.recvfrom(9); print(got, mine.sendto(b"back", back), other.recv(9))
other.connect(("127.0.0.1", at[1])); other.send(b"conn"); got, back = mine.recvfrom(9); print(got, say(mine.sendto, b"answer", back), other.recv(9))
a, b = socket.socketpair(); print(a.sendmsg([b"pair"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, (1).to_bytes(4, "little"))]), socket.recv_fds(b, 9, 1)[0])
print(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).fileno() > 0, bool(socket.if_nameindex()))`))
	want := "101 101 101\n111 111 98\n98 99\n101 101 101\n111 95\n93 92\n127.0.0.1 done\nb'through' True\n::ffff:127.0.0.1 done\nb'through' True\n127.0.0.1\n0.0.0.0 2\nb'xy' 4 b'back'\nb'conn' 6 b'answer'\n4 b'pair'\nTrue True\n"
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
	got := strings.Join(targetsOf(denials), "\n")
	if targets := strings.NewReplacer("SERVED", served, "HEARD", heard).Replace(`connect 192.0.2.7:443 ENETUNREACH
connect [2001:db8::7]:80 ENETUNREACH
connect 192.0.2.8:81 ENETUNREACH
connect SERVED ECONNREFUSED
connect 192.0.2.10:123 ENETUNREACH
sendto 192.0.2.11:124 ENETUNREACH
sendmsg 192.0.2.12:125 ENETUNREACH
sendto HEARD ECONNREFUSED`); got != targets {
		t.Errorf("refused:\n%s\nwant:\n%s", got, targets)
	}
	for _, d := range denials {
		if d.Evidence != sandbox.EvidenceKernel || !strings.HasPrefix(d.Program, "python") || d.PID == 0 || d.Kind == sandbox.KindNetwork && d.Why != "" {
			t.Errorf("%+v", d)
		}
	}
}

// TestMessagesBeside: a message that the broker sends gets there whole, waits as the program asked, and takes
// descriptors with it.
func TestMessagesBeside(t *testing.T) {
	b := backendtest.NewPlain(t)
	defer b.Close()
	th := backendtest.NewTheatre(t, b)
	text, denials := th.Python(t, `
import array, ctypes, errno, signal, struct, threading, time
def say(f, *a):
    try: return f(*a)
    except OSError as e: return errno.errorcode[e.errno]
a, b = socket.socketpair()
def reader():
    total = 0
    while total < 700000: time.sleep(0.002); total += len(b.recv(65536))
    print("read", total)
t = threading.Thread(target=reader); t.start()
print("sent", a.sendmsg([b"x" * 300000, b"y" * 400000])); t.join()
a.setblocking(False); full = 0
while (n := say(a.sendmsg, [bytes(4096)])) != "EAGAIN": full += n
print("full" if full else "empty")
a.setblocking(True); a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 200000)); print(say(a.sendmsg, [bytes(4096)]))
a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 0))
def stop(*_): raise InterruptedError(errno.EINTR, "stopped")
signal.signal(signal.SIGALRM, stop); signal.setitimer(signal.ITIMER_REAL, 0.2); print(say(a.sendmsg, [bytes(4096)]))
b.close(); print(say(a.sendmsg, [b"x"]))
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); r, w = os.pipe()
print(socket.send_fds(a, [b"with a pipe"], [w] * 20)); got = socket.recv_fds(b, 99, 20); os.write(got[1][19], b"through"); print(got[0], len(got[1]), os.read(r, 9))
print(say(a.sendmsg, [b"x"], [(socket.SOL_SOCKET, 2, struct.pack("3i", os.getpid(), 0, 0))]))
receiver, sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0)); sender.connect(receiver.getsockname())
libc = ctypes.CDLL(None, use_errno=True)
text = ctypes.create_string_buffer(b"abc"); piece = struct.pack("QQ", ctypes.addressof(text), 3); pieces = ctypes.create_string_buffer(piece)
many = ctypes.create_string_buffer(struct.pack("QIIQQQQiiIi", 0, 0, 0, ctypes.addressof(pieces), 1, 0, 0, 0, 0, 0, 0) * 100, 6400)
n = libc.sendmmsg(sender.fileno(), many, 100, 0)
print(n, struct.unpack_from("I", many.raw, 56)[0], sum(len(receiver.recv(9)) for _ in range(n)))
print(say(sender.sendmsg, [bytes(70000)]), say(sender.sendmsg, [b""]), len(receiver.recv(9)))
print(libc.sendmsg(sender.fileno(), ctypes.c_void_p(8), 0), errno.errorcode[ctypes.get_errno()], libc.sendmsg(99, many, 0), errno.errorcode[ctypes.get_errno()])`)
	want := "sent 700000\nread 700000\n"
	if text = strings.Replace(text, "read 700000\nsent 700000\n", want, 1); text != want+"full\nEAGAIN\nEINTR\nEPIPE\n11\nb'with a pipe' 20 b'through'\nEPERM\n64 3 192\nEMSGSIZE 0 0\n-1 EFAULT -1 EBADF\n" || len(denials) > 0 {
		t.Errorf("%q, %+v", text, denials)
	}
}
