package approvals

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

func withRules(t *testing.T, text string) func(*Options) {
	t.Helper()
	list, err := rules.Parse("rules.toml", []byte(text), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Options) { o.Rules, o.GrantsHosts = rules.Join(list), true }
}

// TestRulesAnswerHeldCalls: what a rule allows is not asked about while a command waits.
func TestRulesAnswerHeldCalls(t *testing.T) {
	g := newGate(OnRequest, confined(), func(o *Options) { o.Rules, o.GrantsHosts = tableRules(t), true })
	for _, c := range []struct {
		d    sandbox.Denial
		want string
	}{
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/u/notes/a"}, "run"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/srv/data/a"}, "ask"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "open.example:443"}, "run"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "other.example:443"}, "ask"},
	} {
		grant, r, err := g.DecideHeld(command("tool", Wish{}), c.d, HeldAnswers{})
		got := "run"
		switch {
		case r != nil:
			got = "ask"
		case err != nil:
			got = "refuse"
		}
		if got != c.want || (got == "run") == grant.Empty() {
			t.Errorf("%s %s: %s with %+v (%v), want %s", c.d.Kind, c.d.Target, got, grant, err, c.want)
		}
	}
}

// TestAFolderRuleOpensNoProtectedFile: neither a protected name, nor what deny_read closes, nor
// the target of a link that stands where the rule points.
func TestAFolderRuleOpensNoProtectedFile(t *testing.T) {
	text := func(path, access string) string {
		return "[[path]]\npaths = [\"" + path + "\"]\naccess = \"" + access + "\"\n"
	}
	hook := "/home/u/src/app/.git/hooks/pre-commit"
	for _, c := range []struct {
		rule, path string
		kind       sandbox.DenialKind
		want       string
	}{
		{text("~/src", "write"), hook, sandbox.KindProtected, "ask"},
		{text("~/src", "write"), "/home/u/src/other/x", sandbox.KindWrite, "run"},
		{text(hook, "write"), hook, sandbox.KindProtected, "run"},
		{text("~/.ssh/..", "read"), "", "", "invalid"},
		{text("/home", "read"), "/home/u/.ssh/id", sandbox.KindRead, "refuse"},
		{text("/home/u/src/app/out", "write"), "/srv/data/y", sandbox.KindWrite, "ask"},
		{text("/home/u/src/app/out", "write"), "/home/u/src/app/out/y", sandbox.KindWrite, "ask"},
	} {
		list, err := rules.Parse("rules.toml", []byte(c.rule), "/home/u")
		if err != nil {
			if c.want != "invalid" {
				t.Errorf("%s: %v", c.rule, err)
			}
			continue
		}
		g := newGate(OnRequest, confined(), func(o *Options) { o.Rules = rules.Join(list) })
		_, r, err := g.DecideHeld(command("tool", Wish{}), sandbox.Denial{Kind: c.kind, Target: c.path}, HeldAnswers{})
		got := "run"
		if r != nil {
			got = "ask"
		} else if err != nil {
			got = "refuse"
		}
		if got != c.want {
			t.Errorf("under %s, %s %s: %s (%v), want %s", strings.TrimSpace(c.rule), c.kind, c.path, got, err, c.want)
		}
	}
}

// TestInputIsJudged: a shell in the background takes no forbidden command as input, and no
// rule lets input pass.
func TestInputIsJudged(t *testing.T) {
	g := newGate(OnRequest, confined(), func(o *Options) { o.Rules = tableRules(t) })
	for input, want := range map[string]string{"make all\n": "run", "npm publish\n": "refuse", "terraform apply\n": "ask"} {
		a := Action{CallID: "c", Tool: "t", Kind: word.KindInput, Folder: workspace, Input: input, Running: Running{ID: 1, Command: "bash", Policy: confined()}}
		if got := decided(g.Decide(a)); got != want {
			t.Errorf("%q: %s, want %s", input, got, want)
		}
	}
	g = newGate(Untrusted, confined(), func(o *Options) { o.Rules = tableRules(t) })
	a := Action{CallID: "c", Tool: "t", Kind: word.KindInput, Folder: workspace, Input: "make all\n", Running: Running{ID: 1, Command: "bash", Policy: confined()}}
	if got := decided(g.Decide(a)); got != "ask" {
		t.Errorf("under untrusted: %s", got)
	}
}

// TestRulesExpire: an expired rule answers nothing.
func TestRulesExpire(t *testing.T) {
	const text = "[[path]]\npaths = [\"~/notes\"]\naccess = \"write\"\nexpires = 2026-01-31\n"
	for day, want := range map[int]string{31: "run", 32: "ask"} {
		g := newGate(OnRequest, confined(), withRules(t, text), func(o *Options) {
			o.Now = func() time.Time { return time.Date(2026, 1, day, 12, 0, 0, 0, time.Local) }
		})
		if got := decided(g.Decide(command("tool", Wish{Write: []string{"~/notes/x"}}))); got != want {
			t.Errorf("on day %d: %s, want %s", day, got, want)
		}
	}
}

// BenchmarkDecide200Rules decides about a common command with 200 rules. Half of the rules restrict
// something.
func BenchmarkDecide200Rules(b *testing.B) {
	var text strings.Builder
	text.WriteString("[[command]]\nwords = [\"go\", [\"build\", \"test\", \"vet\"]]\ndecision = \"allow\"\n[[command]]\nwords = [\"tail\"]\ndecision = \"allow\"\n")
	for i := range 99 {
		fmt.Fprintf(&text, "[[command]]\nwords = [\"tool%d\", [\"run\", \"test\"]]\ndecision = \"allow\"\n", i)
		fmt.Fprintf(&text, "[[command]]\nwords = [\"tool%d\", \"publish\"]\ndecision = \"ask\"\n", i)
	}
	list, err := rules.Parse("rules.toml", []byte(text.String()), "/home/u")
	if err != nil || len(list) != 200 {
		b.Fatal(len(list), err)
	}
	for _, mode := range []Mode{OnRequest, Untrusted} {
		b.Run(string(mode), func(b *testing.B) {
			g := newGate(mode, confined(), func(o *Options) { o.Rules = rules.Join(list) })
			a := command("cd sub && go test ./... 2>&1 | tail -20", Wish{})
			for b.Loop() {
				if p, r, err := g.Decide(a); r != nil || err != nil || !p.minted {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// TestAHostForFetchesStaysClosedToCommands: a host opened to fetches stays closed to requests and
// held calls of commands.
func TestAHostForFetchesStaysClosedToCommands(t *testing.T) {
	g := newGate(OnRequest, confined(), withRules(t, "[[host]]\nhosts = [\"docs.example:443\"]\naccess = \"fetch\"\n"))
	if got := decided(g.Decide(fetch("docs.example:443"))); got != "run" {
		t.Errorf("a fetch: %s", got)
	}
	if got := decided(g.Decide(command("curl docs.example", Wish{Hosts: []string{"docs.example:443"}}))); got != "ask" {
		t.Errorf("a command: %s", got)
	}
	grant, r, err := g.DecideHeld(command("curl docs.example", Wish{}), sandbox.Denial{Kind: sandbox.KindNetwork, Target: "docs.example:443"}, HeldAnswers{})
	if r == nil || !grant.Empty() {
		t.Errorf("a held call: %+v %v", grant, err)
	}
}

// TestBackendByRules: a command runs in the backend for which it was planned, or not at all, also where a rule comes or goes
// between the plan and the answer.
func TestBackendByRules(t *testing.T) {
	const box, other = "[[command]]\nwords = [\"npm\"]\nbackend = \"box\"\n", "[[command]]\nwords = [\"go\"]\nbackend = \"other\"\n"
	g := newGate(Untrusted, confined(), withRules(t, box+other))
	plan := func(line string) Action {
		a := command(line, Wish{})
		var err error
		if a.Backend, err = g.BackendOf(line, Wish{}); err != nil {
			t.Fatal(err)
		}
		return a
	}
	sent, own := plan("npm test"), plan("make")
	if sent.Backend != "box" || own.Backend != "" {
		t.Errorf("%q, %q", sent.Backend, own.Backend)
	}
	if _, err := g.BackendOf("npm test; go test", Wish{}); err == nil || !strings.Contains(err.Error(), "rules.toml:1 and rules.toml:4") {
		t.Error(err)
	}
	if _, _, err := g.Helper(Helper{Name: "h"}).Decide(sent); err == nil || !strings.Contains(err.Error(), "helpers run nothing") {
		t.Error(err)
	}
	_, asked, err := g.Decide(sent)
	if err != nil || asked == nil {
		t.Fatalf("%+v, %v", asked, err)
	}
	permit, err := g.Settle(asked, Answer{Decision: Once})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := permit.Policy(sent); err != nil {
		t.Error(err)
	}
	moved := sent
	moved.Backend = ""
	if _, err := permit.Policy(moved); err == nil {
		t.Error("the permit holds for another backend")
	}
	if _, _, err := g.Decide(moved); err == nil || !strings.Contains(err.Error(), "make the call again") {
		t.Error(err)
	}
	_, asked, err = g.Decide(sent)
	if err != nil || asked == nil {
		t.Fatalf("%+v, %v", asked, err)
	}
	g.Ledger().SetRules(nil)
	if _, err := g.Settle(asked, Answer{Decision: Once}); err == nil || !strings.Contains(err.Error(), "make the call again") {
		t.Error(err)
	}
	// A yes for the session is one to the backend that was shown.
	g = newGate(Untrusted, confined(), withRules(t, box))
	if _, asked, err = g.Decide(sent); err != nil || asked == nil {
		t.Fatalf("%+v, %v", asked, err)
	}
	if _, err = g.Settle(asked, Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if _, asked, err = g.Decide(sent); err != nil || asked != nil {
		t.Errorf("asked again: %+v, %v", asked, err)
	}
	g.Ledger().SetRules(nil)
	if _, asked, err = g.Decide(moved); err != nil || asked == nil {
		t.Errorf("the yes holds for another backend: %v", err)
	}
	// What runs in the backend of the session anyway was sent nowhere.
	g = newGate(OnRequest, confined(), withRules(t, box), func(o *Options) { o.Backend = "box" })
	if name, err := g.BackendOf("npm test", Wish{}); name != "" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	// Outside the sandbox there is no backend.
	out := Wish{Unsandboxed: true, Justification: "the test needs the real display of this machine"}
	g = newGate(OnRequest, confined(), withRules(t, box+other))
	if name, err := g.BackendOf("npm test; go test", out); name != "" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if _, asked, err = g.Decide(command("npm test; go test", out)); err != nil || asked == nil {
		t.Errorf("%+v, %v", asked, err)
	}
	g = newGate(OnRequest, sandbox.Policy{Unconfined: true}, withRules(t, box))
	if name, err := g.BackendOf("npm test", Wish{}); name != "" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if _, asked, err = g.Decide(command("npm test", Wish{})); err != nil || asked != nil {
		t.Errorf("%+v, %v", asked, err)
	}
}
