package agent

// A refused system call of a running command can wait for a person's answer:
//
//	the sandbox refuses a call -> Hold
//	  | decide  Gate.DecideHeld   nobody can grant it -----------> no: the call fails
//	  |                           it was granted meanwhile ------> yes, unasked
//	  v question
//	ask     Frontend.Ask          no, stop, no answer in time,
//	  |                           interrupted, caller gone ------> no: the call fails
//	  |                           another answer opens it -------> yes
//	  v
//	settle  Gate.SettleHeld       -> the grant: the same command goes on
//
// Where nobody can be asked, or the setting says no, there is no holder: refused
// calls then fail at once.

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/approvals"
	"codeagent/sandbox"
)

// heldPatience is how long a held call waits for its answer: then it is a no.
const heldPatience = 5 * time.Minute

// Why a question about a held call ends without an answer of its own.
var (
	errNoAnswer   = errors.New("nobody answered within five minutes")
	errNotWaiting = errors.New("the command did not wait for the answer")
	errOpened     = errors.New("another answer opened it")
)

// holder answers for one run of a command. It is asked from several goroutines.
type holder struct {
	call *toolCall
	turn context.Context // its end answers every question

	mu      sync.Mutex
	granted []sandbox.Grant // to this run; guarded by mu
	denied  []string        // in words, with the reason; guarded by mu
}

var _ sandbox.Holder = (*holder)(nil)

// holder returns who answers for the refused calls of a run of c, or nil: they
// fail at once. Before every command of the mode untrusted a person was asked
// already, and never asks nobody.
func (c *toolCall) holder(turn context.Context) *holder {
	cfg := c.turn.agent.cfg
	mode := cfg.Gate.Mode()
	if !cfg.Hold || !cfg.Attended || mode != approvals.OnRequest && mode != approvals.OnFailure {
		return nil
	}
	return &holder{call: c, turn: turn}
}

// Hold asks whether the refused call d may go on. It returns when there is an
// answer, after heldPatience, or when ctx or the turn ends.
func (h *holder) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	c, gate, held := h.call, h.call.turn.agent.cfg.Gate, &h.call.turn.agent.held
	grant, question, err := gate.DecideHeld(c.action, d, h.grants()...)
	switch {
	case err != nil:
		return sandbox.Grant{}, false
	case question == nil:
		h.note(grant, d, nil)
		return grant, true
	}
	question.Patience = heldPatience
	asking, end := context.WithCancelCause(h.turn)
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(errNotWaiting) })()
	asking, stop := context.WithTimeoutCause(asking, heldPatience, errNoAnswer)
	defer stop()
	w := &heldQuestion{holder: h, denial: d, open: func() { end(errOpened) }}
	held.add(w)
	ans := c.put(asking, question)
	held.remove(w)
	if opened, ok := gate.Granted(d, h.grants()...); ok && errors.Is(context.Cause(asking), errOpened) {
		ans = approvals.Answer{Decision: approvals.Once, Grant: &opened, Reason: errOpened.Error()}
	}
	grant, err = gate.SettleHeld(question, ans)
	c.answered(h.turn, question, ans, err)
	h.note(grant, d, err)
	if err != nil {
		return sandbox.Grant{}, false
	}
	held.opened(gate)
	return grant, true
}

// grants is what this run was given so far.
func (h *holder) grants() []sandbox.Grant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.granted)
}

// note keeps an answer for the model.
func (h *holder) note(g sandbox.Grant, d sandbox.Denial, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.granted = append(h.granted, g)
		return
	}
	h.denied = append(h.denied, d.Target+" ("+strings.TrimRight(err.Error(), ". ")+")")
}

// saidNo reports whether a question of the run was answered with no.
func (h *holder) saidNo() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.denied) > 0
}

// words tell the model what was opened and what was not while the command ran.
func (h *holder) words() string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var opened []string
	for _, g := range h.granted {
		opened = appendNew(opened, things(g))
	}
	var denied []string
	for _, d := range h.denied {
		denied = appendNew(denied, d)
	}
	var b strings.Builder
	if len(opened) > 0 {
		b.WriteString("\n[approval] While the command ran, the user opened for it: " + strings.Join(opened, ", ") + ".")
	}
	if len(denied) > 0 {
		b.WriteString("\n[approval] While the command ran, the user was asked and did not open: " + strings.Join(denied, ", ") + ".")
	}
	return b.String()
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// heldQuestion is a question about a held call that has no answer yet.
type heldQuestion struct {
	holder *holder
	denial sandbox.Denial
	open   func() // ends the wait with errOpened
}

// heldQuestions are those of all running commands: one answer may open what
// another call waits for.
type heldQuestions struct {
	mu   sync.Mutex
	list []*heldQuestion // guarded by mu
}

func (q *heldQuestions) add(w *heldQuestion) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, w)
}

func (q *heldQuestions) remove(w *heldQuestion) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = slices.DeleteFunc(q.list, func(o *heldQuestion) bool { return o == w })
}

// opened ends the wait of every call that may go on by what is granted now.
func (q *heldQuestions) opened(gate *approvals.Gate) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.list {
		if _, ok := gate.Granted(w.denial, w.holder.grants()...); ok {
			w.open()
		}
	}
}
