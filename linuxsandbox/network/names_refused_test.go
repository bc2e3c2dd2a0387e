//go:build linux

package network

import (
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
)

// TestRefusedNames: whatever looks a name up, the lookup fails at once and the name is recorded.
func TestRefusedNames(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
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
			if _, err := attack.LookIn(attack.Path, program); err != nil && program != "exec" {
				t.Skip("needs " + program)
			}
			out, denials := th.Shell(t, "("+row.script+") || echo failed")
			if !strings.HasSuffix(out, "failed\n") || strings.Contains(out, "timed out") {
				t.Errorf("%q", out)
			}
			if got := targetsOf(denials); !slices.Equal(got, []string{"lookup name.example "}) {
				t.Errorf("refused %q", got)
			}
		})
	}
}
