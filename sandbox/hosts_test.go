package sandbox

import (
	"strings"
	"testing"
)

func TestParsePattern(t *testing.T) {
	for text, want := range map[string]string{
		"a.example:443": "a.example:443", "A.Example.:443": "a.example:443", "a.example": "a.example",
		"*.Example.COM.:443": "*.example.com:443", "*.example.com": "*.example.com", "*.xn--bcher-kva.example:80": "*.xn--bcher-kva.example:80",
		"10.0.0.0/8:443": "10.0.0.0/8:443", "10.0.0.0/8": "10.0.0.0/8", "10.0.0.1/32:443": "10.0.0.1:443", "0.0.0.0/0:443": "0.0.0.0/0:443",
		"[2001:DB8::/32]:443": "[2001:db8::/32]:443", "2001:db8::/32": "2001:db8::/32", "[2001:db8::1/128]:443": "[2001:db8::1]:443",
		"[::ffff:10.0.0.0/104]:443": "10.0.0.0/8:443", "[::ffff:10.0.0.1]:443": "10.0.0.1:443",
	} {
		if h, err := ParsePattern(text); err != nil || h.String() != want {
			t.Errorf("%q is %v, %v; want %s", text, h, err, want)
		}
	}
	long := strings.Repeat("a", 64)
	for text, why := range map[string]string{
		"*": "every host", "*:443": "every host", "*.com": "many owners", "*.com.:443": "many owners", "*.localhost": "many owners",
		"*.10.0.0.1:443": "many owners", "*.": "", "*..com": "", "*.*.example.com": "", "a.*.example.com": "", "*a.example.com": "", "**.example.com": "",
		"*.example..com": "", ".example.com": "", "*.example.com..": "", "*." + long + ".com": "", "*." + strings.Repeat("a.", 130) + "com": "",
		"*.bücher.example": "xn--", "*.user@example.com": "", "user@a.example:443": "", "a.example\x00:443": "", "*.exam\x00ple.com": "", "*.example.com:0": "port", "*.example.com:0443": "port",
		"10.0.0.0/33:443": "network", "10.0.0.0/08:443": "network", "10.0.0.0/:443": "network", "10.0.0.0/-1": "network", "010.0.0.0/8:443": "network", "10/8:443": "network", "0xa000000/8": "network", "167772160/8:443": "network",
		"10.0.0.1/8:443": "10.0.0.0/8", "[2001:db8::1/32]:443": "2001:db8::/32", "[fe80::%eth0/10]:443": "network", "a.example/8:443": "network", "*.example.com/8": "",
		"2130706433": "1.2.3.4", "127.1": "1.2.3.4", "0x7f000001": "1.2.3.4", "*.example.0x7f": "1.2.3.4", "*.example.127": "1.2.3.4",
	} {
		if h, err := ParsePattern(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q is %v, %v; want an error with %q", text, h, err, why)
		}
	}
	// One host is never a pattern.
	for _, text := range []string{"*.example.com:443", "10.0.0.0/8:443", "[2001:db8::/32]:443"} {
		if h, err := ParseHostPort(text); err == nil {
			t.Errorf("%q is the host %v", text, h)
		}
	}
}

func TestJudgePatterns(t *testing.T) {
	for _, c := range []struct {
		allow, deny string // lists
		yes, no     string // what is judged
	}{
		{"*.example.com:443", "", "a.example.com:443 a.b.example.com:443 a.example.com *.a.example.com:443 *.example.com:443",
			"example.com:443 example.com a.example.com:80 aexample.com:443 a.example.com.evil.org:443 10.0.0.1:443 [::1]:443 *.com.example:443"},
		{"10.0.0.0/8:443", "", "10.0.0.1:443 10.255.255.255:443 10.1.0.0/16:443", "11.0.0.1:443 10.0.0.1:80 10.0.0.0/7:443 [::a00:1]:443 [64:ff9b::a00:1]:443 a.example:443"},
		{"[2001:db8::/32]:443", "", "[2001:db8::1]:443", "[2001:db9::1]:443 32.1.13.184:443"},
		{"0.0.0.0/0:443", "", "1.1.1.1:443 0.0.0.0/0:443", "127.0.0.1:443 10.0.0.1:443 169.254.169.254:443 168.63.129.16:443 100.64.0.1:443 [2606:4700::1]:443"},
		{"[::/0]:443", "", "[2606:4700::1]:443 [64:ff9b::101:101]:443", "[::1]:443 [fe80::1]:443 [fd00:ec2::254]:443 [64:ff9b::a9fe:a9fe]:443 [100::1]:443 1.1.1.1:443"},
		{"a.example:443 a.example:80", "a.example", "", "a.example:443 a.example:80 a.example"},
		{"a.example:443 a.example:80", "a.example:80", "a.example:443 a.example", "a.example:80"},
		{"*.example.com:443", "*.evil.example.com", "a.example.com:443 evil.example.com:443", "a.evil.example.com:443 *.evil.example.com:443 a.evil.example.com"},
		{"10.0.0.0/8:443 10.9.0.1:443", "10.9.0.0/16", "10.8.0.1:443", "10.9.0.1:443 10.9.1.0/24:443"},
		{"[64:ff9b::a00:1]:443", "10.0.0.0/8", "", "[64:ff9b::a00:1]:443"},
		{"1.1.1.1:443", "0.0.0.0/0", "", "1.1.1.1:443"},
	} {
		var p Policy
		p.Network.Mode = NetworkAllow
		parse := func(texts string) (out []HostPort) {
			for _, text := range strings.Fields(texts) {
				h, err := ParsePattern(text)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, h)
			}
			return out
		}
		p.Network.Hosts, p.Network.Deny = parse(c.allow), parse(c.deny)
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		for _, h := range parse(c.yes) {
			if j := p.JudgeHost(h); !j.Allowed {
				t.Errorf("allow %s, deny %s: %s is refused: %s", c.allow, c.deny, h, j.Rule)
			}
		}
		for _, h := range parse(c.no) {
			j := p.JudgeHost(h)
			if j.Allowed {
				t.Errorf("allow %s, deny %s: %s is allowed", c.allow, c.deny, h)
			}
			// A yes helps where it is not denied, and only there.
			if with := p.With(Grant{Hosts: []HostPort{h}}).JudgeHost(h); with.Allowed == j.Final || j.Final && !strings.Contains(j.Rule, "deny_hosts names it") {
				t.Errorf("allow %s, deny %s: %s with a grant: %v, before: %v", c.allow, c.deny, h, with, j)
			}
		}
	}
	full := Policy{Network: Network{Mode: NetworkFull, Deny: []HostPort{{Host: "a.example"}}}}
	for _, p := range []Policy{full, {Unconfined: true, Network: full.Network}} {
		if p.JudgeHost(HostPort{"a.example", 1}).Allowed || !p.JudgeHost(HostPort{"b.example", 1}).Allowed {
			t.Error("an open network opens what is denied, or denies more")
		}
	}
	if g, left := Suggest(Policy{Network: full.Network}, nil, "", nil, []Denial{{Kind: KindNetwork, Operation: "connect", Target: "a.example:443", Why: "x"}}); !g.Empty() || len(left) != 1 {
		t.Errorf("a denied host is suggested: %v, %v", g, left)
	}
}
