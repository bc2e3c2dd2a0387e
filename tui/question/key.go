package question

import (
	"context"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// checkPause is how long no key changes a rule before what it would have allowed is computed.
const checkPause = 300 * time.Millisecond

// Key takes a key of an armed question, or of the note or the rule that is written.
func (q *Question) Key(k keys.Key) (part.Intent, bool) {
	switch {
	case q.Rule != nil:
		return q.ruleKey(k)
	case q.Field != nil:
		return q.noteKey(k)
	}
	switch do := q.keys.Find(k, keys.InQuestion); {
	case do == keys.Option && k.Keystroke() == tryKey && q.Has(tryKey):
		return q.try(), true
	case do == keys.Option && q.Has(k.Keystroke()):
		if ans, ok := q.Choose(k.Keystroke()); ok {
			return q.answer(ans), true
		}
		return q.checkSoon(), true
	case do == keys.Note:
		q.Open("")
		return nil, true
	}
	return nil, false
}

func (q *Question) noteKey(k keys.Key) (part.Intent, bool) {
	field := q.Field
	switch do := q.keys.Find(k, keys.InNote, keys.Everywhere, keys.InComposer); {
	case keys.Typed(k) != "":
		field.Typed(keys.Typed(k))
	case do == keys.Send:
		if ans, ok := q.Send(); ok {
			return q.answer(ans), true
		}
	case do == keys.Back, do == keys.Interrupt:
		q.Field = nil
	case slices.Contains([]keys.Action{keys.Arm, keys.Toggle, keys.Newline, keys.Queue, keys.Up, keys.Down}, do): // a note has one line
	case do == keys.LineStart && field.Empty():
		return part.Act(keys.Top), true
	case do == keys.LineEnd && field.Empty():
		return part.Act(keys.End), true
	case do == keys.Clipboard:
		return part.Insert(func(s string) bool {
			open := q.Field == field
			if open {
				q.Paste(s)
			}
			return open
		}), true
	case do == keys.Leave:
		field.Edit(keys.Delete, paint.Everything)
	default:
		return nil, field.Edit(do, paint.Everything)
	}
	return nil, true
}

func (q *Question) ruleKey(k keys.Key) (part.Intent, bool) {
	r, before := q.Rule, q.Rule.Text.Text
	switch do := q.keys.Find(k, keys.InRule, keys.Everywhere); do {
	case keys.Send:
		return q.SaveRule(), true
	case keys.Back, keys.Interrupt:
		q.Rule = nil
		return nil, true
	case keys.RuleScope:
		r.ToggleScope()
	case keys.Toggle:
		r.Toggle()
		return nil, true
	case keys.None:
		do = q.keys.Find(k, keys.InComposer)
		if s := keys.Typed(k); s != "" {
			r.Text.Typed(s)
		} else if r.open {
			r.Text.Edit(do, r.width)
		} else if do == keys.Up || do == keys.Down {
			r.said.Edit(do, r.width)
		}
		if r.Text.Text == before {
			return nil, true
		}
		r.edit()
	default:
		return nil, false
	}
	return q.checkSoon(), true
}

// Paste inserts into the note, which is one line, or into the rule.
func (q *Question) Paste(s string) part.Intent {
	if q.Rule == nil {
		q.Field.Paste(strings.Join(strings.Fields(s), " "))
		return nil
	}
	q.Rule.Text.Paste(s)
	q.Rule.edit()
	return q.checkSoon()
}

// SaveRule answers with the rule if it can be saved; otherwise the error is shown, and the text
// stays.
func (q *Question) SaveRule() part.Intent {
	r := q.Rule
	if !r.read() {
		return nil
	}
	check, done := r.check(true)
	return part.Beside(func(context.Context) func() part.Intent {
		err := check()
		return func() part.Intent {
			if done(err) && len(q.Asks) > 0 && q.Rule == r {
				return q.answer(approvals.Answer{Decision: approvals.Always, Rule: r.Text.Value(), Reason: q.note})
			}
			return nil
		}
	})
}

// checkSoon shows what the rule would have allowed, or what is wrong with it, once the person
// pauses.
func (q *Question) checkSoon() part.Intent {
	r := q.Rule
	if r == nil {
		return nil
	}
	at := r.changes
	return part.Wait{Pause: checkPause, Then: func() part.Intent {
		if r.changes != at || r.checking || q.Rule != r {
			return nil
		}
		check, done := r.check(false)
		return part.Beside(func(context.Context) func() part.Intent {
			err := check()
			return func() part.Intent { done(err); return nil }
		})
	}}
}
