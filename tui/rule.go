package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/question"
)

// checkPause is how long no key changes a rule before what it would have allowed is computed.
const checkPause = 300 * time.Millisecond

// ruleKey takes a key while the rule of the answer "always" is shown.
func ruleKey(m *app, q *question.Question, k tea.Key) tea.Cmd {
	switch do := m.keys.Find(k, keys.InRule, keys.Everywhere); do {
	case keys.Send:
		return saveRule(m, q)
	case keys.Back, keys.Interrupt:
		q.Rule = nil
		return nil
	case keys.RuleScope:
		q.Rule.ToggleScope()
		return checkSoon(m, q)
	case keys.RuleExpiry:
		q.Rule.NextExpiry(m.now())
		return checkSoon(m, q)
	case keys.None:
	default:
		return m.common(do)
	}
	if s := keys.Typed(k); s != "" {
		q.Rule.Text.Typed(s)
		q.Rule.Changed()
		return checkSoon(m, q)
	}
	before := q.Rule.Text.Text
	q.Rule.Text.Edit(m.keys.Find(k, keys.InComposer), question.RuleWidth(m.width))
	if q.Rule.Text.Text == before {
		return nil
	}
	q.Rule.Changed()
	return checkSoon(m, q)
}

// saveRule answers with the rule if it can be saved; otherwise the error is shown, and the text
// stays.
func saveRule(m *app, q *question.Question) tea.Cmd {
	r := q.Rule
	if !r.Read(m.width) {
		return nil
	}
	check, done := r.Check(true)
	return m.aside(func(context.Context) then {
		err := check()
		return func(m *app) tea.Cmd {
			if done(err) && m.questions.Front() == q && q.Rule == r {
				return m.answered(q.Always())
			}
			return nil
		}
	})
}

// checkSoon shows what the rule would have allowed, or what is wrong with it, once the person
// pauses.
func checkSoon(m *app, q *question.Question) tea.Cmd {
	r := q.Rule
	if r == nil {
		return nil
	}
	waited := r.Unchanged()
	return m.after(checkPause, func(time.Time) tea.Msg {
		return then(func(m *app) tea.Cmd {
			if !waited() || q.Rule != r {
				return nil
			}
			check, done := r.Check(false)
			return m.aside(func(context.Context) then {
				err := check()
				return func(*app) tea.Cmd { done(err); return nil }
			})
		})
	})
}
