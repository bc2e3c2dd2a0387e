package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/config"
	"codeagent/sandbox"
)

// TestSnippetIsWhatWasNeeded: read back, it has the earlier settings and the additions; what
// no setting can allow is listed with its reason.
func TestSnippetIsWhatWasNeeded(t *testing.T) {
	h := newHome(t)
	odd, worse := "it's \"odd\"", "a\nb"
	h.mkdir(t, ".npm", odd, worse, "had")
	h.write(t, "file", "x")
	c, err := load(t, "[sandbox]\nadd_dirs = [\"~/had\"]\n", config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	needs := sandbox.Grant{
		Write:   []string{h.dir + "/.npm", h.dir + "/" + odd, h.dir + "/" + worse, h.dir + "/file", h.dir + "/absent", "/dev/null", h.dir, h.dir + "/missing/absent", "/"},
		Hosts:   []sandbox.HostPort{{Host: "example.org", Port: 443}, {Host: "::1", Port: 80}},
		Sockets: []string{h.dir + "/socket", "/run/s"},
	}
	s, err := config.Write(c, h.place, needs)
	if err != nil {
		t.Fatal(err)
	}
	back, err := load(t, s.TOML, config.Sources{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, s.TOML)
	}
	want := c.Sandbox
	want.AddDirs = []string{"~/had", "~/.npm", "~/" + odd}
	want.AddFiles = []string{"~/file", "~/absent"}
	want.AllowHosts = []string{"example.org:443", "[::1]:80"}
	want.AllowSockets = []string{"~/socket", "/run/s"}
	if d := cmp.Diff(want, back.Sandbox); d != "" {
		t.Error(d)
	}
	p, err := config.Policy(back, h.place)
	if err != nil {
		t.Fatal(err)
	}
	if !p.JudgeWrite(h.dir+"/.npm/x").Allowed || !p.JudgeHost(sandbox.HostPort{Host: "example.org", Port: 443}).Allowed || p.JudgeWrite(h.dir+"/other").Allowed {
		t.Errorf("%+v", p)
	}
	left := strings.Join(s.Left, "\n")
	for _, name := range []string{"/dev/null: ", "~/" + worse + ": ", h.dir + ": ", "~/missing/absent: ", "/: "} {
		if !strings.Contains("\n"+left, "\n"+name) {
			t.Errorf("%q is not told as left out:\n%s", name, left)
		}
	}
	if len(s.Left) != 5 {
		t.Errorf("left out: %q", s.Left)
	}
	if none, err := config.Write(c, h.place, sandbox.Grant{}); err != nil || none.TOML != "" {
		t.Errorf("%+v %v", none, err)
	}
}

// TestAllowedHosts: only names with ports, and nothing else of the network.
func TestAllowedHosts(t *testing.T) {
	h := newHome(t)
	for text, want := range map[string]string{
		`allow_hosts = ["Example.org:443"]`:                          "",
		`allow_hosts = ["example.org"]`:                              "name the port too",
		`allow_hosts = ["http://example.org"]`:                       "sandbox.allow_hosts",
		`allow_hosts = ["example.org:443"]` + "\nnetwork = \"full\"": "",
	} {
		c, err := load(t, "[sandbox]\n"+text, config.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := config.Policy(c, h.place)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if full := p.JudgeHost(sandbox.HostPort{Host: "other.org", Port: 1}).Allowed; err == nil && full != strings.Contains(text, "full") {
			t.Errorf("%s: another host is allowed: %v", text, full)
		}
	}
}
