//go:build linux

package network

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// spellingTools are for scripts that ask a name server themselves.
const spellingTools = `
import ctypes, struct
NAMES = next((l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")), "127.0.0.1")
def say(f, *a):
    try: return f(*a)
    except OSError as e: return e
def ask(*labels, to=(NAMES, 53), kind=1, tcp=False):
    q = struct.pack("!6H", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l for l in labels) + struct.pack("!BHH", 0, kind, 1)
    s = socket.socket(socket.AF_INET6 if ":" in to[0] else socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM); s.settimeout(1)
    if tcp: s.connect(to); s.sendall(struct.pack("!H", len(q)) + q); return s.recv(9)[2:]
    s.sendto(q, to); m = s.recv(999)
    return ask(*labels, to=to, kind=kind, tcp=True) if m[2] & 2 else m # it was shortened: somebody decides
def find(name): # what C programs call, which takes any bytes
    out = ctypes.c_void_p(); return ctypes.CDLL(None).getaddrinfo(name, b"80", None, ctypes.byref(out))
`

// spelled are ways to write the host other.example.com, which is at 127.77.0.2, or to get at it by the host
// name.example.com at 127.77.0.1. The target is what is refused, empty if the program itself or the name service refuses
// what no host can be called.
var spelled = []struct{ name, script, target string }{
	{"the name", `curl -sS -m 9 http://other.example.com:NO`, "other.example.com"},
	{"upper case", `curl -sS -m 9 http://OTHER.eXample.COM:NO`, "other.example.com"},
	{"a final dot", `curl -sS -m 9 http://other.example.com.:NO`, "other.example.com"},
	{"two final dots", `curl -sS -m 9 http://other.example.com..:NO`, ""},
	{"wide letters", `curl -sS -m 9 http://ｏｔｈｅｒ。ｅｘａｍｐｌｅ．com:NO`, "other.example.com"},
	{"wide letters in node", `node -e 'fetch("http://ｏｔｈｅｒ.ｅｘａｍｐｌｅ.com:NO").then(() => 0, e => { console.log(e); process.exit(3) })'`, "other.example.com"},
	{"a soft hyphen in node", `node -e 'fetch("http://oth\u00ader.example.com:NO").then(() => 0, e => { console.log(e); process.exit(3) })'`, "other.example.com"},
	{"wide letters in python", `python3 -c 'import socket; socket.create_connection(("ｏｔｈｅｒ.example.com", NO))'`, "other.example.com"},
	{"letters outside ASCII", `curl -sS -m 9 http://öther.example.com:NO`, "xn--ther-4qa.example.com"},
	{"punycode", `curl -sS -m 9 http://xn--ther-4qa.example.com:NO`, "xn--ther-4qa.example.com"},
	{"a user", `curl -sS -m 9 http://name.example.com@other.example.com:NO`, "other.example.com"},
	{"a user and a password", `curl -sS -m 9 http://name.example.com:YES@other.example.com:NO`, "other.example.com"},
	{"a backslash in node", `node -e 'fetch("http://other.example.com:NO\\\\@name.example.com:YES").then(() => 0, e => { console.log(e); process.exit(3) })'`, "other.example.com"},
	{"an escaped letter in node", `node -e 'fetch("http://%6Fther.example.com:NO").then(() => 0, e => { console.log(e); process.exit(3) })'`, "other.example.com"},
	{"NUL in a URL", `curl -sS -m 9 http://other.example.com%00.name.example.com:NO`, ""},
	{"NUL in a name", `find(b"other.example.com\0.name.example.com")`, "other.example.com"},
	{"NUL in a question", `ask(b"other", b"example", b"com\0")`, ""},
	{"dots in a question", `ask(b"other.example.com"); ask(b"other.example", b"com")`, ""},
	{"a question over TCP", `ask(b"OTHER", b"example", b"com", tcp=True)`, "other.example.com"},
	{"a question to the mapped name server", `ask(b"other", b"example", b"com", to=("::ffff:" + NAMES, 53))`, "other.example.com"},
	{"two questions in one message", `
q = struct.pack("!6H", 7, 0x100, 2, 0, 0, 0) + b"\4name\7example\3com\0\0\1\0\1" + b"\5other\7example\3com\0\0\1\0\1"; s = socket.create_connection((NAMES, 53)); s.settimeout(2); s.sendall(struct.pack("!H", len(q)) + q); print(s.recv(999))`, ""}, // the first one is answered
	{"a question in pieces", `
q = struct.pack("!6H", 7, 0x100, 1, 0, 0, 0) + b"\5OTHER\7example\3com\0\0\1\0\1"; s = socket.create_connection((NAMES, 53)); s.settimeout(2)
for c in struct.pack("!H", len(q)) + q: s.sendall(bytes([c]))
print(s.recv(999))`, "other.example.com"},
	{"a question by another process", `
import time
s = socket.create_connection((NAMES, 53)); s.settimeout(2); q = struct.pack("!6H", 7, 0x100, 1, 0, 0, 0) + b"\5other\7example\3com\0\0\1\0\1"
if os.fork() == 0: os.setsid(); time.sleep(.1); os.write(s.fileno(), struct.pack("!H", len(q)) + q); os._exit(0)
print(s.recv(999))`, "other.example.com"},
	{"a resolver of node's own at another server", `node -e 'const r = new (require("dns").Resolver)({timeout: 500, tries: 1}); r.setServers(["192.0.2.53"]); r.resolve4("name.example.com", e => process.exit(e ? 3 : 0))'`, "192.0.2.53:53"},
	{"a question about a service", `ask(b"_http", b"_tcp", b"other", b"example", b"com", kind=33)`, "other.example.com"},
	{"a text", `ask(b"secret", b"other", b"example", b"com", kind=16)`, "secret.other.example.com"},
	{"the address", `curl -sS -m 9 http://127.77.0.2:NO`, "127.77.0.2:NO"},
	{"decimal", `curl -sS -m 9 http://2135752706:NO`, "127.77.0.2:NO"},
	{"decimal in python", `socket.create_connection(("2135752706", NO))`, "127.77.0.2:NO"},
	{"decimal in wget", `wget -q -t 1 -T 9 -O- http://2135752706:NO`, "127.77.0.2:NO"},
	{"octal", `curl -sS -m 9 http://0177.0115.0.02:NO`, "127.77.0.2:NO"},
	{"hexadecimal", `curl -sS -m 9 http://0x7f.0x4d.0.0x2:NO`, "127.77.0.2:NO"},
	{"hexadecimal in node", `node -e 'fetch("http://0x7f4d0002:NO").then(() => 0, e => { console.log(e); process.exit(3) })'`, "127.77.0.2:NO"},
	{"three parts", `socket.create_connection(("127.77.2", NO))`, "127.77.0.2:NO"},
	{"mapped", `curl -sS -m 9 -g http://[::ffff:127.77.0.2]:NO`, "127.77.0.2:NO"},
	{"mapped, hexadecimal", `curl -sS -m 9 -g http://[::ffff:7f4d:2]:NO`, "127.77.0.2:NO"},
	{"NAT64", `curl -sS -m 9 -g http://[64:ff9b::7f4d:2]:NO`, "[64:ff9b::7f4d:2]:NO"},
	{"6to4", `curl -sS -m 9 -g http://[2002:7f4d:2::1]:NO`, "[2002:7f4d:2::1]:NO"},
	{"a datagram", `socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.77.0.2", NO))`, "127.77.0.2:NO"},
	{"QUIC", `s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("192.0.2.7", 443)); s.send(b"x")`, "192.0.2.7:443"},
	{"another name server", `ask(b"name", b"example", b"com", to=("192.0.2.53", 53))`, "192.0.2.53:53"},
	{"another name server over TCP", `ask(b"name", b"example", b"com", to=("192.0.2.53", 53), tcp=True)`, "192.0.2.53:53"},
	{"another name server over version 6", `ask(b"name", b"example", b"com", to=("2001:db8::53", 53))`, "[2001:db8::53]:53"},
	{"a name server over TLS", `ask(b"name", b"example", b"com", to=("192.0.2.53", 853), tcp=True)`, "192.0.2.53:853"},
}

// TestSpellings: however it is written, a host that is not allowed is refused, recorded under its canonical name and
// asked about, and one that deny_hosts names is refused without a question. Nobody looks it up. Each way leads there
// once the host is allowed.
func TestSpellings(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	attack.Need(t, "curl", "wget", "node", "python3")
	yes, no := serveHost(t, "127.77.0.1:0"), newVisited(t, "127.77.0.2")
	asked := recordNames(t, th, map[string]string{"name.example.com": "127.77.0.1", "other.example.com": "127.77.0.2", "secret.other.example.com": "127.77.0.2", "xn--ther-4qa.example.com": "127.77.0.2"})
	ports := strings.NewReplacer("YES", fmt.Sprint(yes.Port()), "NO", fmt.Sprint(no.at.Port()))
	open := backendtest.Allowing(t, th.Policy, ports.Replace("name.example.com:YES"))
	denied := backendtest.Allowing(t, open, ports.Replace("*.example.com:YES"), ports.Replace("*.example.com:NO"), ports.Replace("127.77.0.0/16:NO"), "192.0.2.0/24:53")
	for _, h := range []string{"other.example.com", "*.other.example.com", "xn--ther-4qa.example.com", "127.77.0.0/16", "2002::/16", "192.0.2.0/24", "2001:db8::/32"} {
		p, err := sandbox.ParsePattern(h)
		if err != nil {
			t.Fatal(err)
		}
		denied.Network.Deny = append(denied.Network.Deny, p)
	}
	command := func(script string) sandbox.Command {
		if program, _, _ := strings.Cut(script, " "); !slices.Contains([]string{"curl", "node", "python3", "wget"}, program) {
			script = "exec python3 - <<'X'\nimport os, socket" + spellingTools + script + "\nX"
		}
		return sandbox.Command{Path: "bash", Args: []string{"bash", "-c", ports.Replace(script)}, Env: append(th.Env("", th.Out), "LC_ALL=C.UTF-8")}
	}
	rows := machine.Sample(t, 4)
	for i, row := range spelled {
		if !rows.Has(i) {
			continue
		}
		cmd, target := command(row.script), ports.Replace(row.target)
		for _, denies := range []bool{false, true} {
			if th.Policy = open; denies {
				th.Policy = denied
			}
			a := &backendtest.Asker{Answer: backendtest.No}
			asked()
			_, out, denials := th.Ask(t, a, cmd)
			var refused []string
			for _, d := range denials {
				refused = append(refused, d.Target)
			}
			if strings.Join(slices.Compact(refused), " ") != target || no.forget() || slices.ContainsFunc(asked(), func(name string) bool { return name != "name.example.com" }) {
				t.Errorf("%s, denied %v: refused %q, want %q: %q", row.name, denies, refused, target, out)
			}
			if got := strings.Join(a.Targets(), " "); denies && got != "" || !denies && got != target {
				t.Errorf("%s, denied %v: asked about %q, want %q; %+v", row.name, denies, got, target, denials)
			}
		}
	}
	for i, row := range spelled { // from now on the address has a name
		named := row.target == "other.example.com" || strings.HasPrefix(row.target, "xn--")
		if !rows.Has(i) || !named && row.target != "127.77.0.2:NO" || !strings.Contains(row.script, "NO") || strings.Contains(row.script, "DGRAM") {
			continue
		}
		th.Policy = backendtest.Allowing(t, open, ports.Replace(strings.TrimSuffix(row.target, ":NO")+":NO"))
		asked()
		_, out, _ := th.Ask(t, nil, command(row.script))
		backendtest.WaitFor(t, no.forget, row.name+", allowed: not reached: "+out)
		if got := asked(); named != slices.Equal(got, []string{row.target}) {
			t.Errorf("%s, allowed: looked up %q: %q", row.name, got, out)
		}
	}
}
