package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/approvals"
	"codeagent/tui/footer"
	"codeagent/tui/keys"
	"codeagent/tui/message"
	"codeagent/tui/question"
)

// A key changes the approval policy of the session; /permissions takes its name, and closes and
// opens the sandbox for writing. A change that lets nothing more pass is made at once. Any other
// is made after a question of its own.

// widening is a change that waits for its answer: to the approval policy to, with writes from
// read-only to what the settings open, or with plan out of plan mode. ask is nil if no change waits.
type widening struct {
	ask          *question.Ask
	to           approvals.Mode
	writes, plan bool
}

// nextMode changes to the approval policy after the one that is asked about or applies.
func nextMode(m *app) tea.Cmd {
	p := m.offers.Approvals
	if p == nil {
		return nil
	}
	from := p.Mode()
	if m.widening.to != "" {
		from = m.widening.to
	}
	all := p.Modes()
	return changeMode(m, all[(slices.Index(all, from)+1)%len(all)])
}

// changeMode changes the approval policy, or asks whether to.
func changeMode(m *app, to approvals.Mode) tea.Cmd {
	p := m.offers.Approvals
	forgetWidening(m)
	if to == p.Mode() {
		return m.say("approvals: " + footer.Approvals(string(to)))
	}
	if !p.Wider(to) {
		return setMode(m, to)
	}
	return askWidening(m, widening{to: to}, wideningRequest(p.Mode(), to, m.facts.Unconfined()))
}

func askWidening(m *app, w widening, r approvals.Request) tea.Cmd {
	w.ask = &question.Ask{Request: r, Reply: make(chan approvals.Answer, 1)}
	m.widening = w
	m.docks.Insert(w.ask, m.setting())
	m.panel = nil // it would cover the question
	return m.stir()
}

// readOnly is the name of the sandbox that /permissions closes to.
const readOnly = "read-only"

// change makes the change that /permissions NAME asks for: to an approval policy, to read-only, or
// back to the sandbox of the settings.
func change(m *app, name string) tea.Cmd {
	p, preset := m.offers.Approvals, m.facts.Session.Policy
	switch {
	case slices.Contains(p.Modes(), approvals.Mode(name)):
		return changeMode(m, approvals.Mode(name))
	case name == preset && p.Plan():
		return askPlan(m)
	case name == preset && name != readOnly && p.ReadOnly():
		forgetWidening(m)
		return askWidening(m, widening{writes: true}, approvals.Request{
			Title: "open the sandbox from read-only to " + preset + "?",
			Warnings: []string{
				"now: a file is written only after an answer of yours",
				"then: what the settings open is written without a question; /status shows it",
			},
			Options: wideningAnswers,
		})
	case name == readOnly || name == preset:
		forgetWidening(m)
		return setReadOnly(m, name == readOnly && name != preset)
	}
	names := []string{readOnly, preset}
	for _, mode := range p.Modes() {
		names = append(names, string(mode))
	}
	return m.say("/permissions takes one of " + strings.Join(slices.Compact(names), ", "))
}

// wideningAnswers are the answers to a question about a wider policy.
var wideningAnswers = []approvals.Option{
	{Key: "1", Decision: approvals.Session, Label: "change it for this session"},
	{Key: "n", Decision: approvals.Deny, Label: "leave it"},
}

func wideningRequest(from, to approvals.Mode, unconfined bool) approvals.Request {
	r := approvals.Request{
		Title:    fmt.Sprintf("change the approval policy from %s to %s?", from, to),
		Warnings: []string{fmt.Sprintf("now, %s: %s", from, from.Means()), fmt.Sprintf("then, %s: %s", to, to.Means())},
		Options:  wideningAnswers,
	}
	if unconfined {
		r.Warnings = append(r.Warnings, "there is no sandbox: what runs without a question can change every file that you can change, and reach every host")
	}
	return r
}

// asksWidening reports whether the question in front is about a wider policy.
func asksWidening(m *app) bool {
	q, ok := m.docks.Front().(*question.Question)
	return ok && m.widening.ask != nil && slices.Contains(q.Asks, m.widening.ask)
}

// forgetWidening withdraws the question about a wider policy, if there is one.
func forgetWidening(m *app) {
	if m.widening.ask != nil {
		m.docks.Withdraw(m.widening.ask)
		m.leaveStalePage()
	}
	m.widening = widening{}
}

func setMode(m *app, to approvals.Mode) tea.Cmd {
	m.offers.Approvals.SetMode(to)
	return m.say("approvals: " + footer.Approvals(string(to)) + " (" + m.keys.Name(keys.Everywhere, keys.Mode) + " changes it)")
}

// answered closes a question and records the answer.
func (m *app) answered(ans question.Answered) tea.Cmd {
	m.answer.follows = true
	own, w := m.widening.ask != nil && slices.Contains(ans.Asks, m.widening.ask), m.widening
	for _, waiting := range ans.Asks {
		m.transcript.Chose(waiting.Request.ID, ans.Decision)
	}
	m.docks.Remove(ans.Question)
	if own {
		m.widening = widening{}
	}
	switch {
	case !own || !ans.Decision.Yes():
		return nil
	case w.plan:
		m.offers.Approvals.SetPlan(false)
		if ans.Decision == approvals.Session {
			return m.submit(message.Message{Text: "I accept the plan. Carry it out."})
		}
		return m.say("sandbox: " + policyOf(m))
	case !w.writes:
		return setMode(m, w.to)
	}
	return setReadOnly(m, false)
}

func setReadOnly(m *app, on bool) tea.Cmd {
	p := m.offers.Approvals
	if err := p.SetReadOnly(on); err != nil {
		return m.say(err.Error())
	}
	return m.say("sandbox: " + policyOf(m))
}

// plans reports whether the model may only plan.
func plans(m *app) bool { return m.offers.Approvals != nil && m.offers.Approvals.Plan() }

// askPlan asks whether the plan is accepted.
func askPlan(m *app) tea.Cmd {
	forgetWidening(m)
	m.facts.Replan = false
	return askWidening(m, widening{plan: true}, approvals.Request{
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

// policyOf names the sandbox that applies now.
func policyOf(m *app) string {
	if plans(m) {
		return "plan mode"
	}
	if p := m.offers.Approvals; p != nil && p.ReadOnly() {
		return readOnly
	}
	return m.facts.Session.Policy
}

// modeOf names the approval policy that applies now.
func modeOf(m *app) string {
	if p := m.offers.Approvals; p != nil {
		return string(p.Mode())
	}
	return m.facts.Session.Approval
}

// lookAround has the footer look at the folder.
func (m *app) lookAround() tea.Cmd {
	return m.do(m.facts.Look(m.offers.Surroundings, func() string { return policyOf(m) }, func() string { return modeOf(m) }))
}
