package tui

import (
	"context"
	"errors"
	"slices"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/prompts"
)

// policies is a gate without the rest.
type policies struct {
	mode     approvals.Mode
	readOnly bool
	plan     bool
	err      error
}

var cycle = []approvals.Mode{approvals.Untrusted, approvals.OnRequest, approvals.OnFailure, approvals.Never}

var careful = []approvals.Mode{approvals.Untrusted, approvals.Never, approvals.OnRequest, approvals.OnFailure}

func (p *policies) Mode() approvals.Mode            { return p.mode }
func (p *policies) Modes() []approvals.Mode         { return cycle }
func (p *policies) SetMode(to approvals.Mode) error { p.mode = to; return nil }
func (p *policies) ReadOnly() bool                  { return p.readOnly || p.plan }
func (p *policies) Plan() bool                      { return p.plan }
func (p *policies) SetPlan(on bool)                 { p.plan = on }
func (p *policies) SetReadOnly(on bool) error {
	if p.err == nil {
		p.readOnly = on
	}
	return p.err
}
func (p *policies) Wider(to approvals.Mode) bool {
	return slices.Index(careful, to) > slices.Index(careful, p.mode)
}

func modeRig(t *testing.T, w, h int, mode approvals.Mode) (*rig, *policies) {
	r, p := newRig(t, w, h), &policies{mode: mode}
	r.app.modes.Gate = p
	r.emit(session())
	return r, p
}

// TestModesChangeOnAKey: Shift+Tab steps through the modes, which the footer names. A stricter one, and
// that of the settings, applies at once; a wider one after a yes that was armed by silence or by its key.
func TestModesChangeOnAKey(t *testing.T) {
	r, p := modeRig(t, 100, 30, approvals.OnRequest)
	r.has("workspace-write · accept edits")
	r.press("shift+tab")
	r.has("read-only · plan", "mode: plan (Shift+Tab changes it)")
	r.press("shift+tab")
	r.has("workspace-write · ask ·")
	r.press("shift+tab") // the settings say it
	r.lacks("change the approval policy")
	if p.mode != approvals.OnRequest || p.plan {
		t.Fatalf("the mode is %s", p.mode)
	}
	e := session()
	e.Approval = "untrusted"
	r.emit(e)
	p.mode = approvals.Untrusted
	r.press("shift+tab")
	r.has("change the approval policy from untrusted to on-request?", "then, accept edits: edits of the workspace and commands in the sandbox run", "1 change it for this session   n leave it", "workspace-write · ask ·")
	r.press("1") // typed: the question is not armed
	if p.mode != approvals.Untrusted || r.app.composer.Value() != "1" {
		t.Errorf("the mode is %s, the message %q", p.mode, r.app.composer.Value())
	}
	r.press("backspace")
	r.rest()
	r.press("1")
	if p.mode != approvals.OnRequest {
		t.Errorf("after a yes the mode is %s", p.mode)
	}
	r.has("accept edits")
	r.lacks("change the approval policy")
}

func TestAWiderModeNeedsAYes(t *testing.T) {
	for name, keys := range map[string][]string{"no": {"ctrl+y", "n"}, "Esc": {"esc"}, "Esc when armed": {"ctrl+y", "esc"}} {
		t.Run(name, func(t *testing.T) {
			r, p := modeRig(t, 80, 30, approvals.Untrusted)
			e := session()
			e.Approval = "untrusted"
			r.emit(e)
			a := r.put(npmRequest("q"))
			r.press("ctrl+y", "shift+tab")
			r.has("change the approval policy", "1 more")
			r.press(keys...)
			r.lacks("change the approval policy")
			r.has("npm install wants")
			if p.mode != approvals.Untrusted {
				t.Errorf("the mode is %s", p.mode)
			}
			r.press("1") // the question behind it is armed anew
			r.wantNone(a)
			r.press("ctrl+y", "backspace", "1")
		})
	}
}

// Pressing the key again passes over a mode that was only asked about.
func TestModesArePassedOver(t *testing.T) {
	r, p := modeRig(t, 80, 30, approvals.Untrusted)
	e := session()
	e.Approval = "untrusted"
	r.emit(e)
	r.press("shift+tab")
	r.has("from untrusted to on-request?")
	r.press("shift+tab", "shift+tab") // to plan, and around to the present one
	if p.mode != approvals.Untrusted || p.plan {
		t.Errorf("the mode is %s", p.mode)
	}
	r.lacks("change the approval policy")
}

// Without a sandbox the question says what a wider policy means there, at every size before
// a yes; the footer shows the policy.
func TestModesOnASmallScreen(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 15}} {
		r, p := modeRig(t, size[0], size[1], approvals.Untrusted)
		e := session()
		e.Policy, e.Approval = "danger-full-access", "untrusted"
		r.emit(e)
		r.has("danger-full-access · ")
		r.press("shift+tab", "ctrl+y", "ctrl+o")
		for range 20 {
			r.press("1", "down")
		}
		if p.mode != approvals.OnRequest {
			t.Errorf("%v: the mode is %s\n%s", size, p.mode, r.screen())
		}
	}
	r, _ := modeRig(t, 40, 15, approvals.Untrusted)
	r.has("workspace-write · ask ·")
	r, _ = modeRig(t, 40, 15, approvals.OnFailure)
	r.has("workspace-write · ask on denial")
}

// TestPermissionsTakesAPolicy: /permissions changes to a stricter policy or to read-only at once,
// and to a wider one after a question.
func TestPermissionsTakesAPolicy(t *testing.T) {
	r, p := modeRig(t, 100, 30, approvals.OnRequest)
	r.slash("/permissions never")
	if p.mode != approvals.Never {
		t.Errorf("the mode is %s", p.mode)
	}
	r.slash("/permissions on-failure")
	r.has("change the approval policy from never to on-failure?")
	r.slash("/permissions read-only") // withdraws the question
	r.lacks("change the approval policy")
	r.has("read-only")
	if !p.readOnly || p.mode != approvals.Never {
		t.Errorf("read-only %v, mode %s", p.readOnly, p.mode)
	}
	r.slash("/permissions workspace-write")
	r.has("open the sandbox from read-only to workspace-write?", "now: a file is written only after an answer of yours")
	r.rest()
	r.press("n")
	if !p.readOnly {
		t.Error("a no opened the sandbox")
	}
	r.slash("/permissions workspace-write")
	r.rest()
	r.press("1")
	if p.readOnly {
		t.Error("a yes left it closed")
	}
	r.slash("/permissions danger-full-access")
	r.has("/permissions takes one of read-only, workspace-write, untrusted, on-request, on-failure, never")
	if p.readOnly || p.mode != approvals.Never {
		t.Errorf("read-only %v, mode %s", p.readOnly, p.mode)
	}
	p.err = errors.New("without a sandbox nothing can enforce read-only")
	r.slash("/permissions read-only")
	r.has("without a sandbox nothing can enforce read-only")
}

// TestPlanMode: /plan TASK begins plan mode. A turn that ends with a new plan asks whether it is
// accepted; what is typed instead withdraws the question, and plan mode lasts.
func TestPlanMode(t *testing.T) {
	for _, c := range []struct {
		name  string
		press []string
		plan  bool
		sent  int
	}{
		{"accepted", []string{"1"}, false, 2}, {"left", []string{"2"}, false, 1}, {"more", []string{"n"}, true, 1}, {"put off", []string{"esc"}, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, p := modeRig(t, 80, 24, approvals.OnRequest)
			r.app.offers.Extras.Review = func(context.Context, string) (prompts.Prompt, error) { return prompts.Prompt{}, nil }
			r.slash("/plan add a flag")
			if !p.plan {
				t.Fatal("no plan mode")
			}
			r.has("read-only · plan")
			r.emit(event.PlanUpdated{Steps: []event.PlanStep{{Step: "read"}}})
			r.lacks("accept the plan")
			r.emit(event.TurnFinished{Outcome: word.TurnDone})
			r.send(turnDoneMsg{})
			r.has("accept the plan above and leave plan mode?", "now: nothing is changed", "1 accept it")
			r.rest()
			r.press(c.press...)
			r.lacks("accept the plan above")
			if p.plan != c.plan || len(r.turns) != c.sent {
				t.Errorf("plan mode %v, %d messages", p.plan, len(r.turns))
			}
		})
	}
	r, p := modeRig(t, 80, 24, approvals.OnRequest)
	r.app.offers.Extras.Review = func(context.Context, string) (prompts.Prompt, error) { return prompts.Prompt{}, nil }
	p.plan = true
	r.slash("/plan")
	r.has("accept the plan above")
	r.typeText("another way")
	r.press("enter")
	r.lacks("accept the plan above")
	r.send(turnDoneMsg{})
	r.slash("/permissions workspace-write")
	r.has("accept the plan above")
}
