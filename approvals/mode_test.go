package approvals

import (
	"os"
	"strings"
	"sync"
	"testing"

	"codeagent/approvals/decide"
	"codeagent/event/word"
	"codeagent/sandbox"
)

func TestWider(t *testing.T) {
	refusing := func(names ...string) func(*Options) { return func(o *Options) { o.Refuse = names } }
	for _, c := range []struct {
		from   Mode
		refuse []string
		wider  string // the modes that are less strict
	}{
		{Untrusted, nil, "on-request on-failure granular never"},
		{OnRequest, nil, "on-failure"},
		{OnFailure, nil, ""},
		{Granular, nil, "on-failure"},
		{Granular, []string{"edit"}, "untrusted on-request on-failure"},
		{Granular, allTopics(), "untrusted on-request on-failure"},
		{Granular, []string{"no such topic"}, "untrusted on-request on-failure"},
		{Never, allTopics(), "untrusted on-request on-failure granular"}, // a rule that asks still asks under granular
	} {
		g := newGate(c.from, confined(), refusing(c.refuse...))
		var got []string
		for _, m := range Modes() {
			if g.Wider(m) {
				got = append(got, string(m))
			}
		}
		if strings.Join(got, " ") != c.wider {
			t.Errorf("from %s refusing %q: %q, want %q", c.from, c.refuse, got, c.wider)
		}
	}
}

// TestTheSettingNamesTheTopics: granular.refuse accepts exactly the topics, and each has a
// description.
func TestTheSettingNamesTheTopics(t *testing.T) {
	page, err := os.ReadFile("../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	if row := "| `granular.refuse` | list of `\"" + strings.Join(allTopics(), "\"`, `\"") + "\"` |"; !strings.Contains(string(page), row) {
		t.Errorf("no row %s", row)
	}
	g := newGate(Granular, confined(), func(o *Options) { o.Refuse = allTopics() })
	if got := strings.Split(g.Refused(), "; "); len(got) != len(allTopics()) {
		t.Errorf("%q", got)
	}
	some := newGate(Granular, confined(), func(o *Options) { o.Refuse = []string{"escalation"} })
	if some.Asks(sandbox.Grant{}) || some.Asks(sandbox.Grant{Write: []string{"/a"}}) || !some.Asks(sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "a", Port: 1}}}) {
		t.Error("what granular refuses would be asked about, or the other way round")
	}
	if g.SetMode(OnRequest); g.Refused() != "" || !g.Asks(sandbox.Grant{Unsandboxed: true}) {
		t.Error("on-request refuses questions")
	}
}

// TestModeChangesWhileAQuestionIsOpen: a yes counts only if the current policy would also ask, or
// would allow the action without asking.
func TestModeChangesWhileAQuestionIsOpen(t *testing.T) {
	path := command("npm test", Wish{Write: []string{"~/.npm"}})
	plain := command("npm test", Wish{})
	ruled := command("terraform apply", Wish{})
	for _, c := range []struct {
		from, to Mode
		a        Action
		want     string
	}{
		{OnRequest, Never, path, "refuse"},
		{OnRequest, Granular, path, "refuse"},
		{OnRequest, Untrusted, path, "run"},
		{OnRequest, OnFailure, path, "run"},
		{OnRequest, Never, ruled, "refuse"},
		{OnRequest, Granular, ruled, "run"},
		{Untrusted, Never, plain, "run"}, // never would have run it without a question
		{Untrusted, Never, path, "refuse"},
		{Untrusted, OnRequest, path, "run"},
	} {
		g := newGate(c.from, confined(), func(o *Options) { o.Refuse, o.Rules = []string{"escalation"}, tableRules(t) })
		r := mustAsk(t, g, c.a)
		g.SetMode(c.to)
		p, err := g.Settle(r, Answer{Decision: Session})
		if got := decided(p, nil, err); got != c.want {
			t.Errorf("%s to %s, %s: %s (%v), want %s", c.from, c.to, c.a.Command, got, err, c.want)
		}
		if n := len(g.Ledger().answers()); c.want == "refuse" && n > 0 {
			t.Errorf("%s to %s: %d answers are remembered", c.from, c.to, n)
		}
	}
}

// TestAHeldQuestionEndsWithTheMode: after a change to never, an answer opens nothing.
func TestAHeldQuestionEndsWithTheMode(t *testing.T) {
	g := newGate(OnRequest, confined())
	_, r, err := g.DecideHeld(command("npm i", Wish{}), sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/u/.cache/tool/x"}, HeldAnswers{})
	if r == nil {
		t.Fatal(err)
	}
	g.SetMode(Never)
	if grant, err := g.SettleHeld(r, Answer{Decision: Once}); err == nil || !grant.Empty() {
		t.Errorf("%+v %v", grant, err)
	}
}

// TestTheModeApplyingIsTheOneAskedUnder: after a question about leaving the sandbox, a narrower yes
// remembers the command only if the question was whether it may run at all.
func TestTheModeApplyingIsTheOneAskedUnder(t *testing.T) {
	a := command("npm test", Wish{Write: []string{"~/.npm"}})
	g := newGate(OnRequest, confined())
	r := mustAsk(t, g, a)
	g.SetMode(Untrusted)
	if _, err := g.Settle(r, Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if again := mustAsk(t, g, command("npm test", Wish{})); again.Grant.Empty() != true {
		t.Errorf("%+v", again.Grant)
	}
}

// TestSetModeIsSafeForConcurrentUse is for the race detector.
func TestSetModeIsSafeForConcurrentUse(t *testing.T) {
	g := newGate(OnRequest, confined(), func(o *Options) { o.NewID = nil })
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for _, m := range Modes() {
				if i == 0 {
					g.SetMode(m)
					continue
				}
				p, r, err := g.Decide(Action{CallID: "c", Tool: "t", Kind: word.KindEdit, Folder: workspace, Paths: []string{"/srv/data/x"}})
				if got := decided(p, r, err); got == "run" {
					t.Error("it runs")
				}
			}
		}()
	}
	wg.Wait()
}

// TestReadOnly: writes in folders that read-only closed are asked about until they are opened
// again. A session answer stays.
func TestReadOnly(t *testing.T) {
	g := newGate(OnRequest, confined())
	grant := command("npm i", Wish{Write: []string{"~/.npm"}})
	if _, err := g.Settle(mustAsk(t, g, grant), Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if err := g.SetReadOnly(true); err != nil || !g.ReadOnly() {
		t.Fatal(err)
	}
	mustAsk(t, g, edit("main.go"))
	p, _, err := g.Decide(command("make", Wish{}))
	pol := mustPolicy(t, p, err, command("make", Wish{}))
	if pol.JudgeWrite(workspace+"/x").Allowed || !pol.JudgeWrite("/home/u/.npm/x").Allowed {
		t.Errorf("write roots %v", pol.Write)
	}
	running := Action{CallID: "c", Tool: "t", Kind: word.KindInput, Folder: workspace, Input: "make\n", Running: Running{ID: 1, Command: "bash", Policy: confined()}}
	mustAsk(t, g, running) // the running command may still write
	if err := g.SetReadOnly(false); err != nil || g.ReadOnly() {
		t.Fatal(err)
	}
	for _, a := range []Action{edit("main.go"), running} {
		if got := decided(g.Decide(a)); got != "run" {
			t.Errorf("%s: %s", a.Kind, got)
		}
	}
	if err := newGate(OnRequest, sandbox.FullAccess()).SetReadOnly(true); err == nil {
		t.Error("read-only without a sandbox")
	}
}

// allTopics are the names of all topics: an unknown one counts as all.
func allTopics() []string { return decide.TopicsOf([]string{"no such topic"}).Names() }
