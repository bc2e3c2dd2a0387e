// Package question is a request for a permission as the person sees and answers it:
// facts first, and no yes before all that it allows was visible. It performs no IO and
// grants nothing; it hands the answer to whoever asked. Start with Question,
// then body.go for the order of what is shown.
package question

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/tui/composer"
	"codeagent/tui/diff"
	"codeagent/tui/keys"
	"codeagent/tui/part"
)

// Question is a request for a permission, docked below the transcript. Several
// asks may wait for its answer: identical requests are one question.
type Question struct {
	part.Arming
	request approvals.Request
	Asks    []*Ask
	// Field is the note being written; option is the key of the option that it
	// belongs to, "" for any.
	Field *composer.Composer
	// Rule is the rule of the answer "always" while it is shown; nil: it is not.
	Rule   *Rule
	option string
	note   string
	early  bool // a yes was tried too early
	held   string
	typed  bool // see part.Canvas
	seen   part.Sights
	// drawn: the question was on the screen, and its last drawing left this many rows to
	// be seen: the keys do what the person sees, and no more.
	drawn bool
	left  int
	// tries: a preview runs. tried is what the last one showed.
	tries bool
	tried *approvals.Tried
	keys  *keys.Table
	now   func() time.Time
	// change are the rows of an edit, once they were drawn.
	change []diff.Row
}

// Ask is a question and where its answer goes. Reply has room for one.
type Ask struct {
	Request approvals.Request
	Reply   chan approvals.Answer
	since   time.Time // when it came to the screen
}

// Answered is an answer that was given.
type Answered struct {
	*Question
	Decision approvals.Decision
}

// Dock asks a.
func (a *Ask) Dock(s part.Setting) part.Dock {
	a.since = s.Now()
	return &Question{request: a.Request, Asks: []*Ask{a}, keys: s.Keys, now: s.Now}
}

// Join makes the question's answer one for a too, if it asks the same.
func (q *Question) Join(a part.Ask) bool {
	other, ok := a.(*Ask)
	if ok = ok && identity(other.Request) == identity(q.request); ok {
		other.since = q.now()
		q.Asks = append(q.Asks, other)
	}
	return ok
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

// Withdraw takes an ask away that nobody waits for any more.
func (q *Question) Withdraw(a part.Ask) bool {
	q.Asks = slices.DeleteFunc(q.Asks, func(other *Ask) bool { return a == other })
	if len(q.Asks) == 0 {
		q.Field = nil
	}
	return len(q.Asks) == 0
}

// answer gives the answer to all who wait for it.
func (q *Question) answer(ans approvals.Answer) part.Intent {
	given := Answered{q, ans.Decision}
	for _, a := range q.Asks {
		a.Reply <- ans
		if ans.Decision == approvals.Always { // the rule is saved once
			ans.Decision, ans.Rule = approvals.Once, ""
		}
	}
	return given
}

// Rank is First: a permission is asked about before what a server wants to know.
func (q *Question) Rank() part.Rank { return part.First }

// Writes reports whether a note or a rule is written.
func (q *Question) Writes() bool { return q.Field != nil || q.Rule != nil }

// Hold says that key came too early to answer the question; "": none did.
func (q *Question) Hold(key string) { q.held = key }

// Bar takes the keys from the question until the person arms it.
func (q *Question) Bar() { q.Arming.Bar(); q.early = false }

// Arm makes the question take keys.
func (q *Question) Arm(wanted bool) { q.Arming.Arm(wanted); q.early = false }

// Choose answers with the option of key; false when the question has no such
// option, or it cannot be taken now. A label that ends in … asks for a reason: the
// field opens first.
func (q *Question) Choose(key string) (approvals.Answer, bool) {
	for _, o := range q.request.Options {
		if o.Key != key {
			continue
		}
		if o.Decision.Yes() && (!q.drawn || q.left > 0) {
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
func (q *Question) Unread() bool { return q.left > 0 }

// Has reports whether key is one of the question's options.
func (q *Question) Has(key string) bool {
	return key == tryKey && q.request.Preview != nil || slices.ContainsFunc(q.request.Options, func(o approvals.Option) bool { return o.Key == key })
}

// offered are the options with the preview, which answers nothing.
func (q *Question) offered() []approvals.Option {
	if q.request.Preview == nil || q.tries || q.tried != nil {
		return q.request.Options
	}
	return append(slices.Clone(q.request.Options), approvals.Option{Key: tryKey, Label: "try it first"})
}

// NoPreview offers none: it needs a screen.
func (q *Question) NoPreview() { q.request.Preview = nil }

// tryKey is the key of the preview.
const tryKey = "t"

// try runs the preview once, and shows it.
func (q *Question) try() part.Intent {
	const whole = part.Act(keys.Toggle) // the question in full, which begins with it
	switch {
	case q.tries:
		return nil
	case q.tried != nil:
		return whole
	}
	q.tries = true
	return part.Beside(func(context.Context) func() part.Intent {
		tried, err := q.request.Preview()
		return func() part.Intent {
			if q.tries = false; len(q.Asks) == 0 {
				return nil // it was answered meanwhile
			}
			if err != nil {
				return part.Fail("It could not be tried: " + err.Error())
			}
			q.tried = &tried
			return whole
		}
	})
}

// Open starts the note; with the key of an option, sending the note answers.
func (q *Question) Open(option string) {
	field := composer.New()
	field.Put(q.note)
	q.Field, q.option, q.early = &field, option, false
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
