package sandbox_test

import (
	"path"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
)

// workspace is the policy under which most commands run.
func workspace() sandbox.Policy {
	p := sandbox.WorkspaceWrite("/w", "/extra")
	p.Protected.Paths = protecttest.Git("/w/.git")
	p.Protected.Names = []string{".codeagent", ".envrc", ".vscode/tasks.json", ".claude"} // whatever the table has
	p.Protected.Own = []string{"/home/u/.config/codeagent", "/w/bin/codeagent", "/home/u/state"}
	p.Protected.Hidden = []string{"/home/u/state/undo", "/home/u/state/sessions"}
	p.DenyRead = []string{"/home/u/.ssh", "/w/key.pem", "/w/exact*[1/key"}
	p.DenyGlobs = []string{"**/.env", "*.secret", "/w/conf/*/token", "/w/odd[1]"}
	p.Temp = "/state/tmp"
	return p
}

const allowed = sandbox.DenialKind("")

func TestJudgeWrite(t *testing.T) {
	p := workspace()
	for _, c := range []struct {
		path string
		want sandbox.DenialKind
	}{
		{"/w", allowed}, {"/w/a", allowed}, {"/w/a/b/c", allowed}, {"/extra/x", allowed}, {"/state/tmp/x", allowed},
		{"/wa", sandbox.KindWrite}, {"/w.bak/x", sandbox.KindWrite}, {"/", sandbox.KindWrite}, {"/etc/hosts", sandbox.KindWrite},
		{"/tmp/x", sandbox.KindWrite}, {"/state", sandbox.KindWrite}, {"/state/tmp2", sandbox.KindWrite}, {"/W/a", sandbox.KindWrite},
		{"/w/.git", allowed}, {"/w/.git/HEAD", allowed}, {"/w/.git/index", allowed}, {"/w/.git/objects/ab/cd", allowed},
		{"/w/.git/config", sandbox.KindProtected}, {"/w/.git/hooks", sandbox.KindProtected}, {"/w/.git/hooks/pre-commit", sandbox.KindProtected},
		{"/w/.git/commondir", sandbox.KindProtected}, {"/w/.git/gitdir", sandbox.KindProtected}, {"/w/.git/config.lock", sandbox.KindProtected},
		{"/w/sub/.git/config", allowed}, // a repository that the session created itself
		{"/w/.codeagent", sandbox.KindProtected}, {"/w/sub/.codeagent/config.toml", sandbox.KindProtected}, {"/extra/.envrc", sandbox.KindProtected},
		{"/w/.codeagentx", allowed}, {"/w/x.codeagent", allowed}, {"/w/.vscode/tasks.json", sandbox.KindProtected}, {"/w/.vscode/other.json", allowed},
		{"/w/a/.vscode/tasks.json/x", sandbox.KindProtected}, {"/w/.vscode", allowed}, {"/state/tmp/.claude/x", allowed},
		{"/w/bin/codeagent", sandbox.KindProtected}, {"/w/bin/codeagent2", allowed}, {"/home/u/.config/codeagent/config.toml", sandbox.KindProtected},
		{"/w/.env", sandbox.KindRead}, {"/w/a/b/.env", sandbox.KindRead}, {"/w/key.pem", sandbox.KindRead}, {"/w/x.secret", sandbox.KindRead},
	} {
		checkJudgement(t, "write "+c.path, p.JudgeWrite(c.path), c.want)
	}
}

// TestJudgeTracked: a history opens the names of agents, editors and shells, and nothing else.
func TestJudgeTracked(t *testing.T) {
	p := sandbox.WorkspaceWrite("/w")
	p.Protected.Names = append(protect.Names(), "my.conf")
	p.Protected.Paths, p.Protected.Own = append(protecttest.Git("/w/.git"), protecttest.In("/w/b/{shell}")), []string{protecttest.In("/w/c/{agent}")}
	p.DenyRead = []string{protecttest.In("/w/d/{shell}")}
	for path, want := range map[string]sandbox.DenialKind{
		"/w/{shell}": allowed, "/w/a/{agent}/x": allowed, "/w/{editor}": allowed, "/w/a": allowed,
		"/w/my.conf": sandbox.KindProtected, "/w/{repository}": sandbox.KindProtected, "/w/{agent}/{repository}": sandbox.KindProtected,
		"/w/.git/hooks/{shell}": sandbox.KindProtected, "/w/b/{shell}": sandbox.KindProtected, "/w/c/{agent}/x": sandbox.KindProtected,
		"/w/d/{shell}": sandbox.KindRead, "/x/{shell}": sandbox.KindWrite,
	} {
		path = protecttest.In(path)
		checkJudgement(t, path, p.JudgeTracked(path), want)
	}
}

// TestJudgeWriteBelowNames: a name may begin at or above a write root, but must end below it.
func TestJudgeWriteBelowNames(t *testing.T) {
	p := sandbox.WorkspaceWrite(protecttest.In("/w/{editor/}"), protecttest.In("/v/{agent}/skills"))
	for path, want := range map[string]sandbox.DenialKind{
		"/w/{editor/}": allowed, "/w/{editor/}/a": allowed, "/w/{editor}": sandbox.KindProtected, "/w/{editor}/a": sandbox.KindProtected,
		"/w/{editor}.lock": sandbox.KindProtected, "/w/{EDITOR/}/a": sandbox.KindWrite, "/w/{editor/}/{/EDITOR}": sandbox.KindProtected,
		"/w/{editor/}/{editor}": sandbox.KindProtected, "/w/a": sandbox.KindWrite,
		"/v/{agent}/skills": allowed, "/v/{agent}/skills/a": allowed, "/v/{agent}/a": sandbox.KindWrite,
		"/v/{agent}/skills/a/{shell}": sandbox.KindProtected, "/v/{agent}/skills/{agent}/a": sandbox.KindProtected,
	} {
		checkJudgement(t, "write "+path, p.JudgeWrite(protecttest.In(path)), want)
	}
}

// TestJudgeWriteInPackages: names are data there, but not to version control, and no path is.
func TestJudgeWriteInPackages(t *testing.T) {
	p := sandbox.WorkspaceWrite("/w", "/w/node_modules/opened").With(sandbox.Grant{Write: []string{"/w/node_modules/granted", "/w/node_modules/opened/granted", "/cache/a@v1.2.3"}})
	p.Protected.Paths = []string{protecttest.In("/w/node_modules/linked/{agent}")} // a link of the same name leads there
	p.Protected.Own = []string{"/w/node_modules/codeagent"}
	for target, want := range map[string]sandbox.DenialKind{
		"node_modules/a/{agent}/x": allowed, "node_modules/{shell}": allowed, "node_modules/a/{editor}": allowed, "node_modules/a/{editor}.lock": allowed,
		"node_modules/a/{repository}": sandbox.KindProtected, "node_modules/linked/{agent}/x": sandbox.KindProtected, "node_modules/codeagent": sandbox.KindProtected,
		"node_modules/granted/{agent}": allowed, "../cache/a@v1.2.3/{agent}": allowed, "../cache/a@v1.2.3/{repository}": sandbox.KindProtected,
		"node_modules/opened/granted/{agent}": sandbox.KindProtected, "node_modules/opened/{agent}": sandbox.KindProtected, "node_modules/opened/a/node_modules/b/{agent}": allowed, "{agent}/node_modules/a": sandbox.KindProtected,
	} {
		checkJudgement(t, "write "+target, p.JudgeWrite(path.Join("/w", protecttest.In(target))), want)
	}
}

// TestHidden: no grant lets a command write or read codeagent's own records.
func TestHidden(t *testing.T) {
	kept := "/home/u/state/undo/s1/kept"
	p := workspace()
	p.Read = []sandbox.Root{{Path: "/"}}
	q := p.With(sandbox.Grant{Read: []string{kept, "/home/u/state/undo", "/"}, Write: []string{kept, "/home/u"}})
	if j := q.JudgeRead(kept); j.Allowed || !j.Final || !strings.Contains(j.Rule, "codeagent's own records") {
		t.Errorf("%+v", j)
	}
	if j := q.JudgeWrite(kept); j.Kind != sandbox.KindProtected {
		t.Errorf("%+v", j)
	}
	if j := q.OnlyRead().JudgeRead(kept); j.Allowed {
		t.Error("what only reads may read them")
	}
	p.Protected.Hidden = []string{"/elsewhere"}
	if err := p.Validate(); err == nil {
		t.Error("a path is hidden that is not codeagent's own")
	}
}

func TestJudgeRead(t *testing.T) {
	p := workspace()
	for _, c := range []struct {
		path string
		want sandbox.DenialKind
	}{
		{"/etc/hosts", allowed}, {"/w/a", allowed}, {"/", allowed}, {"/home/u/.sshfoo", allowed}, {"/home/u", allowed},
		{"/home/u/.ssh", sandbox.KindRead}, {"/home/u/.ssh/id_rsa", sandbox.KindRead},
		{"/.env", sandbox.KindRead}, {"/a/.env", sandbox.KindRead}, {"/a/.env/deep", sandbox.KindRead}, {"/a/.envrc", allowed}, {"/a/x.env", allowed},
		{"/a.secret", sandbox.KindRead}, {"/x/y/b.secret/z", sandbox.KindRead}, {"/x/secret", allowed},
		{"/w/conf/a/token", sandbox.KindRead}, {"/w/conf/token", allowed}, {"/w/conf/a/b/token", allowed}, {"/w/conf/a/tokens", allowed},
		{"/w/odd[1]", sandbox.KindRead}, {"/w/odd1", sandbox.KindRead}, {"/w/odd2", allowed},
		{"/w/exact*[1/key", sandbox.KindRead}, {"/w/exactx[1/key", allowed}, {"/w/exact*[1", allowed},
		{"/home/u/state/undo", sandbox.KindRead}, {"/home/u/state/undo/s1/kept", sandbox.KindRead}, {"/home/u/state/sessions/s1.jsonl", sandbox.KindRead},
		{"/home/u/state", allowed}, {"/home/u/state/output/1", allowed}, {"/home/u/state/undone", allowed},
	} {
		checkJudgement(t, "read "+c.path, p.JudgeRead(c.path), c.want)
	}
	p.Read = []sandbox.Root{{Path: "/usr"}, {Path: "/w/src"}}
	for _, c := range []struct {
		path string
		want sandbox.DenialKind
	}{
		{"/usr/bin/true", allowed}, {"/usrlocal", sandbox.KindRead}, {"/etc/hosts", sandbox.KindRead},
		{"/w/src/a", allowed}, {"/w/a", allowed}, {"/extra/a", allowed}, // a writable path is readable
		{"/w/src/.env", sandbox.KindRead}, {"/state/tmp/x", allowed},
	} {
		checkJudgement(t, "strict read "+c.path, p.JudgeRead(c.path), c.want)
	}
}

func checkJudgement(t *testing.T, what string, got sandbox.Judgement, want sandbox.DenialKind) {
	t.Helper()
	if got.Allowed != (want == allowed) || got.Kind != want || got.Rule == "" {
		t.Errorf("%s: %+v, want kind %q", what, got, want)
	}
}

func TestSharedTemp(t *testing.T) {
	p := sandbox.WorkspaceWrite("/w")
	for _, dir := range []string{"/tmp/x", "/var/tmp/x", "/private/tmp/x"} {
		if p.JudgeWrite(dir).Allowed {
			t.Errorf("%s is writable without shared_temp", dir)
		}
	}
	p.SharedTemp, p.Protected.Names = true, []string{".envrc"}
	for path, want := range map[string]bool{"/tmp/x": true, "/var/tmp/x": true, "/private/tmp/x": true, "/var/x": false, "/tmpx": false, "/tmp/.envrc": false} {
		if got := p.JudgeWrite(path).Allowed; got != want {
			t.Errorf("%s: writable %v", path, got)
		}
	}
}

func TestUnconfined(t *testing.T) {
	p := sandbox.FullAccess()
	if w, r, h := p.JudgeWrite("/etc/x"), p.JudgeRead("/x"), p.JudgeHost(sandbox.HostPort{Host: "x", Port: 1}); !w.Allowed || !r.Allowed || !h.Allowed {
		t.Errorf("full access refuses something: write %+v, read %+v, host %+v", w, r, h)
	}
}

func TestZeroPolicy(t *testing.T) {
	var p sandbox.Policy
	if w, r, h := p.JudgeWrite("/x"), p.JudgeRead("/x"), p.JudgeHost(sandbox.HostPort{Host: "x", Port: 1}); w.Allowed || !r.Allowed || h.Allowed {
		t.Errorf("the zero policy must read everything and do nothing else: write %+v, read %+v, host %+v", w, r, h)
	}
	p.Network.Mode = sandbox.NetworkAllow
	if p.JudgeHost(sandbox.HostPort{Host: "x", Port: 1}).Allowed {
		t.Error("an empty allow list allows a host (E41)")
	}
}

// slowGlob is the definition of a glob: exponential, but easy to verify.
func slowGlob(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0
	case pattern[0] == "**":
		for n := range len(parts) + 1 {
			if slowGlob(pattern[1:], parts[n:]) {
				return true
			}
		}
		return false
	case len(parts) == 0:
		return false
	}
	ok, err := path.Match(pattern[0], parts[0])
	return err == nil && ok && slowGlob(pattern[1:], parts[1:])
}

func FuzzGlob(f *testing.F) {
	for _, glob := range []string{"**/.env", "*.pem", "/a/**/b", "**/**/c", "/a/*/c", "a/**", "**", "/**/x/**/y", "[ab]/c", "/a/?"} {
		for _, target := range []string{"/a/b", "/a/x/b/c", "/", "/a/.env", "/x/a/y/b/c"} {
			f.Add(glob, target)
		}
	}
	f.Fuzz(func(t *testing.T, glob, target string) {
		p := sandbox.Policy{DenyGlobs: []string{glob}}
		if !sandbox.IsGlob(glob) || p.Validate() != nil || !strings.HasPrefix(target, "/") || path.Clean(target) != target {
			return
		}
		if len(glob) > 24 || len(target) > 40 || strings.Count(glob, "**") > 3 {
			return // slowGlob takes too long
		}
		got := !p.JudgeRead(target).Allowed
		full := glob
		if !strings.HasPrefix(glob, "/") && !strings.HasPrefix(glob, "**/") {
			full = "**/" + glob
		}
		pattern := strings.Split(strings.Trim(full, "/"), "/")
		want := sandbox.Covers(glob, target)
		parts := strings.Split(strings.Trim(target, "/"), "/")
		for n := 1; n <= len(parts); n++ {
			want = want || slowGlob(pattern, parts[:n])
		}
		if got != want {
			t.Errorf("%q on %q: denied %v, want %v", glob, target, got, want)
		}
	})
}

// TestGlobIsBounded runs the worst patterns: with backtracking the first one alone would not end
// within a lifetime.
func TestGlobIsBounded(t *testing.T) {
	deep := "/" + strings.Repeat("a/", 400) + "b"
	for _, glob := range []string{
		strings.Repeat("**/", 60) + "x", strings.Repeat("**/a/", 60) + "x", strings.Repeat("**/*/", 100) + "x",
		strings.Repeat("*a", 50) + "x", strings.Repeat("**/", 60) + "b",
	} {
		p := sandbox.Policy{DenyGlobs: []string{glob}}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		if got, want := p.JudgeRead(deep).Allowed, !strings.HasSuffix(glob, "b"); got != want {
			t.Errorf("%.20q: readable %v", glob, got)
		}
		p.JudgeRead("/" + strings.Repeat("a", 4000))
	}
}

// TestPrefixesNeverCover asks about the paths beside every root.
func TestPrefixesNeverCover(t *testing.T) {
	for _, root := range []string{"/w", "/w/a", "/w/a b", "/w/ü"} {
		p := sandbox.WorkspaceWrite(root)
		for _, suffix := range []string{"b", ".bak", " ", "-", "\x00", "\u0301", "~"} {
			if target := root + suffix; p.JudgeWrite(target).Allowed {
				t.Errorf("root %q covers %q", root, target)
			}
		}
		if !p.JudgeWrite(root + "/x").Allowed {
			t.Errorf("root %q does not cover what is in it", root)
		}
	}
}
