package tui

import (
	"fmt"
	"strings"

	"codeagent/event"
)

// apply changes the transcript by one event. Every kind of event has its case;
// a test feeds all of them.
func (m *app) apply(e event.Event) {
	m.retried(e)
	switch e := e.(type) {
	case event.SessionStarted:
		was, again := m.facts.session, m.facts.started && m.facts.session.ID == e.ID
		m.facts.session, m.facts.started = e, true
		switch {
		case !again:
			m.transcript.add(&welcome{e}, false)
		case was.Model != "" && was.Model != e.Model:
			m.note("info", e.Model+" is asked from now on")
			m.facts.usage.Limit, m.facts.usage.Assumed = 0, false // it was the other one's
		}
	case event.TurnStarted:
		m.counted(e.Text)
		if m.echo != nil && m.echo.body.(*said).text == e.Text {
			m.echo.body = &said{e.Text, e.Images}
			m.echo.changed()
			m.echo = nil
		} else if strings.TrimSpace(e.Text) != "" || len(e.Images) > 0 {
			m.transcript.add(&said{e.Text, e.Images}, false)
		}
	case event.Steered:
		m.counted(e.Text)
		m.settle()
		m.transcript.add(&said{e.Text, e.Images}, false)
	case event.RequestStarted:
		m.settle()
		m.request = len(m.transcript.entries)
	case event.TextDelta, event.MessageFinished, event.ReasoningDelta, event.ReasoningFinished:
		m.applyWords(e)
	case event.ToolStarted, event.ToolOutput, event.ToolFinished:
		m.applyTool(e)
	case event.PermissionRequested:
		m.applyRequest(e)
	case event.PermissionAnswered:
		m.applyAnswer(e)
	case event.PlanUpdated:
		m.applyPlan(e)
	case event.Retrying:
		m.applyRetry(e)
	case event.UsageUpdated:
		m.facts.usage = e
	case event.BackgroundChanged:
		m.facts.running = e.Running
	case event.BackgroundEnded:
		m.applyBackgroundEnded(e)
	case event.Compacting:
		m.settle()
		m.compacting = m.transcript.add(&compaction{reason: e.Reason}, false)
		m.compacting.moving = true
	case event.Compacted:
		m.applyCompacted(e)
	case event.Notice:
		m.note(e.Level, e.Text)
	case event.TurnFinished:
		m.applyFinish(e)
	default:
		// A renderer that meets an event it does not know must not be silent.
		m.note("warning", fmt.Sprintf("unknown event %T", e))
	}
}

// applyBackgroundEnded shows the end of a background command like that of a call.
func (m *app) applyBackgroundEnded(e event.BackgroundEnded) {
	m.settle()
	t := &tool{kind: "command", command: e.Command, folder: e.Folder, workspace: m.facts.session.Folder}
	outcome := "ok"
	if e.Exit != 0 || e.Signal != "" {
		outcome = "failed"
	}
	t.finish(event.ToolFinished{
		Kind: t.kind, Outcome: outcome, Exit: e.Exit, Signal: e.Signal, Limit: e.Limit, Duration: e.Duration,
		Output: e.Output, Verdict: e.Verdict, Message: e.Message, Job: e.Job,
		Changed: e.Changed,
	})
	m.transcript.add(t, false)
}

// settle closes the answer and the thought that were growing.
func (m *app) settle() {
	if m.answer != nil {
		m.answer.body.(*answer).finished = true
		m.answer.changed()
		m.answer = nil
	}
	if m.thought != nil {
		m.thought.body.(*thought).finished = true
		m.thought.changed()
		m.thought = nil
	}
}

func (m *app) applyWords(e event.Event) {
	switch e := e.(type) {
	case event.TextDelta:
		m.growing().body.(*answer).doc.add(e.Text)
		m.answer.changed()
	case event.MessageFinished:
		if m.answer != nil || strings.TrimSpace(e.Text) != "" {
			m.growing().body.(*answer).doc.set(e.Text)
			m.settle()
		}
	case event.ReasoningDelta:
		m.thinking().body.(*thought).text.WriteString(e.Text)
		m.thought.changed()
	case event.ReasoningFinished:
		if m.thought != nil || strings.TrimSpace(e.Text) != "" {
			t := m.thinking().body.(*thought)
			t.text.Reset()
			t.text.WriteString(e.Text)
			m.settle()
		}
	}
}

// growing is the answer that is being told.
func (m *app) growing() *entry {
	if m.answer == nil {
		m.settle()
		m.answer = m.transcript.add(&answer{}, false)
	}
	return m.answer
}

func (m *app) thinking() *entry {
	if m.thought == nil {
		m.settle()
		m.thought = m.transcript.add(&thought{}, false)
	}
	return m.thought
}

func (m *app) applyTool(e event.Event) {
	switch e := e.(type) {
	case event.ToolStarted:
		m.settle()
		if e.Kind == "plan" {
			return // the plan itself is shown when it changes
		}
		m.startTool(e)
	case event.ToolOutput:
		if en := m.tools[e.CallID]; en != nil {
			en.body.(*tool).output(e)
			en.changed()
		}
	case event.ToolFinished:
		en := m.tools[e.CallID]
		if en == nil {
			if e.Kind == "plan" && (e.Outcome == "ok" || e.Outcome == "") {
				return
			}
			en = m.startTool(event.ToolStarted{CallID: e.CallID, Tool: e.Tool, Kind: e.Kind, Title: e.Title})
		}
		en.body.(*tool).finish(e)
		en.moving = false
		en.changed()
		delete(m.tools, e.CallID)
	}
}

func (m *app) startTool(e event.ToolStarted) *entry {
	t := &tool{kind: e.Kind, title: e.Title, command: e.Command, folder: e.Folder, started: m.now(), workspace: m.facts.session.Folder}
	en := m.transcript.add(t, e.Kind == "read")
	en.moving = true
	m.tools[e.CallID] = en
	return en
}

func (m *app) applyRequest(e event.PermissionRequested) {
	a := &asked{request: e}
	m.asked = append(m.asked, a)
	if en := m.tools[e.CallID]; en != nil {
		en.body.(*tool).asks = append(en.body.(*tool).asks, a)
		en.changed()
		return
	}
	m.transcript.add(a, false)
}

func (m *app) applyAnswer(e event.PermissionAnswered) {
	for i := len(m.asked) - 1; i >= 0; i-- {
		if a := m.asked[i]; a.request.ID == e.ID && a.answer == nil {
			a.answer = &e
			break
		}
	}
	for _, en := range m.transcript.entries[max(len(m.transcript.entries)-64, 0):] {
		switch en.body.(type) {
		case *tool, *asked:
			en.changed()
		}
	}
}

func (m *app) applyPlan(e event.PlanUpdated) {
	p := &plan{explanation: e.Explanation}
	for _, s := range e.Steps {
		p.steps = append(p.steps, step{s.Step, s.Status})
	}
	// A plan that changes twice in a row is one plan.
	if n := len(m.transcript.entries); n > 0 {
		if _, ok := m.transcript.entries[n-1].body.(*plan); ok {
			m.transcript.entries[n-1].body = p
			m.transcript.entries[n-1].changed()
			return
		}
	}
	m.transcript.add(p, false)
}

func (m *app) note(level, text string) *notice {
	n := &notice{level, text}
	if strings.TrimSpace(text) != "" {
		m.settle()
		m.transcript.add(n, false)
	}
	return n
}

func (m *app) applyFinish(e event.TurnFinished) {
	m.settle()
	m.outcome = firstOf(e.Outcome, "done")
	switch m.outcome {
	case "interrupted":
		m.note("info", "Interrupted.")
	case "stopped":
		m.note("info", "Stopped, as you said.")
	case "failed":
		text := "the turn failed"
		if e.Err != nil {
			text = e.Err.Error()
		}
		m.note("error", text)
	}
	for _, r := range e.Refused {
		text := "refused, nobody could answer: " + r.Title
		if r.Hint != "" {
			text += "\n" + r.Hint
		}
		m.note("warning", text)
	}
}

// welcome opens the transcript.
type welcome struct{ session event.SessionStarted }

func (h *welcome) draw(c canvas) []string {
	s := h.session
	out := c.hang(span{"◆", accent}, span{"codeagent", style{inkText, bold}}, span{"  " + tilde(s.Folder, c.home), dim})
	if s.Tour {
		out = append(out, c.hang(span{" ", text}, span{"No model is set up, so the built-in tour plays. The model is scripted; the commands, the sandbox and its refusals are real.", dim})...)
	}
	if n := len(s.Enforcement.Weaknesses); n > 0 {
		things := "things are"
		if n == 1 {
			things = "thing is"
		}
		out = append(out, c.hang(span{" ", text}, span{fmt.Sprintf("▲ %d %s not enforced on this machine: ", n, things), warn}, span{"/status", accent}, span{" lists them", dim})...)
	}
	return append(out, c.hang(span{" ", text}, span{"/", accent}, span{" commands   ", dim}, span{"Ctrl+J", accent}, span{" new line   ", dim}, span{"Esc", accent}, span{" interrupts", dim})...)
}
