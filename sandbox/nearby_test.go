package sandbox

import (
	"net/netip"
	"testing"
)

func TestNotPublic(t *testing.T) {
	for _, a := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255",
		"169.254.169.254", "168.63.129.16", "64:ff9b::168.63.129.16", "192.0.0.170", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
		"240.0.0.1", "255.255.255.255", "::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1",
		"fc00::1", "fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "2001:10::1", "2002:7f00:1::", "2002:a00:1::", "3fff::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1",
		"64:ff9b:1::1", "100::1", "5f00::1", "4000::1",
	} {
		if NotPublic(netip.MustParseAddr(a)) == "" {
			t.Errorf("%s is taken for public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "168.63.129.17", "93.184.215.14", "172.32.0.1", "100.128.0.1", "192.0.1.1", "223.255.255.254", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"} {
		if why := NotPublic(netip.MustParseAddr(a)); why != "" {
			t.Errorf("%s: %s", a, why)
		}
	}
	if NotPublic(netip.Addr{}) == "" {
		t.Error("no address is taken for public")
	}
}

func TestClosedTo(t *testing.T) {
	own := func(a netip.Addr) bool { return a == netip.MustParseAddr("93.184.215.14") }
	for _, c := range []struct {
		name, address, named string
		open                 bool
		denied               string
	}{
		{"a.example:443", "1.1.1.1", "", true, ""},
		{"a.example:443", "10.0.0.1", "10.0.0.0/8:443", true, ""},
		{"a.example:443", "10.0.0.1", "10.0.0.0/8:80", false, ""},
		{"a.example:443", "10.0.0.1", "0.0.0.0/0:443", false, ""},
		{"a.example:443", "169.254.169.254", "128.0.0.0/1:443", false, ""},
		{"a.example:443", "64:ff9b::10.0.0.1", "10.0.0.0/8:443", false, ""},
		{"a.example:443", "64:ff9b::10.0.0.1", "[64:ff9b::/96]:443", false, ""},
		{"a.example:443", "64:ff9b::10.0.0.1", "[64:ff9b::a00:0/104]:443", true, ""},
		{"a.example:443", "93.184.215.14", "93.184.0.0/16:443", true, ""},
		{"a.example:443", "1.1.1.1", "", false, "1.1.0.0/16"},
		{"a.example:443", "1.1.1.1", "1.1.1.1:443", false, "1.1.0.0/16:443"},
		{"a.example:443", "1.1.1.1", "", true, "1.1.0.0/16:80"},
		{"a.example:443", "64:ff9b::1.1.1.1", "", false, "1.1.0.0/16"},
		{"a.example:443", "1.1.1.1", "", false, "a.example"},

		{"a.example:443", "10.0.0.1", "a.example:443", false, ""},
		{"a.example:443", "10.0.0.1", "10.0.0.1:443", true, ""},
		{"a.example:443", "10.0.0.1", "10.0.0.1:80", false, ""},
		{"a.example:443", "10.0.0.1", "10.0.0.2:443", false, ""},
		{"a.example:443", "::ffff:10.0.0.1", "10.0.0.1:443", true, ""},
		{"a.example:443", "64:ff9b::a9fe:a9fe", "a.example:443", false, ""},
		{"a.example:443", "fd00:ec2::254", "a.example:443", false, ""},
		{"a.example:443", "93.184.215.14", "a.example:443", false, ""},
		{"a.example:443", "93.184.215.14", "93.184.215.14:443", true, ""},
		{"localhost:443", "127.0.0.1", "localhost:443", true, ""},
		{"localhost:443", "127.0.0.1", "localhost:80", false, ""},
		{"localhost:443", "10.0.0.1", "localhost:443", false, ""},
	} {
		h, err := ParseHostPort(c.name)
		if err != nil {
			t.Fatal(err)
		}
		why := h.ClosedTo(netip.MustParseAddr(c.address), own, func(h HostPort) Judgement {
			j := Judgement{Allowed: h.String() == c.named}
			if open, err := ParsePattern(c.named); err == nil && open.Covers(h) {
				j.Allowed = true
			}
			if c.denied != "" {
				if d, err := ParsePattern(c.denied); err != nil || d.denies(h) {
					j = Judgement{Rule: "deny_hosts names it", Final: true}
				}
			}
			return j
		})
		if (why == "") != c.open {
			t.Errorf("%s leads to %s, %q is named: %q", c.name, c.address, c.named, why)
		}
	}
}
