//go:build linux

package broker

import (
	"context"
	"math"
	"slices"
	"time"

	"codeagent/linuxsandbox/broker/evidence"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A denied call can wait until somebody answers whether to grant it (sandbox.Holder):
//
//	deny ─▶ the call is held, unanswered ──▶ goroutine: Holder.Hold
//	                                              │ the answer, and a wake-up
//	   no:  the call fails, a denial is recorded ◀┤  on the broker's thread
//	   yes: the grant widens the policy, ◀────────┘  (hold_answer.go)
//	        and the same call is handled again from its start
//
// The second pass reads the arguments and walks the paths again under the wider policy. So
// what the command changed while the question was open is judged like anything else. The
// broker's thread answers other calls meanwhile and holds no lock.

const (
	// MaxQuestions bounds the open questions of one command. A call that needs one more
	// waits in line until one is answered: a yes may cover it too.
	MaxQuestions = 64
	// MaxWaiting bounds the held calls, including those that share a question and those in
	// line. Any further call is denied at once.
	MaxWaiting = 1024
	// MaxNoes is the number of noes after which a command causes no more questions. A
	// command that makes up names could otherwise ask forever.
	MaxNoes = 16
	// heldMillis is the time in milliseconds between two checks that the callers still wait.
	heldMillis = 100
	// comesAgain is how long a question stays open without a call after one of its calls was
	// interrupted by a signal: the program usually repeats the call.
	comesAgain = time.Second
)

// holding is a broker's state for calls that wait for a person. Only the broker's thread
// uses it.
type holding struct {
	holder sandbox.Holder // nil: every denial is answered at once
	ctx    context.Context
	cancel context.CancelFunc
	posts  *posts // takes the answers

	calls     []*heldCall
	questions []*question
	// answered holds the keys of answered questions: no question is asked twice.
	answered map[judge.Request]bool
	noes     int
	// revoked is what was revoked while the command runs.
	revoked  []sandbox.Grant
	looked   time.Time // last check of the callers
	learning lesson

	law   judge.Law                  // alone widens the policy
	enter func(roots []string) error // keeps other sessions out of what is granted
	log   *evidence.Log
	// handle handles a call again, from its start.
	handle func(n *notify.Notification) notify.Reply
}

// heldCall is a denied call that waits for an answer.
type heldCall struct {
	n   notify.Notification
	key judge.Request
	// about identifies the files that the call names, if it names files.
	about []identity
	// If the answer is no, denials are recorded and the call fails with errno.
	denials []sandbox.Denial
	errno   unix.Errno
	signals signals
	// lookup is set for a name service question. That is not a system call, but a process
	// waits for it. lookup receives the answer.
	lookup func(yes bool)
}

// question is an open question.
type question struct {
	key judge.Request
	// shown is the file that the question is about, nil for no file.
	shown  *shownFile
	cancel context.CancelFunc
	// interrupted is when a signal last interrupted one of its calls; zero: never.
	interrupted time.Time
}

// newHolding makes the state for one command, which ends with ctx. With learn set, h is unused.
func newHolding(ctx context.Context, h sandbox.Holder, learn func(sandbox.Denial) (sandbox.Grant, bool), posts *posts) *holding {
	out := &holding{holder: h, posts: posts, answered: map[judge.Request]bool{}}
	out.ctx, out.cancel = context.WithCancel(ctx)
	if learn != nil {
		out.holder, out.learning.learn = nil, learn
	}
	return out
}

// close ends all questions. It does not wait for a Holder that ignores its context.
func (h *holding) close() {
	h.cancel()
	for _, c := range h.calls {
		c.leave()
	}
	for _, q := range h.questions {
		q.shown.close()
	}
}

// hold keeps a call that is about to be denied, and reports whether it does. pins are the
// files that the call names. The question is about the first denial.
func (h *holding) hold(c *heldCall, pins ...pin) bool {
	if !h.holds(&c.n, &c.denials[0]) {
		return false
	}
	c.key = keyOf(&c.denials[0])
	for _, p := range pins {
		if is, err := p.identity(); err == nil {
			c.about = append(c.about, is)
		}
	}
	h.calls = append(h.calls, c)
	h.ask()
	return true
}

// holds reports whether a denied call is held for an answer.
func (h *holding) holds(n *notify.Notification, d *sandbox.Denial) bool {
	if h.holder == nil || h.answered[keyOf(d)] || h.wasRevoked(d) || h.noes >= MaxNoes || len(h.calls) >= MaxWaiting || !h.askable(d) {
		return false
	}
	return h.holder.Asks(h.log.Described(n, *d))
}

// keyOf identifies a question: denials with the same key share one question.
func keyOf(d *sandbox.Denial) judge.Request {
	if d.Kind == sandbox.KindLoss {
		return judge.Request{Kind: d.Kind} // one question covers every loss of the command
	}
	return judge.Request{Kind: d.Kind, Target: d.Target}
}

// askable reports whether any answer could make the denied call succeed.
func (h *holding) askable(d *sandbox.Denial) bool {
	switch {
	case d.Moot:
		return false // it would fail without the sandbox too
	case d.Kind == sandbox.KindLoss:
		return true
	case d.Why != "":
		return false // no grant allows it
	case d.Kind == sandbox.KindSocket, d.Kind == sandbox.KindNetwork:
		return true
	case judge.AboutFile(d.Kind):
		return h.law.Grantable(d.Target)
	}
	return false
}

// ask asks the questions of the calls that have none, as far as MaxQuestions allows. It
// denies a call that is about another file than its question shows, and a call that
// needs a new question after MaxNoes noes.
func (h *holding) ask() {
	h.calls = slices.DeleteFunc(h.calls, func(c *heldCall) bool {
		i := slices.IndexFunc(h.questions, func(q *question) bool { return q.key == c.key })
		switch {
		case i < 0 && h.noes >= MaxNoes:
			h.deny(c)
			return true
		case i < 0 && len(h.questions) >= MaxQuestions:
			return false // it waits in line
		}
		var shown *shownFile
		switch {
		case i >= 0:
			shown = h.questions[i].shown
		case c.key.Pinned():
			shown = showFile(c.key)
		}
		if c.key.Pinned() && (shown == nil || !slices.Contains(c.about, shown.is)) {
			if i < 0 {
				shown.close()
			}
			h.deny(c)
			return true
		}
		if i < 0 {
			h.put(&question{key: c.key, shown: shown}, h.log.Described(&c.n, c.denials[0]))
		}
		return false
	})
}

// put asks a question on a goroutine of its own, which ends with the question.
func (h *holding) put(q *question, d sandbox.Denial) {
	ctx, cancel := context.WithCancel(h.ctx)
	q.cancel = cancel
	h.questions = append(h.questions, q)
	go func() {
		defer cancel()
		grant, yes := h.holder.Hold(ctx, d)
		h.posts.add(math.MaxInt, func() { h.settle(q, grant, yes) })
	}()
}
