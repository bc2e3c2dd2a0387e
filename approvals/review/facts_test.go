package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/sandbox"
)

func TestFacts(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	seen := func(ago time.Duration, command string, kind sandbox.DenialKind, operation, target string) Seen {
		return Seen{now.Add(-ago), command, sandbox.Denial{Kind: kind, Operation: operation, Target: target}}
	}
	e := Evidence{Now: now, Home: "/home/ada",
		Seen: []Seen{
			seen(time.Hour, "npm i", sandbox.KindWrite, "mkdirat", "/home/ada/.npm/a"),
			seen(2*time.Minute, "npm i", sandbox.KindWrite, "openat", "/home/ada/.npm/b"),
			seen(90*time.Second, "npm i", sandbox.KindNetwork, "connect", "registry.example:443"),
			seen(time.Minute, "npm i", sandbox.KindNetwork, "lookup", "bare.example"),
			seen(time.Second, "touch", sandbox.KindProtected, "openat", "/srv/hooks/x"),
			seen(0, "cat", sandbox.KindRead, "openat", "/home/ada/.ssh/id"),
		},
		Entries: func(p string) (int, bool, bool) {
			return map[string]int{"/home/ada/.npm": 2, "/srv": 10000}[p], p == "/srv", p == "/home/ada/.npm" || p == "/srv"
		},
	}
	host := func(name string, port uint16) sandbox.Grant {
		return sandbox.Grant{Hosts: []sandbox.HostPort{{Host: name, Port: port}}}
	}
	for _, c := range []struct {
		command string
		opens   sandbox.Grant
		want    []string
	}{
		{"", sandbox.Grant{Write: []string{"/home/ada/.npm/b"}}, []string{"the sandbox refused exactly this 2m 00s ago: openat /home/ada/.npm/b"}},
		{"", sandbox.Grant{Write: []string{"/home/ada/.npm"}}, []string{"in /home/ada/.npm the sandbox refused 2 calls, the last 2m 00s ago: openat /home/ada/.npm/b", "/home/ada/.npm holds 2 entries"}},
		{"", sandbox.Grant{Write: []string{"/home/ada/x"}}, []string{"nothing was refused in this session that needs to write /home/ada/x"}},
		{"", sandbox.Grant{Write: []string{"/srv"}}, []string{"in /srv the sandbox refused 1 call, the last just now: openat /srv/hooks/x", "/srv holds at least 10000 entries, outside your home folder"}},
		{"", sandbox.Grant{Read: []string{"/home/ada/.ssh/id"}}, []string{"the sandbox refused exactly this just now: openat /home/ada/.ssh/id"}},
		{"", sandbox.Grant{Read: []string{"/home/ada/.npm/b"}}, []string{"nothing was refused in this session that needs to read /home/ada/.npm/b"}},
		{"", host("registry.example", 443), []string{"the sandbox refused exactly this 1m 30s ago: connect registry.example:443"}},
		{"", host("registry.example", 80), []string{"the sandbox refused another port of registry.example 1m 30s ago: registry.example:443"}},
		{"", host("bare.example", 443), []string{"the sandbox refused to look up bare.example 1m 00s ago"}},
		{"", host("other.example", 443), []string{"no command was refused other.example:443 in this session"}},
		{"npm i", sandbox.Grant{Unsandboxed: true}, []string{"the sandbox refused 4 calls of this command, the last 1m 00s ago: lookup bare.example"}},
		{"npm ci", sandbox.Grant{Unsandboxed: true}, []string{"nothing was refused to this command in this session"}},
		{"", sandbox.Grant{Sockets: []string{"/run/x"}}, []string{"nothing was refused in this session that needs to connect to /run/x"}},
		{"", sandbox.Grant{}, nil},
	} {
		if got := e.Facts(c.command, c.opens); !slices.Equal(got, c.want) {
			t.Errorf("%+v:\n%s\nwant\n%s", c.opens, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	var many sandbox.Grant
	for i := range 32 {
		many.Write = append(many.Write, fmt.Sprintf("/home/ada/%d/%s", i, strings.Repeat("long", 1000)))
	}
	got := e.Facts("", many)
	if len(got) != mostFacts || got[mostFacts-1] != "and 25 facts more" || len(strings.Join(got, "")) > mostFacts*300 {
		t.Errorf("%d facts of %d bytes: %q", len(got), len(strings.Join(got, "")), got)
	}
}
