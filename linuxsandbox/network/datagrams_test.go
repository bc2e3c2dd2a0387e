//go:build linux

package network

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/sandbox"
)

// datagramTools are for scripts about datagram sockets of AF_UNIX.
const datagramTools = `
import array, ctypes, errno, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def say(f, *a):
    try: return f(*a)
    except OSError as e: return errno.errorcode[e.errno]
def unix(at=None):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if at: s.bind(at)
    return s
def many(s, *messages): # sendmmsg
    keep, m = [], b""
    for to, text in messages:
        name = ctypes.create_string_buffer(struct.pack("=H", 1) + to.encode() + b"\0"); data = ctypes.create_string_buffer(text, len(text)); piece = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(data), len(text)))
        keep += [name, data, piece]; m += struct.pack("QIIQQQQiIII", ctypes.addressof(name), len(name) if to else 0, 0, ctypes.addressof(piece), 1, 0, 0, 0, 0, 0, 0)
    m = ctypes.create_string_buffer(m, len(m)); n = libc.sendmmsg(s.fileno(), m, len(messages), 0)
    return n if n >= 0 else errno.errorcode[ctypes.get_errno()]
`

// TestUnixDatagrams: datagrams of AF_UNIX reach what commands of the session bound, as without a sandbox, and
// nothing else.
func TestUnixDatagrams(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		facts := backendtest.Facts(t, th.Backend)
		if facts.Sockets == sockets.TakesStandIns {
			t.Log("the broker cannot copy sockets here, so no such call can be tried (TestPathSocketsHeld)")
			return
		}
		for _, row := range []struct{ name, script, want string }{
			{"there and back", `
a, b = unix("a"), unix(os.getcwd() + "/b"); print(a.getsockname(), b.getsockname() == os.getcwd() + "/b", b.sendto(b"hello", "a"))
text, back = a.recvfrom(9); print(text, a.sendto(b"back", back), b.recv(9))
b.connect("a"); print(b.getpeername(), b.send(b"one"), b.sendmsg([b"t", b"wo"]), a.recv(9), a.recv(9), say(a.sendto, b"x", "none"))
libc.connect(b.fileno(), bytes(2), 2); print(say(b.send, b"x"))`,
				"a True 5\nb'hello' 4 b'back'\na 3 3 b'one' b'two' ENOENT\nENOTCONN\n"},
			{"answers to equal names", `
os.mkdir("one"); os.mkdir("two"); s = unix("server"); a, b = unix("one/s"), unix("two/s"); os.chdir("two"); c = unix("s2")
for i, u in enumerate([a, b, c]): u.sendto(b"%d" % i, "../server")
for _ in range(3): text, back = s.recvfrom(9); s.sendto(b"to " + text, back)
print(a.recv(9), b.recv(9), c.recv(9))`, "b'to 0' b'to 1' b'to 2'\n"},
			{"pairs", `
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); s = unix("s"); r, w = os.pipe()
print(a.send(b"z" * 100000), len(b.recv(200000)), a.sendto(b"x", "s"), s.recv(9), socket.send_fds(a, [b"pipe"], [w]))
text, fds, _, _ = socket.recv_fds(b, 9, 1); os.write(fds[0], b"through"); print(text, os.read(r, 9))`, "100000 100000 1 b'x' 4\nb'pipe' b'through'\n"},
			{"many at once", `
a, b, s = unix("a"), unix("b"), unix(); print(many(s, ("a", b"1"), ("b", b"22"), ("a", b"")), a.recv(9), b.recv(9), a.recv(9))
print(many(s, ("a", b"1"), ("none", b"2"), ("b", b"3")), many(s, ("none", b"2"), ("b", b"3")), a.recv(9), say(b.recv, 9, socket.MSG_DONTWAIT))`,
				"3 b'1' b'22' b''\n1 ENOENT b'1' EAGAIN\n"},
			{"odd ones", `
a, s = unix("a"), unix(); open("file", "w").close(); l = socket.socket(socket.AF_UNIX); l.bind("l")
print(say(s.sendto, b"x", socket.MSG_OOB, "a"), say(s.sendto, b"x" * (1 << 22), "a"), say(s.sendto, b"x", "file"), say(s.sendto, b"x", "l"), libc.sendto(s.fileno(), b"x", 1, 0, bytes(2), 2))
print(say(s.setsockopt, 1, 76, 1), s.sendto(b"kept", 0x4000000, "a"), a.recv(9))`,
				"ENOTSUP EMSGSIZE ECONNREFUSED EPROTOTYPE -1\nEPERM 4 b'kept'\n"},
			{"its own number", `
def vouch(s, *to, pid=0, uid=0): return say(s.sendmsg, [b"x"], [(1, 2, struct.pack("3i", os.getpid() + pid, os.getuid() + uid, os.getgid()))], 0, *to)
def sender(s): return say(lambda: struct.unpack("3i", s.recvmsg(9, 64, socket.MSG_DONTWAIT)[1][0][2]) == (os.getpid(), os.getuid(), os.getgid()))
a, s = unix("a"), unix(); c, d = socket.socketpair(); [x.setsockopt(1, 16, 1) for x in (a, d)]
print(vouch(s, "a"), vouch(c), vouch(s, "a", pid=1), vouch(s, "a", uid=1), vouch(c, pid=-1), sender(a), sender(d))`, "EPERM EPERM EPERM EPERM EPERM EAGAIN EAGAIN\n"},
			{"after the end of the other", `
a, s = unix("a"), unix(); s.connect("a"); a.close(); print(say(s.send, b"x"), say(s.sendto, b"x", "a"))
os.unlink("a"); a = unix("a"); print(s.sendto(b"anew", "a"), a.recv(9)); s.connect("a"); os.rename("a", "b"); unix("a"); print(s.send(b"still"), a.recv(9), s.sendto(b"moved", "b"), a.recv(9))`,
				"ECONNREFUSED ECONNREFUSED\n4 b'anew'\n5 b'still' 5 b'moved'\n"},
			{"what waits does not stop another", `
a, b, s, q = unix("a"), unix("b"), unix(), unix(); q.setblocking(False); full = 0
while say(q.sendto, b"x", "a") == 1: full += 1
done = []; t = threading.Thread(target=lambda: done.append(s.sendto(b"late", "a"))); t.start(); time.sleep(.1)
print(full > 0, say(q.sendto, b"x", "a"), say(q.sendto, b"x", "b"), b.recv(9), done)
for _ in range(full): a.recv(9)
t.join(); print(done, a.recv(9)); s.setsockopt(1, socket.SO_SNDTIMEO, struct.pack("ll", 0, 100000))
while say(q.sendto, b"x", "a") == 1: pass
print(say(s.sendto, b"x", "a"))`, "True EAGAIN 1 b'x' []\n[4] b'late'\nEAGAIN\n"},
		} {
			t.Run(row.name, func(t *testing.T) {
				text, denials := th.Python(t, `
import tempfile; os.chdir(tempfile.mkdtemp(dir="."))`+datagramTools+row.script)
				if text != row.want || len(denials) > 0 {
					t.Errorf("%q, want %q; %+v", text, row.want, denials)
				}
			})
		}
		text, denials := th.Python(t, datagramTools+`
long = "\0abstract" + "x" * 99; l = unix(); print(say(l.bind, long)); print(say(unix().sendto, b"x", long)); print(say(unix().bind, "")); l.close()`)
		if own := facts.HostNet != 0; own && (text != "None\n1\nNone\n" || len(denials) > 0) || !own && (text != "EPERM\nEPERM\nEPERM\n" || len(denials) != 3) {
			t.Errorf("abstract names: %q, %+v", text, denials)
		}
	})
}

// TestHostDatagrams: a datagram to a socket of the host is refused, recorded as a connection would be, and reaches
// it if the policy names it.
func TestHostDatagrams(t *testing.T) {
	eachTaking(t, func(t *testing.T, th *backendtest.Theatre) {
		if backendtest.Facts(t, th.Backend).Sockets == sockets.TakesStandIns {
			t.Log("stand-ins take no datagrams from paths of the host, so there is nothing to refuse")
			return
		}
		at := filepath.Join(filepath.Dir(th.Out), "log")
		host, err := net.ListenPacket("unixgram", at)
		if err != nil {
			t.Fatal(err)
		}
		defer host.Close()
		script := strings.ReplaceAll(datagramTools+`
own, s = unix("own"), unix(); print(say(s.sendto, b"1", AT), say(s.sendmsg, [b"2"], [], 0, AT), many(s, ("own", b"3"), (AT, b"4")), many(s, (AT, b"5")), say(s.connect, AT), say(s.send, b"6"))
os.unlink("own")`, "AT", `"`+at+`"`)
		text, denials := th.Python(t, script)
		if text != "EPERM EPERM 1 EPERM EPERM ENOTCONN\n" {
			t.Error(text)
		}
		var told []string
		for _, d := range denials {
			if told = append(told, d.Operation); d.Kind != sandbox.KindSocket || d.Target != at || d.Errno != "EPERM" {
				t.Errorf("%+v", d)
			}
		}
		if len(told) == 0 {
			t.Error("nothing is recorded")
		}
		th.Policy.Sockets = []string{at}
		if text, denials := th.Python(t, script); text != "1 1 2 1 None 1\n" || len(denials) > 0 {
			t.Errorf("%q %+v", text, denials)
		}
		for _, want := range "12456" {
			buf := make([]byte, 9)
			if n, _, err := host.ReadFrom(buf); err != nil || string(buf[:n]) != string(want) {
				t.Errorf("the host got %q, %v; want %q", buf[:n], err, want)
			}
		}
	})
}
