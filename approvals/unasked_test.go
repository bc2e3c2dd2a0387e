package approvals

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"codeagent/event/word"
	"codeagent/sandbox"
)

type decider interface {
	Decide(Action, ...string) (Permit, *Request, error)
}

// asks returns how the gate answers a: "run", "ask", or its refusal.
func asks(t *testing.T, g decider, a Action) (string, *Request) {
	t.Helper()
	_, q, err := g.Decide(a)
	switch {
	case err != nil:
		return err.Error(), nil
	case q != nil:
		return "ask", q
	}
	return "run", nil
}

func wishing(command string, write []string, hosts ...string) Action {
	return Action{Kind: word.KindCommand, Tool: "shell", Command: command, Folder: workspace, Wish: Wish{Write: write, Hosts: hosts, Justification: "because"}}
}

// TestNotAskedAgain: after a no, the same request is refused with the user's reason. So is a
// request that includes it. A request for less is new.
func TestNotAskedAgain(t *testing.T) {
	outside := func(command string) Action {
		a := wishing(command, nil)
		a.Wish.Unsandboxed = true
		return a
	}
	edit := func(file, text string) Action {
		return Action{Kind: word.KindEdit, Tool: "apply_patch", Command: text, Folder: workspace, Paths: []string{file}}
	}
	fetch := func(url, host string) Action {
		return Action{Kind: word.KindFetch, Tool: "fetch_url", Command: url, Folder: workspace, Wish: Wish{Hosts: []string{host}}}
	}
	for _, c := range []struct {
		denied, next Action
		again        bool // the person is asked again
	}{
		{wishing("a", []string{"/srv/data"}), wishing("a", []string{"/srv/data"}), false},
		{wishing("a", []string{"/srv/data"}), wishing("b", []string{"/srv/data"}), false},
		{wishing("a", []string{"/srv/data"}), wishing("b", []string{"/srv/data", "/srv/more"}), false},
		{wishing("a", []string{"/srv/data"}), wishing("a", []string{"/srv"}), false},
		{wishing("a", []string{"/srv/data"}), wishing("a", []string{"/srv/data/x"}), true},
		{wishing("a", []string{"/srv/data"}), wishing("a", []string{"/srv/other"}), true},
		{wishing("a", []string{"/srv/data"}, "h.example:443"), wishing("a", []string{"/srv/data"}), true},
		{wishing("a", nil, "h.example:443"), wishing("a", nil, "h.example:443", "i.example:443"), false},
		{wishing("a", nil, "h.example:443"), wishing("a", nil, "h.example:80"), true},
		{wishing("a", []string{"/srv/data"}), outside("a"), false},
		{wishing("a", []string{"/srv/data"}), outside("b"), true},
		{outside("a b"), outside(" a   b\n"), false},
		{outside("a"), outside("b"), true},
		{outside("a"), wishing("a", []string{"/srv/data"}), true},
		{edit("/etc/hosts", "one"), edit("/etc/hosts", "one"), false},
		{edit("/etc/hosts", "one"), edit("/etc/hosts", "two"), true},
		{edit("/etc/hosts", "one"), wishing("a", []string{"/etc/hosts"}), false},
		{fetch("https://h.example/a", "h.example:443"), fetch("https://h.example/b", "h.example:443"), false},
		{fetch("https://h.example/a", "h.example:443"), wishing("a", nil, "h.example:443"), true},
		{wishing("a", nil, "h.example:443"), fetch("https://h.example/a", "h.example:443"), true},
	} {
		for _, reason := range []string{"", "use the test folder"} {
			g := newGate(OnRequest, confined())
			_, q := asks(t, g, c.denied)
			if q == nil {
				t.Fatalf("%+v: not asked", c.denied)
			}
			if _, err := g.Settle(q, Answer{Decision: Deny, Reason: reason}); err == nil {
				t.Fatal("a no gave a permit")
			}
			got, _ := asks(t, g, c.next)
			if c.again && got != "ask" || !c.again && (!strings.Contains(got, "said no") || !strings.Contains(got, reason)) {
				t.Errorf("no to %q %+v, then %q %+v: %s", c.denied.Command, c.denied.Wish, c.next.Command, c.next.Wish, got)
			}
			g.UserSpoke()
			if got, _ := asks(t, g, c.next); got != "ask" {
				t.Errorf("after a new message: %s", got)
			}
		}
	}
}

// TestOtherAnswersAreNoNo: only a person's no prevents asking again.
func TestOtherAnswersAreNoNo(t *testing.T) {
	for _, ans := range []Answer{{Decision: Unanswered}, {Decision: Unattended}, {Decision: Once}} {
		g := newGate(OnRequest, confined())
		a := wishing("a", []string{"/srv/data"})
		_, q := asks(t, g, a)
		_, _ = g.Settle(q, ans)
		if got, _ := asks(t, g, a); got != "ask" {
			t.Errorf("after %+v: %s", ans, got)
		}
	}
	g := newGate(OnRequest, confined())
	d := sandbox.Denial{Kind: sandbox.KindWrite, Target: "/srv/data", Operation: "openat"}
	_, q, _ := g.DecideHeld(command("a", Wish{}), d, HeldAnswers{})
	_, _ = g.SettleHeld(q, Answer{Decision: Deny})
	if got, _ := asks(t, g, wishing("a", []string{"/srv/data"})); !strings.Contains(got, "said no") {
		t.Errorf("after a no to the program's own call: %s", got)
	}
}

// TestNotAskedAfterFailureAgain: a no to running a failed command again also applies to the model's
// own request, and to the next failure.
func TestNotAskedAfterFailureAgain(t *testing.T) {
	g := newGate(OnFailure, confined())
	a := command("a", Wish{})
	v := sandbox.Verdict{Denied: true, Evidence: sandbox.EvidenceFull, Suggest: sandbox.Grant{Write: []string{"/srv/data"}}}
	q := g.AfterDenial(a, v, nil)
	if q == nil {
		t.Fatal("not asked")
	}
	_, _ = g.Settle(q, Answer{Decision: Deny})
	if got, _ := asks(t, g, wishing("a", []string{"/srv/data"})); !strings.Contains(got, "said no") {
		t.Errorf("the model's request: %s", got)
	}
	if g.AfterDenial(a, v, nil) != nil {
		t.Error("asked again after the next failure")
	}
}

// TestReasonSentBackOnce: a request without a valid reason returns to the model once. The second
// request is shown with a warning.
func TestReasonSentBackOnce(t *testing.T) {
	const good = "make writes its log to /srv/data"
	with := func(reason string, paths ...string) Action {
		a := wishing("make log", paths)
		a.Wish.Justification = reason
		return a
	}
	back := func(got string) bool { return strings.Contains(got, "justification") }
	g := NewGate(Options{Base: confined(), Files: disk(), Home: "/home/u", Workspace: workspace, Reasons: true})
	if got, q := asks(t, g, with(good, "/srv/data")); got != "ask" || len(q.Warnings) != 1 {
		t.Errorf("a good reason: %s %+v", got, q)
	}
	if got, _ := asks(t, g, with("please", "/srv/data")); !back(got) {
		t.Errorf("no reason: %s", got)
	}
	got, q := asks(t, g, with("please", "/srv/data"))
	if got != "ask" || !slices.ContainsFunc(q.Warnings, func(w string) bool { return strings.Contains(w, "gave no reason of its own") }) {
		t.Errorf("no reason again: %s %+v", got, q)
	}
	// A model that cannot give better reasons is not asked for one at every request.
	returned := 0
	for i := range 20 {
		if got, _ := asks(t, g, with("please", fmt.Sprintf("/srv/%d", i))); back(got) {
			returned++
		}
	}
	if returned != maxReturned-1 {
		t.Errorf("%d requests in a row were sent back", returned)
	}
	// A request needs a new reason, unless it is related to an earlier request.
	g.UserSpoke()
	other := wishing("cargo build", nil, "crates.example:443")
	other.Wish.Justification = "make and cargo need it for the release of today"
	if got, _ := asks(t, g, other); got != "ask" {
		t.Errorf("its first reason: %s", got)
	}
	if got, _ := asks(t, g, with(other.Wish.Justification, "/srv/x")); !back(got) {
		t.Errorf("the same reason for another request: %s", got)
	}
}

func TestModelRules(t *testing.T) {
	outside := wishing("make all", nil)
	outside.Wish.Unsandboxed = true
	file := Action{Kind: word.KindEdit, Tool: "apply_patch", Command: "x", Folder: workspace, Paths: []string{workspace + "/main.go"}}
	because := func(a Action, reason string) Action {
		a.Wish.Justification = reason
		return a
	}
	for _, c := range []struct {
		rules ModelRules
		a     Action
		want  string // prefix of the gate's answer
	}{
		{ModelRules{}, outside, "ask"},
		{ModelRules{NoOutside: true}, outside, "this model may not ask to run anything outside"},
		{ModelRules{NoOutside: true}, wishing("a", []string{"/srv/data"}), "ask"},
		{ModelRules{}, file, "run"},
		{ModelRules{ReadOnly: true}, file, "ask"},
		{ModelRules{ReadOnly: true}, wishing("a", []string{workspace + "/main.go"}), "ask"},
		{ModelRules{}, wishing("a", []string{workspace + "/main.go"}), "run"},
		{ModelRules{ReadOnly: true, MustJustify: true}, file, "the user was not asked"},
		{ModelRules{ReadOnly: true, MustJustify: true}, because(file, "main.go lacks the flag that you asked for"), "ask"},
		{ModelRules{MustJustify: true}, wishing("a", []string{"/srv/data"}), "the user was not asked"},
		{ModelRules{MustJustify: true}, file, "run"},
	} {
		g := newGate(OnRequest, confined())
		if err := g.SetModel(c.rules); err != nil {
			t.Fatal(err)
		}
		for range 3 { // the answer is stable
			if got, _ := asks(t, g, c.a); !strings.HasPrefix(got, c.want) {
				t.Errorf("%+v: %q %v: %s, want %s", c.rules, c.a.Command, c.a.Wish, got, c.want)
			}
		}
	}
	if err := newGate(OnRequest, sandbox.FullAccess()).SetModel(ModelRules{ReadOnly: true}); err == nil {
		t.Error("read-only without a sandbox is accepted")
	}
}

// TestReadOnlyModelUntilWidened: a session answer opens what it names. Another model gets the
// policy of the settings.
func TestReadOnlyModelUntilWidened(t *testing.T) {
	g := newGate(OnRequest, confined())
	if err := g.SetModel(ModelRules{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	writes := func(p string) bool { return g.Base().JudgeWrite(p).Allowed }
	if writes(workspace+"/main.go") || len(g.Open().Write) != 0 {
		t.Fatal("the workspace is open")
	}
	_, q := asks(t, g, wishing("a", []string{workspace}))
	if _, err := g.Settle(q, Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if !writes(workspace+"/main.go") || writes(workspace+"/.git/config") {
		t.Error("the answer did not open the workspace as the settings would")
	}
	if g := newGate(OnRequest, confined()); g.SetModel(ModelRules{ReadOnly: true}) != nil || g.Base().JudgeWrite(workspace+"/main.go").Allowed || !g.Own().JudgeWrite(workspace+"/main.go").Allowed {
		t.Error("the user's own deeds are read-only too")
	}
	// What git trusts in the workspace stays closed when an answer opens the workspace.
	trusted := workspace + "/submodule"
	g = newGate(OnRequest, confined(), func(o *Options) {
		o.Trusted = func(p sandbox.Policy) sandbox.Policy {
			if sandbox.CoveredBy(sandbox.PathsOf(p.Write), trusted) {
				p.Protected.Paths = append(p.Protected.Paths, trusted)
			}
			return p
		}
	})
	_ = g.SetModel(ModelRules{ReadOnly: true})
	_, q = asks(t, g, wishing("a", []string{workspace}))
	if _, err := g.Settle(q, Answer{Decision: Session}); err != nil || !writes(workspace+"/main.go") || writes(trusted) {
		t.Errorf("trusted: %v, open %v", err, writes(trusted))
	}
	if err := g.SetReadOnly(false); err != nil || g.ReadOnly() || !writes(workspace+"/main.go") {
		t.Errorf("the user's choice of a wider sandbox: %v", err)
	}
	if _ = g.SetModel(ModelRules{ReadOnly: true}); !g.ReadOnly() {
		t.Error("the choice holds for the next model")
	}
	g = newGate(OnRequest, confined())
	_ = g.SetModel(ModelRules{ReadOnly: true})
	_ = g.SetModel(ModelRules{})
	if !writes(workspace + "/main.go") {
		t.Error("the next model is read-only too")
	}
}

// TestOutsideOfAnotherModel: a session answer to run outside does not apply to a model that may not
// ask for it.
func TestOutsideOfAnotherModel(t *testing.T) {
	g := newGate(OnRequest, confined(), counted)
	a := Action{Kind: word.KindCommand, Tool: "shell", Command: "/usr/bin/id", Folder: "/etc", Wish: Wish{Unsandboxed: true}}
	_, q := asks(t, g, a)
	if _, err := g.Settle(q, Answer{Decision: OutsideSession}); err != nil {
		t.Fatal(err)
	}
	if got, _ := asks(t, g, a); got != "run" {
		t.Fatalf("the answer for the session: %s", got)
	}
	_ = g.SetModel(ModelRules{NoOutside: true})
	if got, _ := asks(t, g, a); !strings.HasPrefix(got, "this model may not") {
		t.Errorf("a model that may not ask: %s", got)
	}
}
