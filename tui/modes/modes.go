// Package modes changes the permissions of the session: the approval policy, the sandbox between
// read-only and that of the settings, and plan mode. A change that lets nothing more pass is made at
// once, and so is one to what the settings say. Any other is made after a question of its own. It
// performs no IO. Start with Modes.
package modes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/tui/keys"
	"codeagent/tui/message"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// Gate is the approval policy of the session, and whether it is read-only. It performs no IO: its
// methods are called on the screen's goroutine.
type Gate interface {
	// Mode is the present policy, and Modes are those to choose from, in their order.
	Mode() approvals.Mode
	Modes() []approvals.Mode
	// Wider reports whether a change lets something pass that is asked about or refused now.
	Wider(to approvals.Mode) bool
	// SetMode changes the policy; its error says who does not allow it.
	SetMode(to approvals.Mode) error
	// ReadOnly reports whether nothing may be written without an answer, whatever the settings
	// open. SetReadOnly changes that; its error says why not.
	ReadOnly() bool
	SetReadOnly(on bool) error
	// Plan reports whether the model may only plan; SetPlan changes that.
	Plan() bool
	SetPlan(on bool)
}

// Modes is what applies, and the change that is asked about.
type Modes struct {
	Gate     // nil: nothing can be changed
	Keys     *keys.Table
	session  event.SessionStarted // what the settings say
	widening widening
}

// widening is a change that waits for its answer: to the approval policy to (with leaves out of plan
// mode too), with writes from read-only to what the settings open, or with plan out of plan mode. ask
// is nil if no change waits.
type widening struct {
	ask                  *question.Ask
	to                   approvals.Mode
	leaves, writes, plan bool
}

// Asked shows a question about a change in front of all others. Plan: it is about the plan.
type Asked struct {
	Ask  *question.Ask
	Plan bool
}

// Apply takes what the settings say from an event.
func (m *Modes) Apply(e event.Event) {
	if e, ok := e.(event.SessionStarted); ok {
		m.session = e
	}
}

// Next steps to the next of three modes: ask, accept edits, plan. What accepts edits is the approval
// policy of the settings, or on-request where that asks about each edit. In a sandbox that is
// read-only every edit is asked about, so there are two modes.
func (m *Modes) Next() part.Intent {
	if m.Gate == nil {
		return nil
	}
	asks := cmp.Or(m.widening.to, m.Mode()) == approvals.Untrusted
	switch closed := m.closed(); {
	case m.Plan() && closed:
		m.SetPlan(false)
		return part.All{m.Forget(), m.say()}
	case m.Plan():
		return m.change(approvals.Untrusted, true)
	case asks && !closed:
		to := approvals.Mode(m.session.Approval)
		if to == approvals.Untrusted || !slices.Contains(m.Modes(), to) {
			to = approvals.OnRequest
		}
		return m.change(to, false)
	}
	m.SetPlan(true)
	return part.All{m.Forget(), m.say()}
}

// closed reports whether the sandbox is read-only for another reason than plan mode.
func (m *Modes) closed() bool { return m.session.Policy == readOnly || m.ReadOnly() && !m.Plan() }

// change changes the approval policy, or asks whether to. leaves: out of plan mode too.
func (m *Modes) change(to approvals.Mode, leaves bool) part.Intent {
	switch {
	case to == m.Mode() || to == approvals.Mode(m.session.Approval) || !m.Wider(to):
		return part.All{m.Forget(), m.set(to, leaves)}
	}
	r := approvals.Request{
		Title:    fmt.Sprintf("change the approval policy from %s to %s?", m.Mode(), to),
		Warnings: []string{fmt.Sprintf("now, %s: %s", m.Mode().Short(), m.Mode().Means()), fmt.Sprintf("then, %s: %s", to.Short(), to.Means())},
		Options:  answers,
	}
	if strings.HasPrefix(m.session.Policy, "danger") {
		r.Warnings = append(r.Warnings, "there is no sandbox: what runs without a question can change every file that you can change, and reach every host")
	}
	return m.ask(widening{to: to, leaves: leaves}, r)
}

// answers are those to a question about a wider policy.
var answers = []approvals.Option{
	{Key: "1", Decision: approvals.Session, Label: "change it for this session"},
	{Key: "n", Decision: approvals.Deny, Label: "leave it"},
}

// ask asks about a change instead of the one that was asked about.
func (m *Modes) ask(w widening, r approvals.Request) part.Intent {
	forget := m.Forget()
	w.ask = &question.Ask{Request: r, Reply: make(chan approvals.Answer, 1)}
	m.widening = w
	return part.All{forget, Asked{w.ask, w.plan}}
}

// readOnly is the name of the sandbox that Change closes to.
const readOnly = "read-only"

// Change makes the change that /permissions NAME asks for: to an approval policy, to read-only, or
// back to the sandbox of the settings.
func (m *Modes) Change(name string) part.Intent {
	preset := m.session.Policy
	switch {
	case slices.Contains(m.Modes(), approvals.Mode(name)):
		return m.change(approvals.Mode(name), false)
	case name == preset && m.Plan():
		return m.AskPlan()
	case name == preset && name != readOnly && m.ReadOnly():
		return m.ask(widening{writes: true}, approvals.Request{
			Title: "open the sandbox from read-only to " + preset + "?",
			Warnings: []string{
				"now: a file is written only after an answer of yours",
				"then: what the settings open is written without a question; /status shows it",
			},
			Options: answers,
		})
	case name == readOnly || name == preset:
		return part.All{m.Forget(), m.setReadOnly(name == readOnly && name != preset)}
	}
	names := []string{readOnly, preset}
	for _, mode := range m.Modes() {
		names = append(names, string(mode))
	}
	return part.Say("/permissions takes one of " + strings.Join(slices.Compact(names), ", "))
}

// AskPlan asks whether the plan is accepted.
func (m *Modes) AskPlan() part.Intent {
	return m.ask(widening{plan: true}, approvals.Request{
		Title: "accept the plan above and leave plan mode?",
		Warnings: []string{
			"now: nothing is changed; what would change something is refused",
			"then: the sandbox and the approval policy apply as before; /status shows them",
		},
		Options: []approvals.Option{
			{Key: "1", Decision: approvals.Session, Label: "accept it: the model carries it out"},
			{Key: "2", Decision: approvals.Once, Label: "only leave plan mode"},
			{Key: "n", Decision: approvals.Deny, Label: "go on planning; say what to change"},
		},
	})
}

// Asks reports whether a dock asks about a change.
func (m *Modes) Asks(d part.Dock) bool {
	q, ok := d.(*question.Question)
	return ok && m.widening.ask != nil && slices.Contains(q.Asks, m.widening.ask)
}

// Forget withdraws the question about a change, if there is one. ForgetPlan does if it is about the
// plan: the plan will be another one.
func (m *Modes) Forget() part.Intent {
	ask := m.widening.ask
	if m.widening = (widening{}); ask == nil {
		return nil
	}
	return part.Withdrawn{Ask: ask}
}

func (m *Modes) ForgetPlan() part.Intent {
	if m.widening.plan {
		return m.Forget()
	}
	return nil
}

// Answered makes the change that an answer allows.
func (m *Modes) Answered(a question.Answered) part.Intent {
	w := m.widening
	if !m.Asks(a.Question) {
		return nil
	}
	m.widening = widening{}
	switch {
	case !a.Decision.Yes():
		return nil
	case w.writes:
		return m.setReadOnly(false)
	case !w.plan:
		return m.set(w.to, w.leaves)
	}
	m.SetPlan(false)
	if a.Decision == approvals.Session {
		return message.Message{Text: "I accept the plan. Carry it out."}
	}
	return part.Say("sandbox: " + m.Policy())
}

func (m *Modes) set(to approvals.Mode, leaves bool) part.Intent {
	if leaves {
		m.SetPlan(false)
	}
	if err := m.SetMode(to); err != nil {
		return part.Say(err.Error())
	}
	return m.say()
}

// say names the mode that applies now.
func (m *Modes) say() part.Intent {
	return part.Say("mode: " + m.Word() + " (" + m.Keys.Name(keys.Everywhere, keys.Mode) + " changes it)")
}

func (m *Modes) setReadOnly(on bool) part.Intent {
	if err := m.SetReadOnly(on); err != nil {
		return part.Say(err.Error())
	}
	return part.Say("sandbox: " + m.Policy())
}

// Plans reports whether the model may only plan.
func (m *Modes) Plans() bool { return m.Gate != nil && m.Plan() }

// Word names what is asked about now, in words: "plan", "ask", "accept edits", or another approval
// policy. Where everything is read-only, on-request asks about each edit.
func (m *Modes) Word() string {
	mode := approvals.Mode(m.Approvals())
	switch {
	case m.Plans():
		return "plan"
	case mode == approvals.OnRequest && m.Policy() == readOnly:
		mode = approvals.Untrusted
	}
	return cmp.Or(mode.Short(), "approvals "+cmp.Or(string(mode), "?"))
}

// Policy names the sandbox that applies now, and Approvals the approval policy.
func (m *Modes) Policy() string {
	if m.Gate != nil && m.ReadOnly() {
		return readOnly
	}
	return m.session.Policy
}

func (m *Modes) Approvals() string {
	if m.Gate == nil {
		return m.session.Approval
	}
	return string(m.Mode())
}
