package sandbox_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"codeagent/sandbox"
)

// TestWithIsNarrow: each grant opens what it names and nothing else.
func TestWithIsNarrow(t *testing.T) {
	host := func(s string) sandbox.HostPort {
		h, err := sandbox.ParseHostPort(s)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for _, c := range []struct {
		name  string
		grant sandbox.Grant
		// opens and closed are "w PATH", "r PATH" or "h HOST:PORT".
		opens, closed []string
	}{
		{"nothing", sandbox.Grant{}, nil, []string{"w /etc/hosts", "h example.com:443", "w /w/.git/config", "r /home/u/.ssh"}},
		{
			"a file outside", sandbox.Grant{Write: []string{"/etc/hosts"}},
			[]string{"w /etc/hosts"},
			[]string{"w /etc", "w /etc/hosts2", "w /etc/passwd", "w /etc/hosts.lock", "w /w/.git/config", "h example.com:443"},
		},
		{
			"a folder outside", sandbox.Grant{Write: []string{"/home/u/.npm"}},
			[]string{"w /home/u/.npm", "w /home/u/.npm/_cacache/x"},
			[]string{"w /home/u", "w /home/u/.npmrc", "w /home/u/.npm/.envrc", "w /home/u/.npm/.env", "w /home/u/.config/codeagent/x"},
		},
		{
			"a protected path", sandbox.Grant{Write: []string{"/w/.git/config"}},
			[]string{"w /w/.git/config"},
			[]string{"w /w/.git/hooks/pre-commit", "w /w/.git/config.worktree", "w /w/.envrc"},
		},
		{
			"below a protected path", sandbox.Grant{Write: []string{"/w/.git/hooks/pre-commit"}},
			[]string{"w /w/.git/hooks/pre-commit"},
			[]string{"w /w/.git/hooks", "w /w/.git/hooks/post-commit", "w /w/.git/config"},
		},
		{
			"above a protected path", sandbox.Grant{Write: []string{"/w/.git", "/"}},
			[]string{"w /w/.git/HEAD", "w /etc/hosts"},
			[]string{"w /w/.git/config", "w /w/.git/hooks/x", "w /w/.envrc", "w /w/bin/codeagent", "w /home/u/.ssh/x"},
		},
		{
			"a protected name", sandbox.Grant{Write: []string{"/w/.envrc"}},
			[]string{"w /w/.envrc"},
			[]string{"w /w/sub/.envrc", "w /w/.codeagent/x", "w /extra/.envrc"},
		},
		{
			"codeagent's own", sandbox.Grant{Write: []string{"/w/bin/codeagent", "/home/u/.config/codeagent", "/home/u/.config/codeagent/config.toml"}},
			nil, []string{"w /w/bin/codeagent", "w /home/u/.config/codeagent", "w /home/u/.config/codeagent/config.toml"},
		},
		{
			"a secret itself", sandbox.Grant{Read: []string{"/w/key.pem"}},
			[]string{"r /w/key.pem"}, []string{"r /home/u/.ssh/id", "r /w/.env"},
		},
		{
			"a folder around secrets", sandbox.Grant{Read: []string{"/w", "/home/u", "/"}, Write: []string{"/home/u"}},
			[]string{"w /home/u/x"}, []string{"r /w/key.pem", "r /home/u/.ssh/id", "w /home/u/.ssh/id", "r /w/.env", "r /x.secret"},
		},
		{
			"below a secret folder", sandbox.Grant{Read: []string{"/home/u/.ssh/known_hosts"}},
			nil, []string{"r /home/u/.ssh/id", "r /home/u/.ssh/known_hosts"},
		},
		{
			"writing a secret", sandbox.Grant{Write: []string{"/w/key.pem"}}, nil, []string{"w /w/key.pem", "r /w/key.pem"},
		},
		{
			"a host", sandbox.Grant{Hosts: []sandbox.HostPort{host("example.com:443")}},
			[]string{"h example.com:443", "h EXAMPLE.com.:443", "h example.com"},
			[]string{"h example.com:80", "h www.example.com:443", "h 127.0.0.1:443", "w /etc/hosts"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := workspace()
			wide := base.With(c.grant)
			for _, access := range c.opens {
				if judge(t, base, access) && len(c.grant.Write) == 0 {
					t.Errorf("%s was open before", access)
				}
				if !judge(t, wide, access) {
					t.Errorf("%s is still closed", access)
				}
			}
			for _, access := range c.closed {
				if judge(t, wide, access) {
					t.Errorf("%s was opened too", access)
				}
			}
			if !reflect.DeepEqual(base, workspace()) {
				t.Error("With changed the policy it was called on")
			}
			if wide.Unconfined {
				t.Error("With took the sandbox away")
			}
		})
	}
}

func judge(t *testing.T, p sandbox.Policy, access string) bool {
	t.Helper()
	kind, target := access[:1], access[2:]
	switch kind {
	case "w":
		return p.JudgeWrite(target).Allowed
	case "r":
		return p.JudgeRead(target).Allowed
	}
	h, err := sandbox.ParseHostPort(target)
	if err != nil {
		t.Fatal(err)
	}
	return p.JudgeHost(h).Allowed
}

// TestWithReadRoots: with read roots, a read grant adds one. Without, there is nothing to add and
// the policy gets no narrower.
func TestWithReadRoots(t *testing.T) {
	p := sandbox.Strict("/w", "/s").With(sandbox.Grant{Read: []string{"/data"}})
	if !p.JudgeRead("/data/x").Allowed {
		t.Error("a read grant under strict does not open its path")
	}
	if p.JudgeRead("/home").Allowed {
		t.Error("a read grant under strict opens another path")
	}
	if p.JudgeWrite("/data/x").Allowed {
		t.Error("a read grant under strict opens writes")
	}
	if q := sandbox.ReadOnly().With(sandbox.Grant{Read: []string{"/data"}}); len(q.Read) != 0 || !q.JudgeRead("/home").Allowed {
		t.Errorf("a read grant made a policy narrower: Read is %v, /home can be read: %v", q.Read, q.JudgeRead("/home").Allowed)
	}
}

func TestWithUnsandboxed(t *testing.T) {
	p := workspace().With(sandbox.Grant{Unsandboxed: true})
	if !p.Unconfined {
		t.Error("still confined")
	}
	for _, unsandboxed := range []bool{true, false} {
		if empty := (sandbox.Grant{Unsandboxed: unsandboxed}).Empty(); empty == unsandboxed {
			t.Errorf("with Unsandboxed %v Empty is %v", unsandboxed, empty)
		}
	}
}

func TestWithSocketsAndTwice(t *testing.T) {
	g := sandbox.Grant{Write: []string{"/x"}, Sockets: []string{"/run/s"}, Hosts: []sandbox.HostPort{{Host: "h", Port: 1}}}
	once, twice := workspace().With(g), workspace().With(g).With(g)
	if !reflect.DeepEqual(once, twice) {
		t.Errorf("the same grant twice widens twice:\n%+v\n%+v", once, twice)
	}
	if len(once.Sockets) != 1 || once.Sockets[0] != "/run/s" {
		t.Errorf("sockets %q", once.Sockets)
	}
}

// TestWithKeepsFullNetwork: granting a host to a policy with the full network must not narrow it.
func TestWithKeepsFullNetwork(t *testing.T) {
	p := sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkFull}}
	q := p.With(sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "h", Port: 1}}})
	if q.Network.Mode != sandbox.NetworkFull {
		t.Errorf("mode %q", q.Network.Mode)
	}
}

// TestCloneIsDeep changes every list of a clone through reflection.
func TestCloneIsDeep(t *testing.T) {
	p := workspace()
	p.Read = []sandbox.Root{{Path: "/r"}}
	p.WasWrite = []sandbox.Root{{Path: "/w"}}
	p.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: "h", Port: 1}}, Deny: []sandbox.HostPort{{Host: "d"}}}
	p.Programs, p.Workdirs = []string{"/p"}, []string{"/w"}
	p.Sockets, p.Protected.Reasons = []string{"/s"}, map[string]string{"/r": "why"}
	p.Env = sandbox.Env{Include: []string{"A"}, Exclude: []string{"B"}, Set: map[string]string{"C": "D"}}
	c := p.Clone()
	if !reflect.DeepEqual(c, p) {
		t.Fatal("a clone differs")
	}
	shared(t, "Policy", reflect.ValueOf(p), reflect.ValueOf(c))
}

func shared(t *testing.T, name string, a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			shared(t, name+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Map:
		if a.Len() == 0 {
			t.Errorf("%s is empty, so the test cannot see whether it is shared", name)
		} else if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared with the clone", name)
		}
	}
}

// TestWithout: what a grant opened is closed again, and nothing becomes wider.
func TestWithout(t *testing.T) {
	host := sandbox.HostPort{Host: "docs.example", Port: 443}
	base := sandbox.WorkspaceWrite("/ws")
	base.Network.Mode = sandbox.NetworkAllow
	g := sandbox.Grant{Write: []string{"/srv"}, Hosts: []sandbox.HostPort{host}, Sockets: []string{"/run/s"}}
	before, _ := json.Marshal(base)
	if got, err := json.Marshal(base.With(g).Without(g)); err != nil || !bytes.Equal(got, before) {
		t.Errorf("%s, want %s (%v)", got, before, err)
	}
	narrow := sandbox.Policy{Read: []sandbox.Root{{Path: "/a"}}}
	if left := narrow.Without(sandbox.Grant{Read: []string{"/a"}}); left.JudgeRead("/a").Allowed || left.JudgeRead("/b").Allowed {
		t.Errorf("the last readable root was removed, and everything is readable: %+v", left)
	}
}

// TestClosed: what is below a revoked folder closes with it, unless it is open in another way.
func TestClosed(t *testing.T) {
	base := sandbox.WorkspaceWrite("/srv/app")
	base.Protected.Paths = []string{"/srv/app/.git/hooks"}
	for name, c := range map[string]struct {
		more, back, now sandbox.Grant
		open, shut      []string
	}{
		"the folder itself":     {sandbox.Grant{Write: []string{"/data"}}, sandbox.Grant{Write: []string{"/data"}}, sandbox.Grant{}, []string{"/srv/app/x"}, []string{"/data", "/data/x"}},
		"a file of it":          {sandbox.Grant{Write: []string{"/data/x"}}, sandbox.Grant{Write: []string{"/data"}}, sandbox.Grant{}, []string{"/srv/app/x"}, []string{"/data/x"}},
		"the folder around":     {sandbox.Grant{Write: []string{"/srv", "/srv/x"}}, sandbox.Grant{Write: []string{"/srv"}}, sandbox.Grant{}, []string{"/srv/app/x"}, []string{"/srv/x", "/srv/y"}},
		"a name that begins so": {sandbox.Grant{Write: []string{"/data", "/data2"}}, sandbox.Grant{Write: []string{"/data"}}, sandbox.Grant{}, []string{"/data2/x"}, []string{"/data/x"}},
		"another answer":        {sandbox.Grant{Write: []string{"/data", "/data/x", "/data/y"}}, sandbox.Grant{Write: []string{"/data"}}, sandbox.Grant{Write: []string{"/data/x"}}, []string{"/data/x"}, []string{"/data/y"}},
		"what is protected":     {sandbox.Grant{Write: []string{"/srv/app/.git/hooks/a"}}, sandbox.Grant{Write: []string{"/srv/app/.git/hooks"}}, sandbox.Grant{}, []string{"/srv/app/x"}, []string{"/srv/app/.git/hooks/a"}},
	} {
		left := base.With(c.more).Closed(sandbox.Revocation{Grant: c.back, Open: base.With(c.now)})
		for _, p := range c.open {
			if !left.JudgeWrite(p).Allowed {
				t.Errorf("%s: %s is closed", name, p)
			}
		}
		for _, p := range c.shut {
			if left.JudgeWrite(p).Allowed {
				t.Errorf("%s: %s is open", name, p)
			}
		}
	}
	readers := sandbox.Policy{Read: []sandbox.Root{{Path: "/usr"}}}
	left := readers.With(sandbox.Grant{Read: []string{"/data/x"}}).Closed(sandbox.Revocation{Grant: sandbox.Grant{Read: []string{"/data"}}, Open: readers})
	if left.JudgeRead("/data/x").Allowed || !left.JudgeRead("/usr/bin").Allowed {
		t.Errorf("read roots %v", left.Read)
	}
	// A rule for a pattern granted one host of it to a command. Another answer keeps another one open.
	host := func(texts ...string) (g sandbox.Grant) {
		for _, text := range texts {
			h, err := sandbox.ParsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			g.Hosts = append(g.Hosts, h)
		}
		return g
	}
	for _, back := range []string{"*.example.com:443", "10.0.0.0/8:443"} {
		of := map[string][]string{"*.example.com:443": {"a.example.com:443", "b.example.com:443"}, "10.0.0.0/8:443": {"10.0.0.1:443", "10.0.0.2:443"}}[back]
		left := base.With(host(append(of, "c.example:443")...)).Closed(sandbox.Revocation{Grant: host(back), Open: base.With(host(of[1]))})
		if got := sandbox.HostsOf(left.Network.Hosts); !slices.Equal(got, []string{of[1], "c.example:443"}) {
			t.Errorf("%s revoked: %q is open", back, got)
		}
	}
}
