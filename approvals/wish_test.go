package approvals

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"codeagent/approvals/decide"
	"codeagent/sandbox"
)

func TestWishBecomesExact(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"~/.npm", "/home/u/.npm"},
		{"/home/u/.npm/", "/home/u/.npm"},
		{"/home/u/./src/../.npm", "/home/u/.npm"},
		{"../other", "/home/u/src/other"},
		{"out", "/srv/data"},
		{"out/new/file", "/srv/data/new/file"},
		{"~/new", "/home/u/new"},
		{"~/src/other/web/pages/[id]", "/home/u/src/other/web/pages/[id]"},
	} {
		g := newGate(OnRequest, confined())
		r := mustAsk(t, g, command("x", Wish{Write: []string{c.raw}}))
		if !slices.Equal(r.Grant.Write, []string{c.want}) {
			t.Errorf("%s: %v, want %s", c.raw, r.Grant.Write, c.want)
		}
	}
}

func TestWishesNobodyCanGrant(t *testing.T) {
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprintf("/srv/%d", i)
	}
	for _, c := range []struct {
		name string
		wish Wish
		want string
	}{
		{"root", Wish{Write: []string{"/"}}, "root of the file system"},
		{"root in disguise", Wish{Write: []string{"../../../../../.."}}, "root of the file system"},
		{"home", Wish{Write: []string{"~"}}, "home folder"},
		{"home by path", Wish{Write: []string{"/home/u/"}}, "home folder"},
		{"home by link", Wish{Write: []string{"/h"}}, "home folder"},
		{"home in capitals", Wish{Write: []string{"/Home/U"}}, "home folder"},
		{"above home", Wish{Write: []string{"/home"}}, "home folder"},
		{"own settings", Wish{Write: []string{"~/.config/codeagent/config.toml"}}, "codeagent itself"},
		{"own settings in capitals", Wish{Write: []string{"~/.config/CodeAgent"}}, "codeagent itself"},
		{"what holds them", Wish{Write: []string{"~/.config"}}, "belongs to codeagent"},
		{"own binaries", Wish{Write: []string{"/opt/codeagent"}}, "belongs to codeagent"},
		{"another's home", Wish{Write: []string{"~root/x"}}, "only ~"},
		{"a pattern", Wish{Write: []string{"~/.npm/**"}}, "patterns"},
		{"empty", Wish{Write: []string{""}}, "empty"},
		{"NUL", Wish{Write: []string{"/srv/a\x00b"}}, "control character"},
		{"newline", Wish{Write: []string{"/srv/a\nb"}}, "control character"},
		{"escape", Wish{Write: []string{"/srv/\x1b[2J"}}, "control character"},
		{"reordered", Wish{Write: []string{"/srv/\u202egnp.exe"}}, "control character"},
		{"invisible", Wish{Write: []string{"/srv/a\u200bb"}}, "control character"},
		{"a filler", Wish{Write: []string{"/srv/a\u3164"}}, "control character"},
		{"an empty pattern of dots", Wish{Write: []string{"/srv/\u2800/a"}}, "control character"},
		{"not UTF-8", Wish{Write: []string{"/srv/\xff"}}, "UTF-8"},
		{"too many", Wish{Write: many}, "at most 32"},
		{"far too many", Wish{Write: slices.Repeat([]string{"x"}, 1000)}, "at most 32"},
		{"too long", Wish{Write: []string{"/" + strings.Repeat("a", decide.MaxEntry)}}, "at most 4096"},
		{"dots after nothing", Wish{Write: []string{"/srv/none/../x"}}, "missing"},
		{"a bad host", Wish{Hosts: []string{"user@example.org:443"}}, "not allowed in a host"},
		{"every host", Wish{Hosts: []string{"*:443"}}, "would stand for every host"},
		{"a whole top domain", Wish{Hosts: []string{"*.org:443"}}, "many owners"},
		{"an abstract socket", Wish{Sockets: []string{"@x"}}, "abstract"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(OnRequest, confined())
			g.disk["/h"] = "->/home/u"
			_, r, err := g.Decide(command("x", c.wish))
			refusal, ok := AsRefusal(err)
			if !ok || r != nil {
				t.Fatalf("asked %+v, err %v", r, err)
			}
			if !strings.Contains(refusal.Reason, c.want) {
				t.Errorf("words %q, want %q in them", refusal.Reason, c.want)
			}
		})
	}
}

func TestWarningsAreSaidAloud(t *testing.T) {
	for _, c := range []struct {
		name string
		wish Wish
		want string
	}{
		{"a folder outside", Wish{Write: []string{"~/.npm"}}, "outside the workspace: everything in it becomes writable"},
		{"a protected path", Wish{Write: []string{".git/hooks"}}, "is protected"},
		{"a protected name", Wish{Write: []string{".envrc"}}, "is protected"},
		{"deny_read", Wish{Read: []string{"~/.ssh"}}, "what it holds goes to the model"},
		{"a socket", Wish{Sockets: []string{"/run/docker.sock"}}, "acts outside the sandbox"},
		{"hosts", Wish{Hosts: []string{"example.org:443"}}, "only be granted by running outside the sandbox"},
		{"outside", Wish{Unsandboxed: true}, "every file that you can change"},
	} {
		r := mustAsk(t, newGate(OnRequest, confined()), command("x", c.wish))
		if !strings.Contains(strings.Join(r.Warnings, "\n"), c.want) {
			t.Errorf("%s: warnings %q", c.name, r.Warnings)
		}
	}
	r := mustAsk(t, newGate(OnRequest, confined()), command("x", Wish{Write: []string{"~/.npmrc"}}))
	if len(r.Warnings) != 0 {
		t.Errorf("a plain file: %q", r.Warnings)
	}
}

func TestAnEditOfManyAllowedFilesIsNotAWish(t *testing.T) {
	var paths []string
	for i := range 100 {
		paths = append(paths, fmt.Sprintf("dir/%d.go", i))
	}
	if _, r, err := newGate(OnRequest, confined()).Decide(edit(paths...)); r != nil || err != nil {
		t.Errorf("%v %v", r, err)
	}
}

func TestProtectedGrantOpensThatPathAlone(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := command("direnv", Wish{Write: []string{".envrc"}})
	p, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Once})
	pol := mustPolicy(t, p, err, a)
	for path, want := range map[string]bool{workspace + "/.envrc": true, workspace + "/.git/hooks/x": false} {
		if got := pol.JudgeWrite(path).Allowed; got != want {
			t.Errorf("%s can be written: %v, want %v", path, got, want)
		}
	}
}

func TestHintsArePrintable(t *testing.T) {
	g := newGate(Never, confined(), func(o *Options) { o.GrantsHosts = true })
	g.disk["/srv/it's here/x"] = "f"
	for _, c := range []struct {
		wish Wish
		want string
	}{
		{Wish{Write: []string{"~/.npm", "/srv/it's here"}}, `codeagent exec --add-dir /home/u/.npm --add-dir '/srv/it'\''s here' …`},
		{Wish{Write: []string{"/srv/it's here/x", "~/absent"}}, `codeagent exec --add-file '/srv/it'\''s here/x' --add-file /home/u/absent …`},
		{Wish{Write: []string{"~/nowhere/at/all"}}, "run codeagent in a terminal with --ask-for-approval on-request to be asked"},
		{Wish{Unsandboxed: true}, "run codeagent in a terminal with --ask-for-approval on-request to be asked"},
		{Wish{Hosts: []string{"a.example:443", "[::1]:80"}, Write: []string{"~/.npm"}}, `codeagent exec --add-dir /home/u/.npm --allow-host a.example:443 --allow-host '[::1]:80' …`},
	} {
		_, _, err := g.Decide(command("x", c.wish))
		refusal, ok := AsRefusal(err)
		if !ok || refusal.Hint != c.want || refusal.Request == nil {
			t.Errorf("%+v", refusal)
		}
	}
}

// Whatever the model writes, a question shows only canonical, printable paths that are neither
// too wide nor codeagent's own.
func checkWish(t *testing.T, raw string) {
	g := newGate(OnRequest, confined())
	p, r, err := g.Decide(command("x", Wish{Write: []string{raw}, Read: []string{raw}, Hosts: []string{raw}, Sockets: []string{raw}}))
	if got := decided(p, r, err); got != "ask" && got != "refuse" && got != "run" {
		t.Fatal(got)
	}
	for _, w := range []Wish{{Write: []string{raw}}, {Sockets: []string{raw}}} {
		_, r, _ := g.Decide(command("x", w))
		if r == nil {
			continue
		}
		for _, p := range append(r.Grant.Write, r.Grant.Sockets...) {
			if !g.state(p).Places.Unmoved(p) || !utf8.ValidString(p) || decide.PlainText(p) != nil || sandbox.Covers(p, "/home/u") || sandbox.Covers(p, "/opt/codeagent/bin") || sandbox.Covers("/opt/codeagent/bin", p) {
				t.Errorf("%q was shown as %q", raw, p)
			}
		}
	}
}

var wishSeeds = []string{"", "~", "~/", "~/x", "/", "//", "/home/u/..", "out/../..", "out/..", "a/../../..", "/opt/codeagent/bin", "/opt/codeagent/./bin/../x", "\x00", "/\xff", "[::1]:80", "example.org:443", "~\u202e", "/home/u/.npm/*"}

func TestWishSeeds(t *testing.T) {
	for _, s := range wishSeeds {
		checkWish(t, s)
	}
}

func FuzzWish(f *testing.F) {
	for _, s := range wishSeeds {
		f.Add(s)
	}
	f.Fuzz(checkWish)
}

// A file that may be changed already needs no question, whatever characters its path contains.
// A path that must be asked about is still refused.
func TestOddNamesAreLiteral(t *testing.T) {
	for _, name := range []string{"st*r", "wh?t", "t\tab", "new\nline", "b[r", "c\u202eba"} {
		ws := "/srv/" + name
		g := newGate(OnRequest, sandbox.WorkspaceWrite(ws), func(o *Options) { o.Workspace = ws })
		for _, path := range []string{"new/file", ws + "/new/file", name} {
			a := edit(path)
			a.Folder = ws
			if permit, r, err := g.Decide(a); err != nil || r != nil || !permit.minted {
				t.Errorf("%q in %q: asked %+v, %v", path, ws, r, err)
			}
		}
		a := edit(ws + "2/file")
		a.Folder = ws
		_, r, err := g.Decide(a)
		if _, refused := AsRefusal(err); refused != (name != "b[r") || r != nil && refused {
			t.Errorf("%q outside: asked %+v, %v", name, r, err)
		}
	}
}
