//go:build linux

package broker

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A call that is refused can wait while somebody is asked (sandbox.Holder):
//
//	refuse ─▶ the call is kept unanswered ─▶ goroutine: Holder.Hold
//	                                              │ the answer, and a wake-up
//	   no:  the errno of the refusal, recorded ◀──┤  on the broker's thread
//	   yes: the policy is widened by the grant ◀──┘  (hold_answer.go)
//	        and the same call is handled again from its start
//
// The second look reads and resolves everything anew under the wider policy, so
// what was changed while the question stood is judged like anything else. The
// broker's thread answers other calls meanwhile and holds no lock.

const (
	// MaxQuestions bounds the questions of one command that are open at once.
	// Calls that would need one more wait in line until one is answered: a yes may
	// well cover them.
	MaxQuestions = 64
	// MaxWaiting bounds the calls that wait, those with the same question and
	// those in line included. Further ones are refused at once.
	MaxWaiting = 1024
	// MaxNoes is after how many noes a command is not asked about any more: who
	// makes up names could keep a person busy for ever.
	MaxNoes = 16
	// heldMillis is the time between two looks at whether the callers still wait.
	heldMillis = 100
	// comesAgain is how long a question stands without a call after one of its
	// calls gave way to a signal: mostly it is made again.
	comesAgain = time.Second
)

// holding is what a broker has of calls that wait for a person. It is the
// broker's thread's own but for what mu guards.
type holding struct {
	holder sandbox.Holder // nil: every refusal is answered at once
	ctx    context.Context
	cancel context.CancelFunc
	// answers has a place for each open question; wake, an eventfd, is written to
	// after each answer.
	answers chan heldAnswer
	wake    int

	calls     []*heldCall
	questions []*question
	// answered are the questions that were answered: none is asked twice.
	answered map[heldKey]bool
	noes     int
	looked   time.Time // at the callers, last
	learning learning

	judge *judge
	log   *evidence
	// handle handles a call once more.
	handle func(n *notify.Notification) notify.Reply

	mu     sync.Mutex
	closed bool // wake is; guarded by mu
}

// heldKey is what two refusals with the same question have in common.
type heldKey struct {
	kind   sandbox.DenialKind
	target string
}

// heldCall is a call that waits.
type heldCall struct {
	n   notify.Notification
	key heldKey
	// about is what the call is about, where that is files.
	about []identity
	// denials are written down, and errno is answered, if the answer is no.
	denials []sandbox.Denial
	errno   unix.Errno
	signals signals
	// lookup is set for the question of a name, which is no call but whose process
	// waits all the same: lookup gets the answer.
	lookup func(yes bool)
}

// question is one that is open.
type question struct {
	key heldKey
	// shown is the file that it is about, nil for none.
	shown  *shownFile
	cancel context.CancelFunc
	// calledAway is when the last of its calls gave way to a signal, zero: none did.
	calledAway time.Time
}

type heldAnswer struct {
	question *question
	grant    sandbox.Grant
	yes      bool
}

// newHolding serves a command that ends with ctx.
func newHolding(ctx context.Context, h sandbox.Holder, learn func(sandbox.Denial) (sandbox.Grant, bool)) (*holding, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	out := &holding{holder: h, wake: wake, answers: make(chan heldAnswer, MaxQuestions), answered: map[heldKey]bool{}}
	out.ctx, out.cancel = context.WithCancel(ctx)
	if learn != nil {
		out.holder, out.learning.learn = nil, learn
	}
	return out, nil
}

// close ends all questions. It does not wait for a Holder that takes no notice.
func (h *holding) close() {
	h.cancel()
	h.mu.Lock()
	h.closed = true
	unix.Close(h.wake)
	h.mu.Unlock()
	for _, c := range h.calls {
		if c.lookup != nil {
			c.lookup(false)
		}
	}
	for _, q := range h.questions {
		q.shown.close()
	}
}

// hold keeps a call that is about to be refused, if it may wait for an answer.
// pins are what the call is about; the first denial is what is asked.
func (h *holding) hold(n *notify.Notification, errno unix.Errno, pins []pin, denials ...sandbox.Denial) bool {
	if !h.holds(&denials[0]) {
		return false
	}
	c := &heldCall{n: *n, key: keyOf(&denials[0]), errno: errno, denials: denials}
	for _, p := range pins {
		if is, err := p.identity(); err == nil {
			c.about = append(c.about, is)
		}
	}
	h.calls = append(h.calls, c)
	h.ask()
	return true
}

// holdLookup is hold for the question of a name.
func (h *holding) holdLookup(n *notify.Notification, d sandbox.Denial, lookup func(yes bool)) bool {
	if !h.holds(&d) {
		return false
	}
	h.calls = append(h.calls, &heldCall{n: *n, key: keyOf(&d), denials: []sandbox.Denial{d}, lookup: lookup})
	h.ask()
	return true
}

// holds reports whether a refusal waits for an answer.
func (h *holding) holds(d *sandbox.Denial) bool {
	return h.holder != nil && !h.answered[keyOf(d)] && h.noes < MaxNoes && len(h.calls) < MaxWaiting && h.askable(d)
}

func keyOf(d *sandbox.Denial) heldKey { return heldKey{d.Kind, d.Target} }

// askable reports whether some answer could let the refused call go on.
func (h *holding) askable(d *sandbox.Denial) bool {
	switch {
	case d.Moot:
		return false // it would fail all the same
	case d.Kind == sandbox.KindSocket, d.Kind == sandbox.KindNetwork:
		return true
	case aboutFile(d.Kind):
		return strings.HasPrefix(d.Target, "/") && spec.NeverWritable(d.Target) == "" && !sandbox.CoveredBy(h.judge.policy.Protected.Own, d.Target) &&
			h.judge.policy.JudgeWrite(d.Target).Kind != sandbox.KindRead // a grant to write does not open what is closed to reading
	}
	return false
}

// pinned reports a question that is about a file: one is granted as what was shown.
func (k heldKey) pinned() bool {
	return aboutFile(k.kind) || k.kind == sandbox.KindSocket && strings.HasPrefix(k.target, "/")
}

// aboutFile reports a kind whose target is granted by letting it be written.
func aboutFile(k sandbox.DenialKind) bool {
	return k == sandbox.KindWrite || k == sandbox.KindMetadata || k == sandbox.KindProtected
}

// ask puts the questions of the calls that have none, as far as there is room. A
// call that is about another file than its question shows is refused, and one
// that would need one more question than a person is to be bothered with.
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
		case c.key.pinned():
			shown = showFile(c.key)
		}
		if c.key.pinned() && (shown == nil || !slices.Contains(c.about, shown.is)) {
			if i < 0 {
				shown.close()
			}
			h.deny(c)
			return true
		}
		if i < 0 {
			h.put(&question{key: c.key, shown: shown}, h.log.described(&c.n, c.denials[0]))
		}
		return false
	})
}

// put asks, beside the broker's thread: the goroutine ends with its question.
func (h *holding) put(q *question, d sandbox.Denial) {
	ctx, cancel := context.WithCancel(h.ctx)
	q.cancel = cancel
	h.questions = append(h.questions, q)
	go func() {
		defer cancel()
		grant, yes := h.holder.Hold(ctx, d)
		select {
		case h.answers <- heldAnswer{q, grant, yes}:
		case <-h.ctx.Done():
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.closed {
			_, _ = unix.Write(h.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		}
	}()
}
