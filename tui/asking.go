package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/event/word"
	"codeagent/mcp/inquiry"
	"codeagent/tui/form"
	"codeagent/tui/keys"
	"codeagent/tui/question"
)

// docked is what waits below the transcript for the person: a request for a permission, or a
// question of an MCP server. Both follow the same rules about typing (grace.go).
type docked interface {
	Armed() bool
	// Waits reports whether a pause in typing arms it.
	Waits() bool
	Arm()
	// Bar takes the keys from it until the person arms it.
	Bar()
	// Hold says that key came too early to answer it; "": none did.
	Hold(key string)
	// Has reports whether key is one of its answers.
	Has(key string) bool
}

// docks are what waits for the person.
type docks struct {
	questions question.Queue
	forms     form.Queue
}

// form is the question of a server that is shown, or nil. A permission is asked about first, but
// for a form that is being filled in: what is typed there must not get elsewhere.
func (m *docks) form() *form.Form {
	f := m.forms.Front()
	if f == nil || m.questions.Front() != nil && !f.Filling() {
		return nil
	}
	return f
}

// question is the request for a permission that is shown, or nil.
func (m *docks) question() *question.Question {
	if m.form() != nil {
		return nil
	}
	return m.questions.Front()
}

// front is what is shown of both, or nil.
func (m *docks) front() docked {
	if f := m.form(); f != nil {
		return f
	}
	if q := m.questions.Front(); q != nil {
		return q
	}
	return nil
}

// disarm takes the keys from what is shown: the person types elsewhere.
func (m *docks) disarm() {
	m.questions.Disarm()
	m.forms.Disarm()
}

// answerKey takes a key of what is shown and armed; other keys go to the message.
func answerKey(m *app, d docked, k tea.Key) (handled bool, cmd tea.Cmd) {
	switch d := d.(type) {
	case *question.Question:
		return m.questionKey(d, k)
	case *form.Form:
		return formKey(m, d, k)
	}
	return false, nil
}

// formKey takes a key of an armed form.
func formKey(m *app, f *form.Form, k tea.Key) (handled bool, cmd tea.Cmd) {
	if m.keys.Find(k, keys.InQuestion) == keys.Option && f.Has(k.Keystroke()) {
		reply, copied := f.Choose(k.Keystroke())
		switch {
		case copied != "":
			return true, putInClipboard(m, copied)
		case reply != nil:
			return true, replied(m, *reply)
		}
		return true, nil
	}
	switch m.keys.Find(k, keys.Everywhere) {
	case keys.PageUp:
		f.Scroll(-1)
	case keys.PageDown:
		f.Scroll(1)
	default:
		return false, nil
	}
	return true, nil
}

// fillKey takes a key while a form is filled in.
func fillKey(m *app, f *form.Form, k tea.Key) tea.Cmd {
	do := m.keys.Find(k, keys.InForm, keys.Everywhere)
	switch do {
	case keys.Back, keys.Interrupt:
		f.Leave()
		return nil
	case keys.PageUp:
		f.Scroll(-1)
		return nil
	case keys.PageDown:
		f.Scroll(1)
		return nil
	case keys.Arm, keys.Toggle:
		return nil
	}
	if do == keys.None {
		do = m.keys.Find(k, keys.InComposer)
	}
	reply, handled := f.Press(keys.Typed(k), do, m.width)
	switch {
	case reply != nil:
		return replied(m, *reply)
	case handled:
		return nil
	}
	return m.common(do)
}

// replied closes the form in front and says what became of it.
func replied(m *app, r inquiry.Reply) tea.Cmd {
	m.answer.follows = true
	f := m.form()
	said := map[string]string{inquiry.Accepted: "answered", inquiry.Declined: "declined", inquiry.Cancelled: "cancelled"}[r.Action]
	if !f.Ask.Wanted {
		m.transcript.Note(word.LevelInfo, "question of the MCP server "+f.Ask.Question.Server+": "+said)
	}
	m.forms.Answer(r)
	return nil
}
