package approvals

import (
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
)

func outsideOf(folder, text string) Action {
	a := command(text, Wish{Unsandboxed: true, Justification: "j"})
	a.Folder = folder
	return a
}

// TestOutsideForTheSessionIsOfNothingThatCanChange: a lasting yes is bound to a text, but the
// next command may rewrite the files that the text names.
func TestOutsideForTheSessionIsOfNothingThatCanChange(t *testing.T) {
	const ws = workspace
	for _, c := range []struct {
		folder, text string
		path         string
		lasts        bool
	}{
		{ws, "./deploy.sh", "", false},
		{ws, "bash deploy.sh", "", false},
		{ws, "make deploy", "", false},
		{ws, "npm test", "", false},
		{ws, "git status", "", false},
		{ws + "/sub", "docker ps", "", false},
		{ws, "cat main.go | wc -l", "", true}, // runs nothing but what is known
		{ws, "ls -l", "", true},
		{ws, "cat main.go | sh", "", false},
		{ws, "ls -l", "/usr/bin:" + ws + "/node_modules/.bin", false},
		{"/srv", "docker ps", "", true},
		{"/srv", "docker ps", "/usr/bin:bin", true},
		{"/srv", "docker ps", ws + "/venv/bin:/usr/bin", false},
		{"/srv", "docker ps && docker ps -a | sort", "", true},
		{"/srv", ws + "/deploy.sh", "", false},
		{"/srv", "bash " + ws + "/absent.sh", "", false},
		{"/srv", "../home/u/src/app/deploy.sh", "", false},
		{"/srv", "make -C" + ws, "", false},
		{"/srv", "make --directory=" + ws, "", false},
		{"/srv", "docker run -v " + ws + ":/x image", "", false},
		{"/srv", "curl -d @" + ws + "/x https://example.org", "", false},
		{"/srv", "docker ps < " + ws + "/x", "", false},
		{"/srv", "run-parts /home/u/src", "", false}, // the workspace lies in it
		{"/srv", "cd /home && docker ps", "", false},
		{"/srv", "A=1 docker ps", "", false},
		{"/srv", "docker $X", "", false},
		{"/srv", "docker $(cat x)", "", false},
		{"/srv", "docker `cat x`", "", false},
		{"/srv", "docker *", "", false},
		{"/srv", "sh -c 'docker ps'", "", false},
		{"/srv", "eval x", "", false},
		{"/srv", "docker ps <<E\nx\nE", "", false},
		{"/srv", "f() { docker ps; }; f", "", false},
		{"/srv", "for i in a; do docker ps; done", "", false},
		{"/srv", "docker ps & wait", "", true},
		{"/srv", "docker 'ps", "", false},
	} {
		g := newGate(OnRequest, confined(), func(o *Options) {
			if c.path != "" {
				o.Path = strings.Split(c.path, ":")
			}
		})
		a := outsideOf(c.folder, c.text)
		r := mustAsk(t, g, a)
		offered := slices.ContainsFunc(r.Options, func(o Option) bool { return o.Decision == OutsideSession })
		if offered != c.lasts || (len(r.Withheld) == 0) != c.lasts {
			t.Errorf("%s$ %s (PATH %s): offered %+v, withheld %q", c.folder, c.text, c.path, r.Options, r.Withheld)
			continue
		}
		p, err := g.Settle(r, Answer{Decision: OutsideSession})
		if (err == nil) != c.lasts || p.minted != c.lasts {
			t.Errorf("%s$ %s: settled %v", c.folder, c.text, err)
		}
		_, again, err := g.Decide(a)
		if (again == nil) != c.lasts || err != nil {
			t.Errorf("%s$ %s: asked again %v", c.folder, c.text, again != nil)
		}
	}
}

// TestOutsideIsAskedAgainWhereItCanChangeNow: a folder was granted since.
func TestOutsideIsAskedAgainWhereItCanChangeNow(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := outsideOf("/srv/data", "docker ps")
	if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: OutsideSession}); err != nil {
		t.Fatal(err)
	}
	opens := command("x", Wish{Write: []string{"/srv/data"}})
	if _, err := g.Settle(mustAsk(t, g, opens), Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	mustAsk(t, g, a)
}

// TestOutsideWarns about files of the command that the session made or can change.
func TestOutsideWarns(t *testing.T) {
	made := func(dirs ...string) func(*Options) {
		return func(o *Options) { o.MadeGit = func() []string { return dirs } }
	}
	for _, c := range []struct {
		folder, text string
		more         func(*Options)
		want         []string // the beginnings of warnings
	}{
		{workspace, "bash main.go", nil, []string{"commands in the sandbox can change /home/u/src/app/main.go"}},
		{workspace, "bash absent.sh", nil, nil},
		{workspace, "./main.go main.go", nil, []string{"commands in the sandbox can change /home/u/src/app/main.go"}},
		{workspace, "git status", made(workspace + "/.git"), []string{"this session made the git directory /home/u/src/app/.git"}},
		{workspace + "/sub/deeper", "make", made(workspace + "/sub/.git"), []string{"this session made the git directory /home/u/src/app/sub/.git"}},
		{workspace, "make", made(workspace + "/sub/.git"), []string{"this session made the git directory"}},
		{workspace + "/other", "make", made(workspace + "/sub/.git"), nil},
		{workspace + "/other", "git -C ../sub status", made(workspace + "/sub/.git"), []string{"this session made the git directory"}},
		{workspace + "/other", "cd ../sub; git status", made(workspace + "/sub/.git"), []string{"this session made the git directory"}},
		{workspace, "git status", made(workspace+"/a.git", workspace+"/b.git", workspace+"/c.git", workspace+"/d.git", workspace+"/e.git"),
			[]string{"this session made the git directory /home/u/src/app/a.git", "this session", "this session", "the same holds for 2 more"}},
	} {
		more := c.more
		if more == nil {
			more = func(*Options) {}
		}
		r := mustAsk(t, newGate(OnRequest, confined(), more), outsideOf(c.folder, c.text))
		i := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "outside the sandbox it can change") })
		if i < 0 || len(r.Warnings) != i+1+len(c.want) {
			t.Errorf("%s$ %s: %q", c.folder, c.text, r.Warnings)
			continue
		}
		for j, want := range c.want {
			if !strings.HasPrefix(r.Warnings[i+1+j], want) {
				t.Errorf("%s$ %s: %q, want %q", c.folder, c.text, r.Warnings[i+1+j], want)
			}
		}
	}
	// A command in the sandbox is not outside.
	r := mustAsk(t, newGate(OnRequest, confined(), made(workspace+"/.git")), command("git status", Wish{Write: []string{"/etc/hosts"}}))
	if slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "git directory") }) {
		t.Errorf("%q", r.Warnings)
	}
}

func FuzzPlainWords(f *testing.F) {
	for _, s := range []string{"docker ps", "a <b >c", "x $(y)", "sh -c 'a b'", "a=1 b", "\x00", "a && b | c"} {
		f.Add(s)
	}
	g := newGate(OnRequest, confined())
	f.Fuzz(func(t *testing.T, text string) {
		if _, plain := plainWords(text); plain && strings.ContainsAny(text, "$`*") && !strings.Contains(text, "#") {
			t.Errorf("%q is plain", text)
		}
		_ = leaving{g.Gate}.outsideOf(sandbox.WorkspaceWrite(workspace), outsideOf("/srv", text))
	})
}
