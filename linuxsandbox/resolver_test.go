//go:build linux

package linuxsandbox

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestResolvConf(t *testing.T) {
	c := parseResolvConf("# x\nnameserver 10.0.0.2\nnameserver fe80::1%eth0\nnameserver ::ffff:10.0.0.3\nnameserver nonsense\ndomain old.example\nsearch b.example long.a.example.\noptions timeout:1 ndots:5\n")
	want := []netip.Addr{netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")}
	if !slices.Equal(c.servers, want) || !slices.Equal(c.domains, []string{"long.a.example", "b.example"}) || c.dots != 5 {
		t.Errorf("%+v", c)
	}
	if c = parseResolvConf(""); len(c.servers) != 2 || !c.servers[0].IsLoopback() || c.dots != 1 {
		t.Errorf("without a file: %+v", c)
	}
	if c = parseResolvConf(strings.Repeat("nameserver 10.0.0.2\n", 99)); len(c.servers) != maxResolvers {
		t.Errorf("%d servers", len(c.servers))
	}
}

// TestOneNameIsTold: of what a library tries for one name, one is told.
func TestOneNameIsTold(t *testing.T) {
	for _, row := range []struct {
		name          string
		dots          int
		asked, allows string
		told          string
	}{
		{"no domain fits", 1, "example.org example.org", "", "example.org example.org"},
		{"the name, then with domains", 1, "example.org example.org.corp.example example.org.example", "", "example.org"},
		{"a short name", 1, "db.corp.example db.example db", "", "db.corp.example"},
		{"a whole name below a domain", 1, "db.corp.example db.corp.example.corp.example", "", "db.corp.example"},
		{"domains first", 5, "example.org.corp.example example.org.example example.org", "", "example.org"},
		{"a whole name, domains first", 5, "db.corp.example.corp.example db.corp.example.example db.corp.example", "", "db.corp.example"},
		{"allowed as it is", 1, "db.corp.example db.example", "db", ""},
		{"allowed, domains first", 5, "example.org.corp.example", "example.org", ""},
	} {
		l := newLookups(&resolvConf{domains: []string{"corp.example", "example"}, dots: row.dots})
		var told []string
		for name := range strings.FieldsSeq(row.asked) {
			if l.tell(name, func(s string) bool { return s == row.allows }) {
				told = append(told, name)
			}
		}
		if got := strings.Join(told, " "); got != row.told {
			t.Errorf("%s: told %q, want %q", row.name, got, row.told)
		}
	}
	l := newLookups(&resolvConf{})
	for i := range 2 * maxLookups {
		l.tell(strings.Repeat("x", i%60+1)+"."+strings.Repeat("y", i/60+1), func(string) bool { return false })
	}
	if len(l.told) > maxLookups {
		t.Errorf("%d names are remembered", len(l.told))
	}
}

func TestHostName(t *testing.T) {
	for asked, want := range map[string]string{
		"Example.ORG.": "example.org", "_http._tcp.deb.debian.org.": "deb.debian.org", "localhost.": "localhost",
		"1.0.0.127.in-addr.arpa.": "", "arpa.": "", ".": "", "_dmarc.": "", "127.0.0.1.": "", "a b.": "", "x:1.": "", "0x7f.1.": "",
	} {
		if got := hostName(asked); got != want {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
}

// TestRefusedNames: whatever looks a name up, it fails at once and the name is
// known.
func TestRefusedNames(t *testing.T) {
	th := ownNetworkTheatre(t)
	for _, row := range []struct{ program, script string }{
		{"getent", "getent ahosts name.example"},
		{"curl", "curl -sS http://name.example/"},
		{"wget", "wget -q -O- http://name.example/"},
		{"python3", `python3 -c 'import urllib.request; urllib.request.urlopen("http://name.example/")'`},
		{"node", `node -e 'fetch("http://name.example/").catch(e => process.exit(3))'`},
		{"node by its own resolver", `node -e 'require("dns").resolve4("name.example", e => process.exit(e ? 3 : 0))'`},
		{"bash", "exec 3<>/dev/tcp/name.example/80"},
		{"perl", `perl -MSocket -e 'exit(defined(inet_aton("name.example")) ? 0 : 3)'`},
		{"over TCP", `python3 -c 'import socket; s = socket.create_connection((next((l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")), "127.0.0.1"), 53)); q = b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04name\x07example\x00\x00\x01\x00\x01"; s.sendall(bytes([0, len(q)]) + q); a = s.recv(999); exit(a[5] & 15)'`},
		{"datagrams that name the server", `python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); q = b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04name\x07example\x00\x00\x1c\x00\x01"; a = (next((l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")), "127.0.0.1"), 53); s.sendto(q, a); m, who = s.recvfrom(999); assert who == a; exit(m[3] & 15)'`},
	} {
		t.Run(row.program, func(t *testing.T) {
			program, _, _ := strings.Cut(row.script, " ")
			if _, err := lookIn(jobPath, program); err != nil && program != "exec" {
				t.Skip("needs " + program)
			}
			out, denials := th.shell(t, "("+row.script+") || echo failed")
			if !strings.HasSuffix(out, "failed\n") || strings.Contains(out, "timed out") {
				t.Errorf("%q", out)
			}
			if got := targetsOf(denials); !slices.Equal(got, []string{"lookup name.example "}) {
				t.Errorf("refused %q", got)
			}
		})
	}
}
