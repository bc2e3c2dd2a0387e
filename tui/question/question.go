// Package question is a request for a permission as the person sees and answers it:
// facts first, and no yes before all that it allows was visible. It performs no IO and
// grants nothing; it hands the answer to whoever asked. Start with Queue and Question,
// then body.go for the order of what is shown and seen.go for what must be seen.
package question

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/tui/composer"
)

// Question is a request for a permission, docked below the transcript. Several
// asks may wait for its answer: identical requests are one question.
type Question struct {
	request approvals.Request
	Asks    []*Ask
	// An armed question takes keys. A barred one is armed by Ctrl+Y only, because the
	// person disarmed it.
	armed, barred bool
	// Field is the note being written; option is the key of the option that it
	// belongs to, "" for any.
	Field *composer.Composer
	// Rule is the rule of the answer "always" while it is shown; nil: it is not.
	Rule   *Rule
	option string
	note   string
	early  bool // a yes was tried too early
	held   string
	seen   sights
	keys   Keys
}

// Keys are the names of the keys that a question's hints mention.
type Keys struct {
	Arm, All, Next, Note string
	Rule                 RuleKeys
}

// Ask is a question and where its answer goes. reply has room for one.
type Ask struct {
	Request approvals.Request
	Reply   chan approvals.Answer
	since   time.Time // set by the screen
}

// Queue is the queue; only the front one is shown.
type Queue struct {
	Waiting []*Question
	Keys    Keys
}

// Front is the question that is shown, or nil.
func (q *Queue) Front() *Question {
	if len(q.Waiting) == 0 {
		return nil
	}
	return q.Waiting[0]
}

// Insert puts a in front of the others: the person asked for this question.
func (q *Queue) Insert(a *Ask, now time.Time) {
	a.since = now
	q.Disarm()
	q.Waiting = slices.Insert(q.Waiting, 0, &Question{request: a.Request, Asks: []*Ask{a}, keys: q.Keys})
}

// Add queues a, or joins it to an identical question.
func (q *Queue) Add(a *Ask, now time.Time) {
	a.since = now
	key := identity(a.Request)
	for _, other := range q.Waiting {
		if identity(other.request) == key {
			other.Asks = append(other.Asks, a)
			return
		}
	}
	q.Waiting = append(q.Waiting, &Question{request: a.Request, Asks: []*Ask{a}, keys: q.Keys})
}

// identity is everything that the person sees and decides on: requests of the same
// identity get the same answer.
func identity(r approvals.Request) string {
	r.ID, r.CallID, r.Action.CallID = "", "", ""
	denials := r.Denials
	r.Denials = nil
	for _, d := range denials {
		// The question is the same whichever process of the program tried, when, and
		// at which address of the host.
		d.PID, d.Chain, d.Order, d.Count, d.Requested, d.Errno = 0, nil, 0, 0, "", ""
		r.Denials = append(r.Denials, d)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Sprintf("%p", &r)
	}
	return string(b)
}

// Withdraw removes an ask that nobody waits for any more, and a question without
// asks.
func (q *Queue) Withdraw(a *Ask) {
	for i, question := range q.Waiting {
		for j, other := range question.Asks {
			if other == a {
				question.Asks = append(question.Asks[:j], question.Asks[j+1:]...)
				if len(question.Asks) == 0 {
					q.Waiting = append(q.Waiting[:i], q.Waiting[i+1:]...)
				}
				return
			}
		}
	}
}

// Answer closes the front question.
func (q *Queue) Answer(ans approvals.Answer) {
	for i, a := range q.Waiting[0].Asks {
		if i > 0 && ans.Decision == approvals.Always { // the rule is saved once
			ans.Decision, ans.Rule = approvals.Once, ""
		}
		a.Reply <- ans
	}
	q.Waiting = q.Waiting[1:]
}

// Armed reports whether the question takes keys.
func (q *Question) Armed() bool { return q.armed }

// Hold says that key came too early to answer the question; "": none did.
func (q *Question) Hold(key string) { q.held = key }

// Waits reports whether a pause in typing arms the question.
func (q *Question) Waits() bool { return !q.armed && !q.barred }

// Bar takes the keys from the question until the person arms it.
func (q *Question) Bar() { q.armed, q.barred, q.early = false, true, false }

// Arm makes the question take keys.
func (q *Question) Arm() { q.armed, q.barred, q.early = true, false, false }

// Choose answers with the option of key; false when the question has no such
// option, or it cannot be taken now. A label that ends in … asks for a reason: the
// field opens first.
func (q *Question) Choose(key string) (approvals.Answer, bool) {
	for _, o := range q.request.Options {
		if o.Key != key {
			continue
		}
		if q.seen.bars(o.Decision) {
			q.early = true
			return approvals.Answer{}, false
		}
		if o.Decision == approvals.Always && q.request.Lasting != nil {
			q.openRule()
			return approvals.Answer{}, false
		}
		if strings.HasSuffix(o.Label, "…") && q.Field == nil {
			q.Open(key)
			return approvals.Answer{}, false
		}
		return approvals.Answer{Decision: o.Decision, Reason: q.note}, true
	}
	return approvals.Answer{}, false
}

// Unread reports whether a yes waits until more was seen.
func (q *Question) Unread() bool { return q.seen.left > 0 }

// Disarm takes the keys from the front question: the person types elsewhere.
func (q *Queue) Disarm() {
	if front := q.Front(); front != nil {
		front.armed = false
	}
}

// Has reports whether key is one of the question's options.
func (q *Question) Has(key string) bool {
	for _, o := range q.request.Options {
		if o.Key == key {
			return true
		}
	}
	return false
}

// Open starts the note; with the key of an option, sending the note answers.
func (q *Question) Open(option string) {
	field := composer.New()
	field.Put(q.note)
	q.Field, q.option, q.early = &field, option, false
}

// Always is the answer that saves the rule as it is written now.
func (q *Question) Always() approvals.Answer {
	return approvals.Answer{Decision: approvals.Always, Rule: q.Rule.Text.Value(), Reason: q.note}
}

// Send saves the note and answers, if the note belongs to an option.
func (q *Question) Send() (approvals.Answer, bool) {
	q.note = strings.Join(strings.Fields(q.Field.Value()), " ")
	option := q.option
	if option == "" {
		q.Field = nil
		return approvals.Answer{}, false
	}
	ans, ok := q.Choose(option)
	q.Field = nil
	return ans, ok
}
