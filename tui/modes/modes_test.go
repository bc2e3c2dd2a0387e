package modes

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/approvals/decide"
	"codeagent/event"
	"codeagent/tui/keys"
	"codeagent/tui/message"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// gate has four policies, each wider than the one before.
type gate struct {
	mode           approvals.Mode
	readOnly, plan bool
	err            error
}

func (g *gate) Mode() approvals.Mode { return g.mode }
func (g *gate) Modes() []approvals.Mode {
	return []approvals.Mode{approvals.Untrusted, approvals.OnRequest, approvals.OnFailure, approvals.Never}
}

// Wider is true between the real policies that it is true between: never refuses what untrusted asks.
func (g *gate) Wider(to approvals.Mode) bool {
	return decide.Consent{Mode: g.mode}.Wider(decide.Consent{Mode: to})
}
func (g *gate) SetMode(to approvals.Mode) error { g.mode = to; return nil }
func (g *gate) ReadOnly() bool                  { return g.readOnly || g.plan }
func (g *gate) Plan() bool                      { return g.plan }
func (g *gate) SetPlan(on bool)                 { g.plan = on }
func (g *gate) SetReadOnly(on bool) error {
	if g.err == nil {
		g.readOnly = on
	}
	return g.err
}

// flat are the intents in it, without those that want nothing.
func flat(intent part.Intent) (out []part.Intent) {
	all, ok := intent.(part.All)
	if !ok && intent != nil {
		out = append(out, intent)
	}
	for _, one := range all {
		out = append(out, flat(one)...)
	}
	return out
}

// answer answers the question that the last intent asks.
func answer(t *testing.T, m *Modes, intent part.Intent, d approvals.Decision) part.Intent {
	t.Helper()
	all := flat(intent)
	asked, ok := all[len(all)-1].(Asked)
	if !ok {
		t.Fatalf("it asks nothing: %#v", all)
	}
	q := &question.Question{Asks: []*question.Ask{asked.Ask}}
	if !m.Asks(q) || m.Asks(nil) || m.Asks(&question.Question{}) {
		t.Error("it does not know its question")
	}
	return m.Answered(question.Answered{Question: q, Decision: d})
}

// TestModes: the three modes, one after the other. What is narrower, and what the settings say, is
// changed at once; anything else after a yes to its question.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		settings event.SessionStarted
		mode     approvals.Mode // of the settings, or chosen since
		words    string         // after each press; ? asks first, and is answered with yes
	}{
		{event.SessionStarted{Policy: "workspace-write", Approval: "on-request"}, approvals.OnRequest, "plan, ask, accept edits, plan, ask"},
		{event.SessionStarted{Policy: "workspace-write", Approval: "untrusted"}, approvals.Untrusted, "?accept edits, plan, ask, ?accept edits"},
		{event.SessionStarted{Policy: "workspace-write", Approval: "on-failure"}, approvals.OnFailure, "plan, ask, ask on denial, plan"},
		{event.SessionStarted{Policy: "workspace-write", Approval: "on-request"}, approvals.OnFailure, "plan, ask, accept edits, plan"},
		{event.SessionStarted{Policy: "workspace-write", Approval: "never"}, approvals.Never, "plan, ?ask, never ask, plan"},
		{event.SessionStarted{Policy: "read-only", Approval: "on-request"}, approvals.OnRequest, "plan, ask, plan"},
	} {
		g := &gate{mode: c.mode}
		m := &Modes{Gate: g, Keys: keys.Standard()}
		m.Apply(c.settings)
		for i, want := range strings.Split(c.words, ", ") {
			was := m.Word()
			got := m.Next()
			if want, asks := strings.CutPrefix(want, "?"); asks {
				if m.Word() != was {
					t.Fatalf("%v %d: %s before the yes", c, i, m.Word())
				}
				answer(t, m, got, approvals.Session)
				if m.Word() != want {
					t.Fatalf("%v %d: %s after the yes", c, i, m.Word())
				}
				continue
			}
			if all := flat(got); m.Word() != want || !reflect.DeepEqual(all, []part.Intent{part.Say("mode: " + want + " (Shift+Tab changes it)")}) {
				t.Fatalf("%v %d: %s, %#v", c, i, m.Word(), all)
			}
		}
		if c.settings.Policy == "read-only" && g.mode != approvals.OnRequest {
			t.Errorf("the approval policy is %s", g.mode)
		}
	}
}

// TestChange: /permissions NAME, and a mode that is passed over.
func TestChange(t *testing.T) {
	g := &gate{mode: approvals.Untrusted}
	m := &Modes{Gate: g, Keys: keys.Standard()}
	m.Apply(event.SessionStarted{Policy: "danger-full-access", Approval: "untrusted"})
	first := flat(m.Next())
	if r := first[0].(Asked).Ask.Request; g.mode != approvals.Untrusted || !strings.Contains(strings.Join(r.Warnings, "\n"), "there is no sandbox") {
		t.Errorf("a wider policy: %s, %v", g.mode, r.Warnings)
	}
	over := flat(m.Next()) // past the one that is asked about, to plan mode
	if len(over) != 2 || over[0] != part.Intent(part.Withdrawn{Ask: first[0].(Asked).Ask}) || !g.plan {
		t.Errorf("the question stays: %#v", over)
	}
	m.Next()
	if got := answer(t, m, m.Next(), approvals.Deny); got != nil || g.mode != approvals.Untrusted || g.plan {
		t.Errorf("after a no: %#v, %s", got, g.mode)
	}
	if answer(t, m, m.Change("never"), approvals.Session); g.mode != approvals.Never {
		t.Errorf("after a yes: %s", g.mode)
	}
	if m.Change("read-only"); m.Policy() != "read-only" {
		t.Errorf("the policy is %s", m.Policy())
	}
	if answer(t, m, m.Change("danger-full-access"), approvals.Session); m.Policy() != "danger-full-access" || m.Forget() != nil {
		t.Errorf("the policy is %s", m.Policy())
	}
	if got := m.Change("nothing"); got != part.Say("/permissions takes one of read-only, danger-full-access, untrusted, on-request, on-failure, never") {
		t.Errorf("an unknown name: %v", got)
	}
	g.err = errors.New("nothing can enforce it")
	if got := flat(m.Change("read-only")); !reflect.DeepEqual(got, []part.Intent{part.Say("nothing can enforce it")}) {
		t.Errorf("an error: %#v", got)
	}
}

// TestPlan: a yes ends plan mode, and may have the plan carried out.
func TestPlan(t *testing.T) {
	g := &gate{mode: approvals.Never, plan: true}
	m := &Modes{Gate: g, Keys: keys.Standard()}
	if m.Policy() != "read-only" || m.Word() != "plan" || answer(t, m, m.AskPlan(), approvals.Deny) != nil || !g.plan {
		t.Error("a no ends plan mode")
	}
	if m.AskPlan(); len(flat(m.ForgetPlan())) != 1 || m.ForgetPlan() != nil {
		t.Error("the question about a plan outlives it")
	}
	if said, ok := answer(t, m, m.AskPlan(), approvals.Session).(message.Message); !ok || !strings.Contains(said.Text, "Carry it out") || g.plan {
		t.Errorf("after a yes: %#v", said)
	}
	g.plan = true
	if _, ok := answer(t, m, m.AskPlan(), approvals.Once).(part.Say); !ok || g.plan {
		t.Error("plan mode is not left")
	}
	none := &Modes{}
	none.Apply(event.SessionStarted{Policy: "read-only", Approval: "never"})
	if none.Next() != nil || none.Plans() || none.Policy() != "read-only" || none.Approvals() != "never" || none.Word() != "never ask" {
		t.Error("without a gate there are the settings")
	}
}
