package sandbox_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codeagent/sandbox"
)

func TestParseHostPort(t *testing.T) {
	for in, want := range map[string]string{
		"example.com:443":           "example.com:443",
		"EXAMPLE.com.:443":          "example.com:443",
		"example.com":               "example.com",
		"localhost:1":               "localhost:1",
		"xn--bcher-kva.example:80":  "xn--bcher-kva.example:80",
		"_dmarc.example.com:53":     "_dmarc.example.com:53",
		"127.0.0.1:65535":           "127.0.0.1:65535",
		"[::1]:80":                  "[::1]:80",
		"[::1]":                     "::1",
		"::1":                       "::1",
		"[0:0:0:0:0:0:0:1]:80":      "[::1]:80",
		"[FE80::1]:80":              "[fe80::1]:80",
		"[::ffff:127.0.0.1]:80":     "127.0.0.1:80", // one address, one spelling
		"[::ffff:7f00:1]:80":        "127.0.0.1:80",
		"3com.example:80":           "3com.example:80",
		"0xdeadbeef.example.com:80": "0xdeadbeef.example.com:80",
		strings.Repeat(strings.Repeat("a", 61)+".", 4) + "b:1": strings.Repeat(strings.Repeat("a", 61)+".", 4) + "b:1",
	} {
		got, err := sandbox.ParseHostPort(in)
		if err != nil || got.String() != want {
			t.Errorf("ParseHostPort(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

// hostile are spellings that a check and a resolver could read as two different hosts (E43), and
// spellings that are not hosts.
var hostile = []string{
	"", ":", ":80", "host:", "host:0", "host:65536", "host:-1", "host:+1", "host:080", "host:http", "host:80:", "host:80:90",
	"evil.com\x00.allowed.com:443", "evil.com%00.allowed.com:443", "evil.com\r\nHost: allowed.com:443", "evil.com\n:443",
	"allowed.com@evil.com:443", "user:pass@evil.com:443", "http://evil.com", "evil.com/allowed.com:443", "evil.com?x:443", "evil.com#x:443",
	"evil .com:443", " evil.com:443", "evil.com :443", "evil\t.com:443", "evil.com\\.allowed.com:443",
	"[fe80::1%eth0]:80", "fe80::1%lo", "[::1:80", "::1]:80", "[::1]80", "[::1]:", "[127.0.0.1]:80", "[evil.com]:80", "[]:80", "[::1]:80x",
	"127.1:80", "2130706433:80", "0x7f000001:80", "0X7F.0.0.1:80", "0177.0.0.1:80", "010.0.0.1:80", "127.0.0.0x1:80", "0x:80",
	"1.2.3.4.:80", "256.0.0.1:80", "99999999999999999999999:80", "169.254.43518:80",
	"evil..com:80", ".evil.com:80", "evil.com..:80", ".:80", "*.evil.com:80", "*:80",
	"bücher.example:80", "ｅvil.com:80", "evil。com:80", "аllowed.com:80", "evil.com\u202e:80", "\xff.com:80", "\u212a.com:80",
	strings.Repeat("a", 64) + ".com:80", strings.Repeat("a.", 127) + "aa:80", strings.Repeat("a", 70000) + ":80",
}

func TestParseHostPortRefuses(t *testing.T) {
	for _, in := range hostile {
		if got, err := sandbox.ParseHostPort(in); err == nil {
			t.Errorf("ParseHostPort(%.60q) = %q, want an error", in, got)
		} else if len(err.Error()) > 600 {
			t.Errorf("the error for %.60q has %d bytes", in, len(err.Error()))
		}
	}
}

// TestHostOfAnotherName: an allowed host does not open similar names.
func TestHostOfAnotherName(t *testing.T) {
	p := sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "allowed.com", Port: 443}}}}
	for host, want := range map[string]bool{
		"allowed.com:443": true, "ALLOWED.com.:443": true, "allowed.com:80": false, "allowed.com": true,
		"evilallowed.com:443": false, "x.allowed.com:443": false, "allowed.com.evil.com:443": false, "com:443": false, "127.0.0.1:443": false,
	} {
		h, err := sandbox.ParseHostPort(host)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.JudgeHost(h).Allowed; got != want {
			t.Errorf("%s: allowed %v", host, got)
		}
	}
}

func FuzzParseHostPort(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Add("EXAMPLE.com.:443")
	f.Add("[::ffff:1.2.3.4]:80")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := sandbox.ParseHostPort(s)
		if err != nil {
			return
		}
		again, err := sandbox.ParseHostPort(h.String())
		if err != nil || again != h {
			t.Errorf("ParseHostPort(%q) = %#v, which reads back as %#v, %v", s, h, again, err)
		}
		text, err := json.Marshal(h)
		var back sandbox.HostPort
		if err != nil || json.Unmarshal(text, &back) != nil || back != h {
			t.Errorf("%#v becomes %s becomes %#v (%v)", h, text, back, err)
		}
		for _, c := range []byte(h.Host) {
			if c <= ' ' || c >= 0x7f || strings.IndexByte("@/%\\?#", c) >= 0 || c >= 'A' && c <= 'Z' {
				t.Errorf("ParseHostPort(%q) lets %q through", s, c)
			}
		}
	})
}
