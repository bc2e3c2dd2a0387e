package approvals

import (
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// serverCall calls a tool of the server "git", which may write its own folder only.
func serverCall(tool string) Action {
	return Action{
		CallID: "c", Tool: "git__" + tool, Kind: word.KindServer, Command: `{"title": "x"}`, Folder: workspace,
		Server: &ServerCall{
			Server: "git", Tool: tool, Described: "1", Arguments: `{"title": "x"}`,
			Policy: sandbox.Policy{Write: []sandbox.Root{{Path: "/srv/git"}}, Network: sandbox.Network{Mode: sandbox.NetworkDeny}},
		},
	}
}

func sessionYes(t *testing.T, g world, a Action) Permit {
	t.Helper()
	p, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Session})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestServerYesIsForTheToolAsDescribed: a yes covers later calls of the tool while the server
// describes it the same, and no other tool.
func TestServerYesIsForTheToolAsDescribed(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := serverCall("create")
	p := sessionYes(t, g, a)
	if policy := mustPolicy(t, p, nil, a); len(policy.Write) != 1 || policy.Write[0].Path != "/srv/git" {
		t.Errorf("a permit for a server's tool has the policy %+v", policy)
	}
	b := a.Clone()
	b.Server.Arguments = `{"title": "y"}`
	if _, q, err := g.Decide(b); q != nil || err != nil {
		t.Errorf("other arguments: asked %v, %v", q, err)
	}
	if _, err := p.Policy(b); err == nil {
		t.Error("the permit for one call let another one run")
	}
	if q := mustAsk(t, g, serverCall("delete")); len(q.Warnings) > 0 {
		t.Errorf("another tool: %q", q.Warnings)
	}
	b.Server.Described = "2"
	if q := mustAsk(t, g, b); !slices.ContainsFunc(q.Warnings, func(w string) bool { return strings.Contains(w, "not the same as when you allowed it") }) {
		t.Errorf("a tool that changed: %q", q.Warnings)
	}
	entries := g.Ledger().List()
	if len(entries) != 1 || entries[0].Lines(nil)[0] != "call git__create" || entries[0].Uses != 1 {
		t.Errorf("ledger: %+v", entries)
	}
	g.Ledger().Revoke(entries[0].ID)
	mustAsk(t, g, a)
}

// TestServerStartedAgain: no yes, and no claim to only read, covers a server that would load what the
// session changed.
func TestServerStartedAgain(t *testing.T) {
	g := newGate(OnRequest, confined())
	for _, reads := range []bool{false, true} {
		a := serverCall("create")
		if a.Server.ReadOnly = reads; !reads {
			sessionYes(t, g, a)
		}
		if _, q, err := g.Decide(a); q != nil || err != nil {
			t.Errorf("while it runs: %v, %v", q, err)
		}
		a.Server.Changed = workspace + "/lib.py (by job 1 (x))"
		if q := mustAsk(t, g, a); !strings.Contains(strings.Join(q.Warnings, "; "), "this session changed what it loads or reads: "+a.Server.Changed) {
			t.Errorf("%q", q.Warnings)
		}
	}
}

// TestServerAlways: the rule of the answer names the tool as it is described, and survives in an
// exported file as the answer for the session does.
func TestServerAlways(t *testing.T) {
	var saved string
	g := newGate(OnRequest, confined(), func(o *Options) {
		o.Save = func(text string) ([]*rules.Rule, error) {
			saved = text
			return rules.Parse("/home/u/rules.toml", []byte(text), "/home/u")
		}
	})
	a := serverCall("create")
	if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Always}); err != nil {
		t.Fatal(err)
	}
	if want := "[[tool]]\ntool = 'git__create'\ndescribed = '1'\ndecision = 'allow'\nproject = '" + workspace + "'"; !strings.Contains(saved, want) {
		t.Errorf("saved %s, want %s", saved, want)
	}
	if _, q, err := g.Decide(a); q != nil || err != nil {
		t.Errorf("after the rule: %v, %v", q, err)
	}
	a.Server.Described = "2"
	if q := mustAsk(t, g, a); !strings.Contains(strings.Join(q.Warnings, "; "), "as when the rule at /home/u/rules.toml:1 allowed it") {
		t.Errorf("%q", q.Warnings)
	}
	sessionYes(t, g, a)
	text, left := ledger.Export("test", g.Ledger().List(), nil)
	if len(left) != 1 { // the rule, which is exported from its own list
		t.Errorf("left out: %q", left)
	}
	f, err := ledger.Parse("f", text, g.opts.Now())
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	other := newGate(Never, confined())
	if err := other.Ledger().Adopt(f, "f"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Decide(a); err != nil {
		t.Errorf("an exported answer: %v\n%s", err, text)
	}
	a.Server.Described = "3"
	_, _, err = other.Decide(a)
	if r, ok := AsRefusal(err); !ok || r.Hint != "codeagent rules add --decision allow --tool git__create" {
		t.Errorf("refused with %+v", r)
	}
}

// TestHeldCallOfAServer: what a server is refused is judged by the server's policy, and a yes for
// the session opens it to that server alone.
func TestHeldCallOfAServer(t *testing.T) {
	g := newGate(OnRequest, confined(), func(o *Options) {
		o.Save = func(string) ([]*rules.Rule, error) { return nil, nil }
		o.GrantsHosts = true
	})
	a := serverCall("create")
	// Commands may write the workspace; the server may not.
	d := sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: workspace + "/main.go", Executable: "/usr/bin/node", Evidence: sandbox.EvidenceKernel}
	_, q, err := g.DecideHeld(a, d, HeldAnswers{})
	if q == nil {
		t.Fatalf("not asked: %v", err)
	}
	if q.Lasting != nil || !strings.Contains(strings.Join(q.Withheld, ";"), "[mcp.servers.git.sandbox]") || q.Options[0].Label != "once, for this call" {
		t.Errorf("options %+v, withheld %q", q.Options, q.Withheld)
	}
	if _, err := g.SettleHeld(q, Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if _, q, err := g.DecideHeld(a, d, HeldAnswers{}); q != nil || err != nil {
		t.Errorf("granted for the session, and asked again: %v", err)
	}
	other := serverCall("create")
	other.Server.Server = "other"
	if _, q, _ := g.DecideHeld(other, d, HeldAnswers{}); q == nil {
		t.Error("the grant for one server opened it to another")
	}
	host := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "connect", Target: "api.example:443"}
	_, q, _ = g.DecideHeld(a, host, HeldAnswers{})
	if q == nil {
		t.Fatal("not asked about a host")
	}
	if _, err := g.SettleHeld(q, Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if g.Base().JudgeHost(q.Grant.Hosts[0]).Allowed {
		t.Error("the grant for a server opened a host to commands")
	}
	v := sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Suggest: sandbox.Grant{Write: []string{"/srv/data"}}}
	q = g.AfterDenial(a, v, &HeldAnswers{})
	if q == nil || !slices.Equal(q.Grant.Write, []string{"/srv/data"}) {
		t.Fatalf("after a denial: %+v", q)
	}
	p, err := g.Settle(q, Answer{Decision: Once})
	if policy := mustPolicy(t, p, err, a); !policy.JudgeWrite("/srv/data/x").Allowed || !policy.JudgeWrite(workspace+"/main.go").Allowed || policy.JudgeWrite(workspace+"/other.go").Allowed {
		t.Errorf("the permit after a denial: %+v", policy.Write)
	}
	v = sandbox.Verdict{Denied: true, Evidence: sandbox.EvidenceOutputOnly, Suggest: sandbox.Grant{Unsandboxed: true}}
	if q := g.AfterDenial(a, v, &HeldAnswers{}); q != nil {
		t.Errorf("a server may leave the sandbox: %+v", q.Options)
	}
}

// TestHugeArguments: no lasting rule follows from a question that could not show everything.
func TestHugeArguments(t *testing.T) {
	g := newGate(OnRequest, confined(), func(o *Options) { o.Save = func(string) ([]*rules.Rule, error) { return nil, nil } })
	a := serverCall("create")
	a.Server.Arguments = `{"title": "` + strings.Repeat("x", 16<<10) + `"}`
	if q := mustAsk(t, g, a); q.Lasting != nil || !strings.Contains(strings.Join(q.Withheld, ";"), "too long to be shown whole") {
		t.Errorf("lasting %v, withheld %q", q.Lasting, q.Withheld)
	}
	a = serverCall("create")
	a.Server.Remote, a.Server.ReadOnly = true, true
	g = newGate(Untrusted, confined())
	if q := mustAsk(t, g, a); !strings.Contains(strings.Join(q.Warnings, ";"), "no sandbox is around") || !strings.Contains(strings.Join(q.Warnings, ";"), "only reads; nothing proves it") {
		t.Errorf("%q", q.Warnings)
	}
}
