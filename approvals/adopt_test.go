package approvals

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/approvals/content"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/sandbox"
)

var exportedAt = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// replay grants the entries of a file in a new gate.
func replay(t *testing.T, mode Mode, text []byte) world {
	t.Helper()
	f, err := ledger.Parse("approvals.toml", text, exportedAt)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	g := newGate(mode, confined(), grants, func(o *Options) { o.Now = func() time.Time { return exportedAt } })
	if err := g.Ledger().Adopt(f, "approvals.toml"); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return g
}

// opened is everything that a ledger opens, sorted.
func opened(g world) (out []string) {
	for _, e := range g.Ledger().List() {
		out = append(out, e.Lines(nil)...)
	}
	slices.Sort(out)
	return out
}

// TestExportReplay: for random sets of grants, replaying an export opens exactly the set.
func TestExportReplay(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	word := func() string {
		const letters = `abcXYZ 0'"\#=.,é`
		var b strings.Builder
		for range 1 + random.IntN(8) {
			all := []rune(letters)
			b.WriteRune(all[random.IntN(len(all))])
		}
		return "x" + b.String() + "y"
	}
	paths := func() (out []string) {
		for range 1 + random.IntN(3) {
			out = append(out, "/srv/[id]/"+word()+"/"+word())
		}
		return out
	}
	hosts := func() (out []sandbox.HostPort) {
		for range 1 + random.IntN(3) {
			out = append(out, sandbox.HostPort{Host: fmt.Sprintf("h%d.example", random.IntN(1000)), Port: uint16(1 + random.IntN(65535))})
		}
		return out
	}
	for range 300 {
		from := newGate(OnRequest, confined(), grants)
		for range 1 + random.IntN(6) {
			var g sandbox.Grant
			e := ledger.Entry{}
			switch random.IntN(7) {
			case 0:
				g.Write = paths()
			case 1:
				g.Read = paths()
			case 2:
				g.Hosts = hosts()
			case 3:
				g.Sockets = paths()
			case 4:
				e.Fetch = hosts()
			case 5:
				e.Paths = paths()
			case 6:
				e.Command, e.Folder = word()+"\n"+word(), "/srv/"+word()
			}
			if random.IntN(4) == 0 {
				e.Expires = exportedAt.Add(time.Hour)
			}
			e.Grant = g
			from.opts.Now = func() time.Time { return exportedAt }
			from.Ledger().add(e)
		}
		text, left := ledger.Export("a test", from.Ledger().List(), nil)
		if len(left) > 0 {
			t.Fatalf("left out: %q", left)
		}
		to := replay(t, OnRequest, text)
		if got, want := opened(to), opened(from); !slices.Equal(got, want) {
			t.Fatalf("%q\nwant %q, from\n%s", got, want, text)
		}
		again, _ := ledger.Export("a test", to.Ledger().List(), nil)
		third := replay(t, OnRequest, again)
		if !slices.Equal(opened(third), opened(from)) {
			t.Fatalf("a second export differs:\n%s", again)
		}
	}
}

// TestReplayCoversNothingElse: what a file grants runs, and similar actions are asked about.
func TestReplayCoversNothingElse(t *testing.T) {
	text, _ := ledger.Export("a test", []ledger.Entry{
		{Command: "make all", Folder: workspace}, {Paths: []string{workspace + "/a.go"}}, {Fetch: []sandbox.HostPort{manual}},
		{Grant: sandbox.Grant{Write: []string{"/srv/data"}, Hosts: []sandbox.HostPort{{Host: "api.example", Port: 443}}}},
	}, nil)
	in := func(folder string) Action {
		a := command("make all", Wish{})
		a.Folder = folder
		return a
	}
	otherShell := command("make all", Wish{})
	otherShell.Argv = []string{"/bin/bash", "-lc", "make all"}
	job := command("make all", Wish{})
	job.Background = true
	for name, c := range map[string]struct {
		mode Mode
		a    Action
		want string
	}{
		"the command":            {Untrusted, command("make all", Wish{}), "run"},
		"another command":        {Untrusted, command("make", Wish{}), "ask"},
		"another argument":       {Untrusted, command("make all ", Wish{}), "ask"},
		"another folder":         {Untrusted, in(workspace + "/sub"), "ask"},
		"another way to run it":  {Untrusted, otherShell, "ask"},
		"as a job":               {Untrusted, job, "ask"},
		"the file":               {Untrusted, edit("a.go"), "run"},
		"another file":           {Untrusted, edit("b.go"), "ask"},
		"one of two files":       {Untrusted, edit("a.go", "b.go"), "ask"},
		"the page":               {Untrusted, fetch("docs.example:443"), "run"},
		"another port":           {Untrusted, fetch("docs.example:8443"), "ask"},
		"the fetch in a command": {OnRequest, command("x", Wish{Hosts: []string{"docs.example:443"}}), "ask"},
		"the host":               {OnRequest, command("x", Wish{Hosts: []string{"api.example:443"}}), "run"},
		"the host below":         {OnRequest, command("x", Wish{Hosts: []string{"x.api.example:443"}}), "ask"},
		"the folder":             {OnRequest, command("x", Wish{Write: []string{"/srv/data/a"}}), "run"},
		"the folder beside":      {OnRequest, command("x", Wish{Write: []string{"/srv/data2"}}), "ask"},
		"protected in it":        {OnRequest, command("x", Wish{Write: []string{"/srv/data/.envrc"}}), "ask"},
		"outside the sandbox":    {OnRequest, command("make all", Wish{Unsandboxed: true}), "ask"},
	} {
		if got := outcome(replay(t, c.mode, text), c.a); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestExportedRules: command rules of a file apply for the run, and can only allow.
func TestExportedRules(t *testing.T) {
	list, err := rules.Parse("rules.toml", []byte("[[command]]\nwords = [\"make\", [\"all\", \"test\"]]\ndecision = \"allow\"\n\n[[command]]\nwords = [\"npm\"]\ndecision = \"ask\"\n"), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := ledger.Export("a test", nil, list)
	g := replay(t, Untrusted, text)
	for _, r := range list {
		r.Expires = exportedAt.Add(time.Hour)
	}
	text, _ = ledger.Export("a test", nil, list)
	for _, r := range replay(t, Untrusted, text).ledger.rules.Load().Rules() {
		if !r.Expires.Equal(exportedAt.Add(time.Hour)) {
			t.Errorf("%s ends at %s", r, r.Expires)
		}
	}
	for line, want := range map[string]string{"make test": "run", "make all": "run", "make install": "ask", "npm test": "ask"} {
		if got := outcome(g, command(line, Wish{})); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestRulesOfAnotherProject: a file grants nothing by a rule of another project.
func TestRulesOfAnotherProject(t *testing.T) {
	for project, want := range map[string]string{workspace: "run", "/srv/other": "ask"} {
		rule := "project = \"" + project + "\"\n"
		g := replay(t, Untrusted, []byte("# codeagent approvals 1\n[[command]]\nwords = [\"make\"]\ndecision = \"allow\"\n"+rule+"[[path]]\npaths = [\"/srv/data\"]\naccess = \"write\"\n"+rule))
		if got := outcome(g, command("make", Wish{})); got != want {
			t.Errorf("%s: the command: %s, want %s", project, got, want)
		}
		if n := len(g.Ledger().answers()); n != map[string]int{"run": 1}[want] {
			t.Errorf("%s: %d grants", project, n)
		}
	}
}

// TestLeftOut: Export names what it leaves out, and the file does not contain it.
func TestLeftOut(t *testing.T) {
	bound := &content.Binding{Items: []content.Item{{Name: "./x", Path: "/srv/w/x", Sum: "1"}}}
	for _, c := range []struct {
		name  string
		e     ledger.Entry
		want  []string // prefixes of the reasons
		holds string   // what the file still contains
	}{
		{"outside", ledger.Entry{Command: "date", Folder: "/", Outside: true}, []string{"run outside the sandbox date in /: "}, ""},
		{"outside, bound to files", ledger.Entry{Command: "./x", Folder: "/srv/w", Outside: true, Bound: bound}, []string{"run outside the sandbox ./x in /srv/w: "}, ""},
		{"outside as a grant", ledger.Entry{Grant: sandbox.Grant{Unsandboxed: true}}, []string{"outside the sandbox: "}, ""},
		{"all edits", ledger.Entry{AllEdits: "/srv/w"}, []string{"edit every file in /srv/w: "}, ""},
		{"all edits and a path", ledger.Entry{AllEdits: "/srv/w", Grant: sandbox.Grant{Write: []string{"/srv/data"}}}, []string{"edit every file in /srv/w: "}, "/srv/data"},
		{"a rule in words", ledger.Entry{Rule: "allow make"}, []string{"allow make: "}, ""},
		{"a character that is not seen", ledger.Entry{Command: "ls \u202ehs.mr", Folder: "/"}, []string{"run ls \u202ehs.mr in /: "}, ""},
		{"all of it", ledger.Entry{Command: "make", Folder: "/srv/w", Paths: []string{"/srv/w/a"}}, nil, "make"},
	} {
		text, left := ledger.Export("a\ntest", []ledger.Entry{c.e}, nil)
		if !slices.EqualFunc(left, c.want, strings.HasPrefix) {
			t.Errorf("%s: left %q", c.name, left)
		}
		file, err := ledger.Parse("x", text, exportedAt)
		if tables := len(file.Rules) + len(file.Runs) + len(file.Edits); err != nil || (tables > 0) != (c.holds != "") {
			t.Errorf("%s: %d tables, %v", c.name, tables, err)
		}
		if !strings.Contains(string(text), "# a?test\n") || !strings.Contains(string(text), c.holds) {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
}

// TestBadFiles: a file that could open more than it shows grants nothing.
func TestBadFiles(t *testing.T) {
	const head, fine = "# codeagent approvals 1\n", "[[path]]\npaths = [\"/srv/fine\"]\naccess = \"write\"\n"
	path := func(p string) string { return head + fine + "[[path]]\npaths = [\"" + p + "\"]\naccess = \"write\"\n" }
	for name, c := range map[string]struct{ text, want string }{
		"no header":             {fine, "the first line"},
		"an unknown key":        {head + fine + "follow_links = true\n", "unknown key"},
		"an unknown table":      {head + fine + "[[everything]]\n", "unknown key"},
		"a key of another room": {head + "[[socket]]\npaths = [\"/run/x\"]\naccess = \"write\"\n", "unknown key"},
		"a relative path":       {path("srv/data"), "must be an absolute path"},
		"a home path":           {path("~/notes"), "must be an absolute path"},
		"a path with dots":      {path("/srv/../etc"), "without . and .."},
		"a pattern":             {path("/srv/*"), "patterns are not understood"},
		"the whole disk":        {path("/"), "everything would be open"},
		"the home folder":       {path("/home/u"), "nearly everything"},
		"codeagent's own":       {path("/home/u/.config/codeagent"), "belongs to codeagent"},
		"around codeagent's":    {path("/opt/codeagent"), "belongs to codeagent"},
		"a hidden character":    {path("/srv/a\\u202eb"), "control character"},
		"a command in disguise": {head + "[[run]]\ncommand = 'ls \u202ehs.mr'\nfolder = \"/srv\"\n", "not shown"},
		"an escape in disguise": {head + "[[run]]\ncommand = \"ls \\u202ehs.mr\"\nfolder = \"/srv\"\n", "not shown"},
		"a filler":              {path("/srv/a\u3164"), "not shown"},
		"no text":               {head + "# \xff\n", "not shown"},
		"every host":            {head + "[[host]]\nhosts = [\"*:443\"]\n", "every host"},
		"a pattern of hosts":    {head + "[[host]]\nhosts = [\"*.example:443\"]\n", "*"},
		"expired":               {head + "[[host]]\nhosts = [\"docs.example:443\"]\nexpires = 2026-11-22\n", "has expired (2026-11-22)"},
		"an expired socket":     {head + "[[socket]]\npaths = [\"/run/x\"]\nexpires = 2026-11-22T00:00:00Z\n", "expired"},
		"a socket by name":      {head + "[[socket]]\npaths = [\"@x\"]\n", "absolute"},
		"a forbid":              {head + "[[command]]\nwords = [\"npm\"]\ndecision = \"ask\"\n", "only allow"},
		"an edit of all":        {head + "[[edit]]\npaths = [\"/home/u/*\"]\n", "patterns"},
		"a run anywhere":        {head + "[[run]]\ncommand = \"make\"\nfolder = \"\"\n", "absolute"},
		"a run of nothing":      {head + "[[run]]\ncommand = \" \"\nfolder = \"/srv\"\n", "names no command"},
		"a run outside":         {head + "[[run]]\ncommand = \"make\"\nfolder = \"/srv\"\noutside = true\n", "unknown key"},
		"no paths":              {head + "[[edit]]\npaths = []\n", "names no path"},
		"a link on the way":     {path(workspace + "/out/x"), "a link is on the way"},
	} {
		g := newGate(OnRequest, confined(), grants)
		f, err := ledger.Parse("approvals.toml", []byte(c.text), exportedAt)
		if err == nil {
			err = g.Ledger().Adopt(f, "approvals.toml")
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "approvals.toml:") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if list := g.Ledger().List(); len(list) > 0 {
			t.Errorf("%s: granted %+v", name, list)
		}
	}
}
