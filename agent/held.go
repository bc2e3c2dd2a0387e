package agent

// A refused system call of a running command can wait for a person's answer:
//
//	the sandbox refuses a call -> Asks  nothing says that it matters ----> no: the call fails
//	  v                           (approvals/without/run.go)
//	Hold
//	  | decide  Gate.DecideHeld   nobody can grant it -----------> no: the call fails
//	  |                           it was granted meanwhile ------> yes, unasked
//	  v question
//	ask     Frontend.Ask          no, stop, no answer in time,
//	  |                           interrupted, caller gone ------> no: the call fails
//	  |                           another answer opens it -------> yes
//	  v
//	settle  Gate.SettleHeld       -> the grant: the same command continues
//
// Where nobody can be asked, or the setting forbids it, refused calls fail at once.

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/approvals"
	"codeagent/approvals/without"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/tools"
)

// heldPatience is how long a held call waits for an answer; then the answer is no.
const heldPatience = 5 * time.Minute

// Reasons why a question about a held call ends without an answer.
var (
	errNoAnswer   = errors.New("nobody answered within five minutes")
	errNotWaiting = errors.New("the command did not wait for the answer")
	errOpened     = errors.New("another answer opened it")
	errLike       = errors.New("the user denied a similar request")
)

// holder answers the held calls of one run of a command, from several goroutines.
type holder struct {
	call *toolCall
	run  *without.Run
	turn context.Context // its end answers every question with no
	// onlyLoss: only changes that undo cannot reverse are asked about.
	onlyLoss bool

	mu      sync.Mutex
	answers approvals.HeldAnswers // guarded by mu
	kept    int                   // how many of the answers are from earlier runs
	opened  []string              // in words; guarded by mu
	denied  []string              // in words, with the reason; guarded by mu
	away    bool                  // a question had no answer; guarded by mu
}

var _ sandbox.Holder = (*holder)(nil)

// holder returns the holder for a run of c, a command or a call of a confined server, or nil if refused calls fail at once. Under untrusted
// the user has already approved the command, but not changes that undo cannot reverse. Under never
// there are no questions.
func (c *toolCall) holder(turn context.Context) *holder {
	cfg := c.turn.agent.cfg
	mode := cfg.Gate.Mode()
	if cfg.Hold == nil || !cfg.Hold() || !cfg.Attended || !mode.Holds() && mode != approvals.Untrusted || !c.action.Confined() {
		return nil
	}
	return &holder{call: c, turn: turn, onlyLoss: !mode.Holds(), run: cfg.Without.Begin(turn, c.named())}
}

// named returns what c names: a refusal of that is worth a question.
func (c *toolCall) named() without.Command {
	named := without.Command{Text: c.action.Command, Folder: c.action.Folder, Wishes: c.turn.wished()}
	if s := c.action.Server; s != nil {
		for _, word := range s.Words() { // as words of a shell
			named.Text += short.ShellWord(word) + "\n"
		}
		return named
	}
	named.Roots = sandbox.PathsOf(c.turn.agent.cfg.Gate.Open().Write)
	return named
}

// wish records what the model requests in this turn. A refusal of something requested is worth a
// question.
func (t *turn) wish(w approvals.Wish) {
	words := slices.Concat(w.Write, w.Read, w.Hosts, w.Sockets)
	if w.Justification != "" {
		words = append(words, w.Justification)
	}
	t.wishing.Lock()
	defer t.wishing.Unlock()
	if len(words) > 0 && len(t.wishes) < mostWishes {
		t.wishes = append(t.wishes, strings.Join(words, "\n"))
	}
}

// mostWishes limits the requests that are kept per turn.
const mostWishes = 32

func (t *turn) wished() []string {
	t.wishing.Lock()
	defer t.wishing.Unlock()
	return slices.Clone(t.wishes)
}

// Asks reports whether the refused call d is worth a question.
func (h *holder) Asks(d sandbox.Denial) bool {
	return d.Kind == sandbox.KindLoss || !h.onlyLoss && (h.run.Asks(d) || h.beside(d))
}

// beside reports whether d is about an entry beside one that was granted in this call. Such a call is held: a run that fails
// half way leaves what the next one stumbles over.
func (h *holder) beside(d sandbox.Denial) bool {
	so, _ := h.soFar()
	return !d.Probe && !h.run.Denied(d) && slices.ContainsFunc(so.Given, func(g sandbox.Grant) bool {
		return slices.ContainsFunc(g.Write, func(p string) bool { return path.Dir(p) == path.Dir(d.Target) })
	})
}

// learn records what the refusals of a finished command meant: it survived them, or they made it
// fail.
func (c *toolCall) learn(h *holder, res tools.Result, certain bool) {
	cfg, v := c.turn.agent.cfg, res.Verdict
	if cfg.Without == nil || !c.action.Confined() || res.Running || len(v.Denials) == 0 {
		return
	}
	run := cfg.Without.Unasked()
	if h != nil {
		run = h.run
	}
	var cause []sandbox.Denial
	if v.Denied && (certain || v.Confidence == sandbox.Certain) {
		cause = slices.DeleteFunc(slices.Clone(v.Denials), func(d sandbox.Denial) bool { return d.Moot || d.Evidence != sandbox.EvidenceKernel })
	}
	c.unlearned(run.End(time.Now(), !res.Failed && !v.Failed, v.Denials, cause))
}

// unlearned reports once that nothing can be remembered.
func (c *toolCall) unlearned(err error) {
	if err != nil {
		c.turn.agent.unlearned.Do(func() {
			c.turn.agent.emit(event.Notice{Level: word.LevelWarning, Text: err.Error()})
		})
	}
}

// Hold asks whether the refused call d may proceed. It returns when there is an answer, after
// heldPatience, or when ctx or the turn ends.
func (h *holder) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	c, gate := h.call, h.call.turn.agent.cfg.Gate
	so, away := h.soFar()
	if away || h.run.Denied(d) || h.onlyLoss && d.Kind != sandbox.KindLoss {
		// A user who did not answer once is away: otherwise a program that tries again would wait
		// each time.
		return sandbox.Grant{}, false
	}
	grant, question, err := gate.DecideHeld(c.action, d, so)
	switch {
	case err != nil:
		return sandbox.Grant{}, false
	case question == nil:
		h.allowed(grant, "", false)
		return grant, true
	}
	ans, why := h.wait(ctx, question, d)
	grant, err = gate.SettleHeld(question, ans)
	c.answered(question, ans, err)
	if err != nil {
		h.refused(question.Grant, d, err, errors.Is(why, errNoAnswer))
		if ans.Decision == approvals.Deny || ans.Decision == approvals.Stop {
			h.run.Deny(d)
			c.turn.agent.held.alike(h, d)
		}
		return sandbox.Grant{}, false
	}
	if d.Kind == sandbox.KindLoss {
		h.mayLose()
		return grant, true
	}
	until := ""
	if became(question, ans).Lasts() {
		until = forSession
	}
	// A grant by a session answer, a rule or a setting does not belong to the command. It ends when
	// the answer, rule or setting is revoked.
	h.allowed(grant, until, became(question, ans) == approvals.Once && !errors.Is(why, errOpened))
	c.turn.agent.held.opened(gate)
	return grant, true
}

// wait asks the question about d and waits for its answer. why says what else ended the
// wait.
func (h *holder) wait(ctx context.Context, q *approvals.Request, d sandbox.Denial) (ans approvals.Answer, why error) {
	gate, held := h.call.turn.agent.cfg.Gate, &h.call.turn.agent.held
	q.Patience = heldPatience
	asking, end := context.WithCancelCause(h.turn)
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(errNotWaiting) })()
	asking, stop := context.WithTimeoutCause(asking, heldPatience, errNoAnswer)
	defer stop()
	w := &heldQuestion{holder: h, denial: d, open: func() { end(errOpened) }}
	w.like = func() { end(errLike) }
	held.add(w)
	held.opened(gate)    // by an answer given while this call waited
	if h.run.Denied(d) { // denied while this call waited
		w.like()
	}
	ans = h.call.put(asking, q)
	held.remove(w)
	why = context.Cause(asking)
	if errors.Is(why, errOpened) {
		so, _ := h.soFar()
		if opened, ok := gate.Granted(h.call.action, d, so.Given); ok {
			ans = approvals.Answer{Decision: approvals.Once, Grant: &opened}
		}
	}
	return ans, why
}

// soFar returns the answers of this run, and whether a question had no answer.
func (h *holder) soFar() (so approvals.HeldAnswers, away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return approvals.HeldAnswers{Given: slices.Clone(h.answers.Given), Refused: slices.Clone(h.answers.Refused), News: len(h.answers.Given) > h.kept}, h.away
}

// allowed records a grant. own: it is only for this command.
func (h *holder) allowed(g sandbox.Grant, until string, own bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if own {
		h.answers.Given = append(h.answers.Given, g)
	}
	// What a later answer for the session includes is named once.
	if what := things(g); !slices.Contains(h.opened, what) && !slices.Contains(h.opened, what+forSession) {
		h.opened = append(h.opened, what+until)
	}
}

// keep records what the call was granted in its earlier runs.
func (h *holder) keep(given []sandbox.Grant) {
	if h != nil {
		h.answers.Given, h.kept = given, len(given)
	}
}

// mayLose records a yes to changes that undo cannot reverse.
func (h *holder) mayLose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opened = append(h.opened, "deleting and replacing files that /undo cannot bring back")
}

func (h *holder) refused(g sandbox.Grant, d sandbox.Denial, why error, away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers.Refused = append(h.answers.Refused, g)
	if what := d.Target + " (" + strings.TrimRight(why.Error(), ". ") + ")"; !slices.Contains(h.denied, what) {
		h.denied = append(h.denied, what)
	}
	h.away = h.away || away
}

const forSession = " (for this session)"

// mostNamed bounds what one result lists of what was granted, and of what was not.
const mostNamed = 12

// mostLeft bounds what a question lists of what the run before left.
const mostLeft = 4

// saidNo reports whether a question of the run was answered with no.
func (h *holder) saidNo() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.denied) > 0
}

// offers returns the answers of the run, or nil if there should be no question about it. A question
// needs a person, which held calls imply. And the command must lack something that its programs do
// not usually survive.
func (h *holder) offers(v sandbox.Verdict) *approvals.HeldAnswers {
	if h == nil || h.knows(v) {
		return nil
	}
	so, _ := h.soFar()
	return &so
}

// knows reports whether all that a run lacked is known not to be why it failed.
func (h *holder) knows(v sandbox.Verdict) bool {
	lacked := slices.DeleteFunc(slices.Clone(v.Denials), func(d sandbox.Denial) bool { return d.Moot })
	return h != nil && v.Confidence != sandbox.Certain && h.run.Known(lacked)
}

// words returns the text for the model about what the user granted while the command ran.
func (h *holder) words() string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	if len(h.opened) > 0 {
		b.WriteString("\n[approval] While the command ran, the user opened for it: " + short.List(h.opened, mostNamed) + ".")
	}
	if len(h.denied) > 0 {
		b.WriteString("\n[approval] While the command ran, the user was asked and did not open: " + short.List(h.denied, mostNamed) + ".")
	}
	return b.String()
}

// heldQuestion is an unanswered question about a held call.
type heldQuestion struct {
	holder *holder
	denial sandbox.Denial
	open   func() // ends the wait with errOpened
	like   func() // ends the wait with errLike
}

// heldQuestions holds those of all running commands: one answer may grant what another call
// waits for.
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

// alike ends the waits for calls of the same command that a no to d also answers.
func (q *heldQuestions) alike(h *holder, d sandbox.Denial) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.list {
		if w.holder == h && without.Alike(d, w.denial) {
			w.like()
		}
	}
}

// opened ends the wait of every call that the present grants allow.
func (q *heldQuestions) opened(gate *approvals.Gate) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.list {
		so, _ := w.holder.soFar()
		if _, ok := gate.Granted(w.holder.call.action, w.denial, so.Given); ok {
			w.open()
		}
	}
}
