//go:build linux

package netns

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
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
	if c = parseResolvConf(strings.Repeat("nameserver 10.0.0.2\n", 99)); len(c.servers) != maxServers {
		t.Errorf("%d servers", len(c.servers))
	}
}

// TestOneNameIsReported: of the variants that a library tries for one name, only one is reported.
func TestOneNameIsReported(t *testing.T) {
	for _, row := range []struct {
		name          string
		dots          int
		asked, allows string
		reported      string
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
		var reported []string
		for name := range strings.FieldsSeq(row.asked) {
			if l.report(name, func(s string) bool { return s == row.allows }) {
				reported = append(reported, name)
			}
		}
		if got := strings.Join(reported, " "); got != row.reported {
			t.Errorf("%s: reported %q, want %q", row.name, got, row.reported)
		}
	}
	l := newLookups(&resolvConf{})
	for i := range 2 * maxLookups {
		l.report(strings.Repeat("x", i%60+1)+"."+strings.Repeat("y", i/60+1), func(string) bool { return false })
	}
	if len(l.reported) > maxLookups {
		t.Errorf("%d names are remembered", len(l.reported))
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

// TestFamiliesAreOneLookup: the questions of one thread for the addresses of both
// families count as one lookup.
func TestFamiliesAreOneLookup(t *testing.T) {
	l := newLookups(&resolvConf{})
	var counted []bool
	for _, q := range []struct {
		tid  uint32
		asks dnsmessage.Type
	}{{1, dnsmessage.TypeA}, {1, dnsmessage.TypeAAAA}, {1, dnsmessage.TypeA}, {1, dnsmessage.TypeAAAA}, {2, dnsmessage.TypeAAAA}} {
		counted = append(counted, l.counts("example.org", q.tid, q.asks))
	}
	if !slices.Equal(counted, []bool{true, false, true, false, true}) {
		t.Errorf("counted %v", counted)
	}
}
