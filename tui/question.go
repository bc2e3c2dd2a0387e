package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"codeagent/approvals"
)

// question is a request for a permission, docked below the transcript. Several
// asks may wait for its answer: identical requests are one question.
type question struct {
	request approvals.Request
	asks    []*ask
	// An armed question takes keys. A barred one is armed by Ctrl+Y only, because the
	// person disarmed it.
	armed, barred bool
	// field is the note being written; option is the key of the option that it
	// belongs to, "" for any.
	field   *composer
	option  string
	note    string
	problem string
	seen    sights
	keys    hintKeys
}

// hintKeys are the names of the keys that a question's hints mention.
type hintKeys struct{ arm, all, page, note string }

// ask is a question and where its answer goes. reply has room for one.
type ask struct {
	request approvals.Request
	reply   chan approvals.Answer
	since   time.Time // set by the screen
}

// questions is the queue; only the front one is shown.
type questions struct {
	queue []*question
	keys  hintKeys
}

func (q *questions) front() *question {
	if len(q.queue) == 0 {
		return nil
	}
	return q.queue[0]
}

// add queues a, or joins it to an identical question.
func (q *questions) add(a *ask, now time.Time) {
	a.since = now
	key := identity(a.request)
	for _, other := range q.queue {
		if identity(other.request) == key {
			other.asks = append(other.asks, a)
			return
		}
	}
	q.queue = append(q.queue, &question{request: a.request, asks: []*ask{a}, keys: q.keys})
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

// withdraw removes an ask that nobody waits for any more, and a question without
// asks.
func (q *questions) withdraw(a *ask) {
	for i, question := range q.queue {
		for j, other := range question.asks {
			if other == a {
				question.asks = append(question.asks[:j], question.asks[j+1:]...)
				if len(question.asks) == 0 {
					q.queue = append(q.queue[:i], q.queue[i+1:]...)
				}
				return
			}
		}
	}
}

// answer closes the front question.
func (q *questions) answer(ans approvals.Answer) {
	for _, a := range q.queue[0].asks {
		a.reply <- ans
	}
	q.queue = q.queue[1:]
}

// arm has the question take keys.
func (q *question) arm() { q.armed, q.barred, q.problem = true, false, "" }

// choose answers with the option of key; false when the question has no such
// option, or it cannot be taken now. A label that ends in … asks for a reason: the
// field opens first.
func (q *question) choose(key string) (approvals.Answer, bool) {
	for _, o := range q.request.Options {
		if o.Key != key {
			continue
		}
		if o.Disabled != "" {
			q.problem = o.Label + ": " + o.Disabled
			return approvals.Answer{}, false
		}
		if q.seen.bars(o.Decision) {
			return approvals.Answer{}, false // the hint says what is missing
		}
		if strings.HasSuffix(o.Label, "…") && q.field == nil {
			q.open(key)
			return approvals.Answer{}, false
		}
		return approvals.Answer{Decision: o.Decision, Reason: q.note}, true
	}
	return approvals.Answer{}, false
}

// disarm takes the keys from the front question: the person types elsewhere.
func (q *questions) disarm() {
	if front := q.front(); front != nil {
		front.armed = false
	}
}

// has reports whether key is one of the question's options.
func (q *question) has(key string) bool {
	for _, o := range q.request.Options {
		if o.Key == key {
			return true
		}
	}
	return false
}

// open starts the note; with the key of an option, sending the note answers.
func (q *question) open(option string) {
	field := newComposer()
	field.put(q.note)
	q.field, q.option, q.problem = &field, option, ""
}

// send saves the note and answers, if the note belongs to an option.
func (q *question) send() (approvals.Answer, bool) {
	q.note = strings.Join(strings.Fields(q.field.value()), " ")
	option := q.option
	if option == "" {
		q.field = nil
		return approvals.Answer{}, false
	}
	ans, ok := q.choose(option)
	q.field = nil
	return ans, ok
}
