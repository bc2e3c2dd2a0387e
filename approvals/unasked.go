package approvals

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"codeagent/approvals/decide"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Some questions are not put to a person. The request returns to the model, with words that say
// what to do, in three cases: the settings do not let this model ask for it, the person has already
// said no to it, or it lacks a reason. The last happens once per request.

// asker holds the earlier requests and answers of the session. It decides which questions need not be
// put. It is safe for concurrent use.
type asker struct {
	reasons bool // from Options

	mu       sync.Mutex
	noes     []pastNo
	returned []string // requests that were sent back for a reason
}

// userSpoke is Gate.UserSpoke.
func (k *asker) userSpoke() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noes, k.returned = nil, nil
}

// unasked returns the refusal of r, a question about what a wants, or nil if the question must be
// put.
func (k *asker) unasked(r *Request, a Action, w decide.Want, now decide.Limits) *Refusal {
	if refusal := now.TooWide(a.Kind, w); refusal != nil {
		return &Refusal{Reason: refusal.Reason, Advice: refusal.Advice, Request: r}
	}
	if refusal := k.repeats(a, w); refusal != nil {
		return refusal
	}
	return k.reasonless(a, w, r.Justification, now.Model.MustJustify)
}

// reasonless returns a request without a reason to the model. must: as often as it comes, not once.
func (k *asker) reasonless(a Action, w decide.Want, reason string, must bool) *Refusal {
	byItself := a.Kind == word.KindEdit || a.Kind == word.KindFetch
	switch {
	case w.Empty() || a.Kind == word.KindInput:
		return nil // the model requested nothing: a rule or the mode asks
	case strings.TrimSpace(reason) != "" || !must && (byItself || !k.reasons):
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := decide.GrantWords(w.Grant) + actionText(a)
	if !must && slices.Contains(k.returned, key) {
		return nil
	}
	k.returned = append(k.returned, key)
	k.returned = k.returned[max(len(k.returned)-maxNoes, 0):]
	return &Refusal{
		Reason: "the user was not asked, because the request has no justification",
		Advice: "Make the same call again with a justification for the user: what in it needs this, by name (the program, the file, the host), and why now",
	}
}

// maxNoes limits what is remembered of a turn. The oldest entries are dropped.
const maxNoes = 64

// pastNo is a request that a person denied.
type pastNo struct {
	kind    word.Kind
	action  string
	grant   sandbox.Grant
	outside bool
	reason  string
}

// said records the answer to a question.
func (k *asker) said(q Request, ans Answer) {
	if ans.Decision != Deny {
		return
	}
	no := pastNo{kind: q.Action.Kind, action: actionText(q.Action), grant: q.Grant, outside: q.Grant.Unsandboxed || q.Widest}
	no.grant.Unsandboxed = false
	no.reason = strings.TrimSpace(strings.ToValidUTF8(short.Head(ans.Reason, decide.MaxReason), ""))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noes = append(k.noes, no)
	k.noes = k.noes[max(len(k.noes)-maxNoes, 0):]
}

// repeats refuses a request that includes one that the user denied.
func (k *asker) repeats(a Action, w decide.Want) *Refusal {
	action := actionText(a)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, no := range slices.Backward(k.noes) {
		if !no.in(a, action, w) {
			continue
		}
		because := ""
		if no.reason != "" {
			because = " (" + no.reason + ")"
		}
		what := "this"
		if words := decide.GrantWords(no.grant); words != "" {
			what = words
		}
		return &Refusal{
			Reason: fmt.Sprintf("the user has said no to %s%s and was not asked again", what, because),
			Advice: "Do it differently, or say what is missing",
		}
	}
	return nil
}

// in reports whether a, which wants w, includes everything that was denied. A request for less is a
// new request. So is an edit or an input with other text. A denied fetch does not deny a command's
// contact to the host, nor the reverse.
func (no pastNo) in(a Action, action string, w decide.Want) bool {
	same := no.kind == a.Kind && no.action == action
	switch {
	case no.grant.Empty() || a.Kind == word.KindEdit || a.Kind == word.KindInput:
		return same && (!no.outside || w.Unsandboxed || w.Blocked != "")
	case (no.kind == word.KindFetch) != (a.Kind == word.KindFetch):
		return false
	case w.Unsandboxed:
		return same // outside the sandbox everything is open
	}
	return w.Grant.Covers(no.grant)
}

// actionText identifies an action without its request for permissions. It ignores the spacing of a
// command.
func actionText(a Action) string {
	command := a.Command
	if a.Kind == word.KindCommand {
		command = strings.Join(strings.Fields(command), " ")
	}
	var call ServerCall
	if a.Server != nil {
		call = *a.Server
	}
	return fmt.Sprintf("%q %q %q %q %q %d %q %q", a.Kind, command, a.Folder, a.Paths, a.Input, a.Running.ID, call.Name(), call.Arguments)
}
