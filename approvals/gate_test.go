package approvals

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/decide"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
)

// tree is a file system in a map: a path's value is "d", "f", "x" (a program), "s" (socket) or
// "->target". Parents of what stands there are folders.
type tree map[string]string

func (t tree) Lstat(p string) (fs.FileMode, error) {
	switch v := t[p]; {
	case strings.HasPrefix(v, "->"):
		return fs.ModeSymlink, nil
	case v == "f":
		return 0o644, nil
	case v == "x":
		return 0o755, nil
	case v == "s":
		return fs.ModeSocket, nil
	case v == "d" || p == "/":
		return fs.ModeDir, nil
	}
	for q := range t {
		if strings.HasPrefix(q, p+"/") {
			return fs.ModeDir, nil
		}
	}
	return 0, &fs.PathError{Op: "lstat", Path: p, Err: fs.ErrNotExist}
}

func (t tree) Readlink(p string) (string, error) {
	if target, ok := strings.CutPrefix(t[p], "->"); ok {
		return target, nil
	}
	return "", errors.New("not a link")
}

// flags stands for what config.Flags says.
func (t tree) flags(g sandbox.Grant) (out []string) {
	for _, p := range g.Write {
		m, err := t.Lstat(p)
		switch {
		case strings.HasPrefix(p, "/home/u/nowhere"):
			return nil
		case err == nil && m.IsDir():
			out = append(out, "--add-dir "+short.ShellWord(p))
		default:
			out = append(out, "--add-file "+short.ShellWord(p))
		}
	}
	return out
}

func disk() tree {
	return tree{
		"/home/u/src/app/main.go":                  "f",
		"/home/u/src/app/.git/hooks":               "d",
		"/home/u/src/app/.envrc":                   "f",
		"/home/u/src/app/out":                      "->/srv/data",
		"/home/u/.npm/_cacache":                    "d",
		"/home/u/.cache/tool":                      "d",
		"/home/u/.cache/runs/bin":                  "d",
		"/home/u/.ccache/0":                        "d",
		"/home/u/.pub-cache/bin":                   "d",
		"/home/u/.npmrc":                           "f",
		"/home/u/.ssh/id":                          "f",
		"/home/u/.config/codeagent/config.toml":    "f",
		"/home/u/.config/other/settings":           "f",
		"/srv/data/x":                              "f",
		"/etc/hosts":                               "f",
		"/run/docker.sock":                         "s",
		"/home/u/src/other/.envrc":                 "f",
		"/home/u/src/other/web/pages/[id]/page.ts": "f",
	}
}

const workspace = "/home/u/src/app"

func confined() sandbox.Policy {
	p := sandbox.WorkspaceWrite(workspace)
	p.Protected.Names = []string{".envrc", ".mcp.json", ".claude", ".codeagent", ".vscode/tasks.json", ".vscode/settings.json"} // whatever the table has
	p.Protected.Paths = protecttest.Git(workspace + "/.git")
	p.Protected.Own = []string{"/home/u/.config/codeagent", "/opt/codeagent/bin"}
	p.DenyRead, p.DenyGlobs = []string{"/home/u/.ssh"}, []string{"**/.env"}
	return p
}

type world struct {
	*Gate
	disk tree
}

func newGate(mode Mode, base sandbox.Policy, more ...func(*Options)) world {
	d, n := disk(), 0
	o := Options{
		Mode: mode, Base: base, Files: d, Home: "/home/u", Workspace: workspace,
		NewID: func() string { n++; return fmt.Sprintf("q%d", n) },
	}
	for _, f := range more {
		f(&o)
	}
	g := NewGate(o)
	g.SetCommand("", d.flags)
	return world{g, d}
}

func command(text string, w Wish) Action {
	return Action{
		CallID: "c1", Tool: "shell", Kind: word.KindCommand, Title: "$ " + text, Command: text, Folder: workspace,
		Argv: []string{"/bin/bash", "-c", text}, Wish: w,
	}
}

func edit(paths ...string) Action {
	return Action{CallID: "c2", Tool: "apply_patch", Kind: word.KindEdit, Title: "edit", Folder: workspace, Paths: paths}
}

func decided(p Permit, r *Request, err error) string {
	switch {
	case p.minted && r == nil && err == nil:
		return "run"
	case !p.minted && r != nil && err == nil:
		return "ask"
	case !p.minted && r == nil && err != nil:
		return "refuse"
	}
	return fmt.Sprintf("not exactly one of three: %v %v %v", p.minted, r, err)
}

// tableRules are the rules of the decision table.
func tableRules(t *testing.T) *rules.Set {
	t.Helper()
	list, err := rules.Parse("rules.toml", []byte(`
[[command]]
words = ["make", "all"]
decision = "allow"

[[command]]
words = ["terraform"]
decision = "ask"

[[command]]
words = ["npm", "publish"]
decision = "forbid"
reason = "CI publishes"

[[path]]
paths = ["~/notes"]
access = "write"

[[host]]
hosts = ["open.example:443"]

[[tool]]
tool = "s__allowed"
decision = "allow"

[[tool]]
tool = "s__asked"
decision = "ask"

[[tool]]
tool = "s__forbidden"
decision = "forbid"
reason = "people do this"
`), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	return rules.Join(list)
}

func mustAsk(t *testing.T, g world, a Action) *Request {
	t.Helper()
	_, r, err := g.Decide(a)
	if r == nil {
		t.Fatalf("not asked: %v", err)
	}
	return r
}

func mustPolicy(t *testing.T, p Permit, err error, a Action) sandbox.Policy {
	t.Helper()
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	pol, err := p.Policy(a)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

func keys(r *Request) string {
	var out []string
	for _, o := range r.Options {
		out = append(out, cmp.Or(string(o.Decision), "no")+" "+o.Key)
	}
	return strings.Join(out, ", ")
}

// The answers to a question that can be granted in the sandbox, and to one that cannot.
const (
	insideOnly  = "once 1, session 2, no n, stop s"
	outsideOnce = "outside 1, no n, stop s"
)

func TestOptionsAreLeastFirst(t *testing.T) {
	hosts := Wish{Hosts: []string{"registry.npmjs.org:443"}}
	both := Wish{Write: []string{"~/.npm"}, Unsandboxed: true}
	for _, c := range []struct {
		name   string
		mode   Mode
		action Action
		more   func(*Options)
		want   string
		widest bool
	}{
		{"paths", OnRequest, command("npm i", Wish{Write: []string{"~/.npm"}}), nil, insideOnly, false},
		{"outside asked", OnRequest, command("npm i", Wish{Unsandboxed: true}), nil, outsideOnce, true},
		{"outside and a path", OnRequest, command("npm i", both), nil, "once 1, session 2, outside 3, no n, stop s", true},
		{"a host the backend cannot open", OnRequest, command("npm i", hosts), nil, outsideOnce, true},
		{"a host it can", OnRequest, command("npm i", hosts), func(o *Options) { o.GrantsHosts = true }, insideOnly, false},
		{"a socket it cannot", OnRequest, command("docker ps", Wish{Sockets: []string{"/run/docker.sock"}}), nil, outsideOnce, true},
		{"below deny_read", OnRequest, command("cat id", Wish{Read: []string{"~/.ssh/id"}}), nil, "outside 1, no n, stop s", true},
		{"deny_read as a whole", OnRequest, command("cat id", Wish{Read: []string{"~/.ssh"}}), nil, insideOnly, false},
		{"leave to run", Untrusted, command("npm test", Wish{}), nil, insideOnly, false},
		{"leave to edit", Untrusted, edit("main.go"), nil, "once 1, session 2, all_edits 3, no n, stop s", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(c.mode, confined())
			if c.more != nil {
				g = newGate(c.mode, confined(), c.more)
			}
			r := mustAsk(t, g, c.action)
			if got := keys(r); got != c.want || r.Widest != c.widest {
				t.Errorf("options %q widest %v, want %q %v", got, r.Widest, c.want, c.widest)
			}
			if strings.HasPrefix(c.want, "outside") {
				if _, err := g.Settle(r, Answer{Decision: Once}); err == nil {
					t.Error("an answer that was not offered was accepted")
				}
			}
			if lasts := strings.Contains(c.want, "outside_session"); c.widest && (len(r.Withheld) == 0) != lasts {
				t.Errorf("withheld: %q", r.Withheld)
			}
		})
	}
}

func TestNothingNewIsNotAsked(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := command("make", Wish{Write: []string{".", "./build", "~/src/app/x"}, Read: []string{"/etc/hosts"}})
	p, r, err := g.Decide(a)
	if r != nil {
		t.Fatalf("asked for %+v", r.Grant)
	}
	if pol := mustPolicy(t, p, err, a); len(pol.Write) != 1 {
		t.Errorf("write roots %v", pol.Write)
	}
}

func TestAfterDenial(t *testing.T) {
	certain := sandbox.Verdict{
		Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull,
		Suggest: sandbox.Grant{Write: []string{"/home/u/.npm"}},
		Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/home/u/.npm/x"}},
	}
	likely := certain
	likely.Confidence, likely.Evidence = sandbox.Likely, sandbox.EvidenceOutputOnly
	passed := certain
	passed.Denied = false
	own := certain
	own.Suggest = sandbox.Grant{Write: []string{"/opt/codeagent/bin/x"}}
	lookup := certain
	lookup.Suggest = sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "example.org"}}}
	for _, c := range []struct {
		name string
		mode Mode
		v    sandbox.Verdict
		want string // keys, "" if nothing is asked
		fill string // the grant shown
	}{
		{"certain", OnFailure, certain, insideOnly, "write /home/u/.npm"},
		{"a guess fills nothing in", OnFailure, likely, outsideOnce, "leave the sandbox"},
		{"not denied", OnFailure, passed, "", ""},
		{"codeagent's own", OnFailure, own, "", ""},
		{"a lookup", OnFailure, lookup, outsideOnce, "reach example.org:443"},
		{"on-request", OnRequest, certain, "", ""},
		{"on-request, held", OnRequest, certain, insideOnly, "write /home/u/.npm"},
		{"granular, held", Granular, certain, insideOnly, "write /home/u/.npm"},
		{"on-request, held, a guess", OnRequest, likely, "", ""},
		{"on-request, held, not denied", OnRequest, passed, "", ""},
		{"on-request, held, nothing that can be granted", OnRequest, own, "", ""},
		{"never", Never, certain, "", ""},
		{"never, held", Never, certain, "", ""},
		{"untrusted, held", Untrusted, certain, "", ""},
		{"untrusted", Untrusted, certain, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(c.mode, confined())
			a := command("npm i", Wish{})
			var held *HeldAnswers
			if strings.Contains(c.name, "held") {
				held = &HeldAnswers{Given: []sandbox.Grant{{Write: []string{"/home/u/notes"}}}}
			}
			r := g.AfterDenial(a, c.v, held)
			if c.want == "" {
				if r != nil {
					t.Fatalf("asked: %+v", r)
				}
				return
			}
			if r == nil {
				t.Fatal("not asked")
			}
			if keys(r) != c.want || decide.GrantWords(r.Grant) != c.fill || !r.AfterFailure {
				t.Errorf("options %q grant %q after %v", keys(r), decide.GrantWords(r.Grant), r.AfterFailure)
			}
			d := Once
			if r.Options[0].Decision == Outside {
				d = Outside
			}
			p, err := g.Settle(r, Answer{Decision: d})
			pol := mustPolicy(t, p, err, a)
			if !pol.Unconfined && !pol.JudgeWrite("/home/u/.npm/x").Allowed {
				t.Error("yes opened nothing")
			}
			if held != nil && (!pol.JudgeWrite("/home/u/notes").Allowed || len(p.Given()) != 2) {
				t.Error("what was granted in the first run is lost")
			}
		})
	}
}

func TestHeldCallTakesTheSameWay(t *testing.T) {
	a := command("npm i", Wish{})
	held := sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: "/home/u/.cache/tool/x"}
	g := newGate(OnRequest, confined())
	_, r, err := g.DecideHeld(a, held, HeldAnswers{})
	if r == nil || !r.Held || keys(r) != insideOnly {
		t.Fatalf("%+v %v", r, err)
	}
	// The question is about the cache that contains the file, not about each of its files.
	grant, err := g.SettleHeld(r, Answer{Decision: Session})
	if err != nil || !slices.Equal(grant.Write, []string{"/home/u/.cache/tool"}) {
		t.Fatalf("%+v %v", grant, err)
	}
	// It is granted for the session, so the next call is not asked about.
	grant, r, err = g.DecideHeld(a, held, HeldAnswers{})
	if err != nil || r != nil || len(grant.Write) != 1 {
		t.Errorf("%+v %v %v", grant, r, err)
	}
	for name, d := range map[string]sandbox.Denial{
		"own":     {Kind: sandbox.KindProtected, Target: "/opt/codeagent/bin/helper"},
		"syscall": {Kind: sandbox.KindSyscall, Operation: "ptrace", Target: "ptrace"},
		"host":    {Kind: sandbox.KindNetwork, Target: "example.org:443"},
		"allowed": {Kind: sandbox.KindWrite, Target: workspace + "/x"},
	} {
		if grant, r, err := g.DecideHeld(a, d, HeldAnswers{}); err == nil || r != nil || !grant.Empty() {
			t.Errorf("%s: %+v %v %v", name, grant, r, err)
		}
	}
	never := newGate(Never, confined())
	if _, r, err := never.DecideHeld(a, held, HeldAnswers{}); r != nil || err == nil {
		t.Errorf("never: %v %v", r, err)
	}
}

func TestRequestShowsWhoAndWhat(t *testing.T) {
	g := newGate(OnRequest, confined())
	r := mustAsk(t, g, command("npm install --no-audit leftpad", Wish{Write: []string{"~/.npm"}, Justification: strings.Repeat("é", 3000)}))
	if r.Title != "npm install wants to write /home/u/.npm" {
		t.Errorf("title %q", r.Title)
	}
	if len(r.Justification) > decide.MaxReason || !strings.HasPrefix(r.Justification, "éé") {
		t.Errorf("justification of %d bytes", len(r.Justification))
	}
	r = mustAsk(t, g, command("\x1b[31mrm\u202e "+strings.Repeat("x", 500)+"\nsecond", Wish{Unsandboxed: true}))
	if strings.ContainsAny(r.Title, "\x1b\n\u202e") || len([]rune(r.Title)) > 80 {
		t.Errorf("title %q", r.Title)
	}
	if path.IsAbs(r.Title) {
		t.Error("title is a path")
	}
}

// TestTrustedPathsAreProtected: what git trusts is protected like its hooks, also for held
// calls; Open does not need it.
func TestTrustedPathsAreProtected(t *testing.T) {
	trusted := func(o *Options) {
		o.Trusted = func(p sandbox.Policy) sandbox.Policy {
			p.Protected.Paths = append(p.Protected.Paths, workspace+"/.husky")
			return p
		}
	}
	without, with := newGate(OnRequest, confined()), newGate(OnRequest, confined(), trusted)
	a := edit(".husky/pre-commit")
	if p, _, err := without.Decide(a); err != nil || !p.minted {
		t.Errorf("without it: %v", err)
	}
	if r := mustAsk(t, with, a); !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "is protected") }) {
		t.Errorf("%q", r.Warnings)
	}
	p, _, err := with.Decide(command("npm i", Wish{}))
	if pol := mustPolicy(t, p, err, command("npm i", Wish{})); pol.JudgeWrite(workspace + "/.husky/x").Allowed {
		t.Error("a command may write it")
	}
	d := sandbox.Denial{Kind: sandbox.KindProtected, Operation: "mkdir", Target: workspace + "/.husky"}
	if _, r, err := with.DecideHeld(command("npm i", Wish{}), d, HeldAnswers{}); r == nil || !slices.Equal(r.Grant.Write, []string{workspace + "/.husky"}) {
		t.Errorf("%+v %v", r, err)
	}
	waits := newGate(OnRequest, confined(), func(o *Options) { o.Trusted = func(p sandbox.Policy) sandbox.Policy { t.Error("asked"); return p } })
	if !waits.Open().JudgeWrite(workspace + "/x").Allowed {
		t.Error("not open")
	}
}
