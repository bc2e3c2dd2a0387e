package config_test

import (
	"strings"
	"syscall"
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
	s, err := config.Write(c, h.place, needs, nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := load(t, s.TOML, config.Sources{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, s.TOML)
	}
	want := c.Sandbox
	want.AddDirs = []string{"~/had", "~/.npm", "~/" + odd}
	want.AddFiles = []string{"~/file", "~/absent", "~/missing"}
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
	for _, name := range []string{"/dev/null: ", h.dir + "/" + worse + ": ", h.dir + ": ", "/: "} {
		if !strings.Contains("\n"+left, "\n"+name) {
			t.Errorf("%q is not told as left out:\n%s", name, left)
		}
	}
	if len(s.Left) != 4 {
		t.Errorf("left out: %q", s.Left)
	}
	if none, err := config.Write(c, h.place, sandbox.Grant{}, nil); err != nil || none.TOML != "" {
		t.Errorf("%+v %v", none, err)
	}
}

// TestFlags: each flag is accepted and opens what was refused; of what no flag opens the reason is said.
func TestFlags(t *testing.T) {
	h := newHome(t)
	h.mkdir(t, "out/d", "ws/.vscode", "mod/x@v1.0.0/.vscode")
	h.write(t, "out/f", "x")
	if err := syscall.Mkfifo(h.dir+"/out/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	own := h.dir + "/own"
	h.place.Own = append(h.place.Own, own)
	write := func(names ...string) (g sandbox.Grant) {
		for _, name := range names {
			g.Write = append(g.Write, h.dir+"/"+name)
		}
		return g
	}
	for _, row := range []struct {
		name, settings string
		needs          sandbox.Grant
		denied         string // below the home folder; "": what is needed
		flags, left    string // ~ is the home folder
	}{
		{"a file, a folder, an absent file", "", write("out/f", "out/d", "out/new"), "", "--add-file ~/out/f --add-dir ~/out/d --add-file ~/out/new", ""},
		{"an absent folder", "", write("out/gone/deep/x"), "", "--add-file ~/out/gone", ""},
		{"a pipe", "", write("out/fifo"), "", "--add-dir ~/out", ""},
		{"a name that cannot be shown", "", write("out/a\nb"), "", "--add-dir ~/out", ""},
		{"codeagent's own", "", write("own"), "", "", "own"},
		{"the home folder", "", write("."), "", "", "home folder"},
		{"a read-only session", "mode = 'read-only'", write("out/f"), "", "", "writes nothing"},
		{"closed to reading", "deny_read = ['~/out']", write("out/f"), "", "", "stays refused"},
		{"a root of a package would be opened", "", write("mod/x@v1.0.0"), "mod/x@v1.0.0/.vscode/settings.json", "--add-dir ~/mod", ""},
		{"a folder that is removed itself", "", write("out/d"), "rmdir out/d", "--add-dir ~/out", ""},
		{"a folder that is renamed", "", write("out/d"), "renameat2 out/d", "--add-dir ~/out", ""},
		{"a folder whose mode is changed", "", write("out/d"), "fchmodat out/d", "--add-dir ~/out/d", ""},
		{"a protected name", "", write("ws/.vscode/settings.json"), "", "--add-file ~/ws/.vscode/settings.json", ""},
		{"hosts", "", sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "example.org", Port: 80}, {Host: "ssh.example"}}}, "", "--allow-host example.org:80 --allow-host ssh.example:22", ""},
		{"reading", "", sandbox.Grant{Read: []string{"/x"}}, "", "", "/x: no flag opens"},
	} {
		c, err := load(t, "[sandbox]\n"+row.settings+"\n", config.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		var denials []sandbox.Denial
		if row.denied != "" {
			operation, target, named := strings.Cut(row.denied, " ")
			if !named {
				target = operation
			}
			denials = append(denials, sandbox.Denial{Kind: sandbox.KindWrite, Operation: operation, Target: h.dir + "/" + target})
		}
		flags, left := h.place.Flags(c, "ssh ssh.example", row.needs, denials)
		var words []string
		for _, f := range flags {
			words = append(words, f.Name+" "+strings.ReplaceAll(f.Values[0], h.dir, "~"))
		}
		if got := strings.Join(words, " "); got != row.flags || (row.left == "") != (len(left) == 0) || !strings.Contains(strings.Join(left, " "), row.left) {
			t.Errorf("%s: %q, left %q", row.name, got, left)
		}
		if _, err := load(t, "[sandbox]\n"+row.settings+"\n", config.Sources{Flags: flags}); err != nil {
			t.Errorf("%s: refused: %v", row.name, err)
		}
	}
}

// TestAllowedHosts: only what is listed, and nothing else of the network.
func TestAllowedHosts(t *testing.T) {
	h := newHome(t)
	for text, want := range map[string]string{
		`allow_hosts = ["Example.org:443"]`:                          "",
		`allow_hosts = ["example.org"]`:                              "",
		`allow_hosts = ["*.example.org:443", "10.0.0.0/8"]`:          "",
		`allow_hosts = ["*.org:443"]`:                                "at least two parts of a name follow the star",
		`allow_hosts = ["10.0.0.1/8"]`:                               "this network is written 10.0.0.0/8",
		`deny_hosts = ["*"]`:                                         "sandbox.deny_hosts",
		`deny_hosts = ["example.org"]` + "\nnetwork = \"full\"":      "nothing denies one of them",
		`deny_hosts = ["other.org", "10.0.0.0/8"]`:                   "",
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
