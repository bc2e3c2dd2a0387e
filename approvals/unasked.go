package approvals

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"codeagent/approvals/decide"
	"codeagent/approvals/review"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Some questions are not put to a person. The request returns to the model, with words that say
// what to do, in three cases: the settings do not let this model ask for it, the person has already
// said no to it, or it lacks a valid reason. The last happens once per request.

// asker holds the earlier requests and answers of the session. It decides which questions need not be
// put. It is safe for concurrent use.
type asker struct {
	reasons bool // from Options

	mu       sync.Mutex
	noes     []pastNo
	given    []pastReason
	returned []string // requests that were sent back since the last good reason
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
	return k.reasonless(r, a, w, now.Model.MustJustify)
}

// reasonless returns a request to the model if its reason is not valid, once for each request.
// Otherwise it adds what is known about the reason to the question.
func (k *asker) reasonless(r *Request, a Action, w decide.Want, must bool) *Refusal {
	byItself := a.Kind == word.KindEdit || a.Kind == word.KindFetch
	switch {
	case w.Empty() || a.Kind == word.KindInput:
		return nil // the model requested nothing: a rule or the mode asks
	case !must && (byItself || !k.reasons):
		return nil
	}
	fault, again := k.fault(a, w, r.Justification)
	if fault == "" {
		return nil
	}
	const how = "Make the same call again with a justification for the user: what in it needs this, by name (the program, the file, the host), and why now"
	if must || !again {
		return &Refusal{Reason: "the user was not asked, because the justification " + fault, Advice: how}
	}
	r.Warnings = append(r.Warnings, "the model gave no reason of its own, though it was asked for one: the justification "+fault)
	return nil
}

// Limits on what is remembered in a session. The oldest entries are dropped.
const (
	maxNoes    = 64
	maxReasons = 64
	// maxReturned limits how many requests in a row are returned: a model may be unable to give better
	// reasons.
	maxReturned = 3
)

// pastNo is a request that a person denied.
type pastNo struct {
	kind    word.Kind
	action  string
	grant   sandbox.Grant
	outside bool
	reason  string
}

type pastReason struct {
	about review.Subject
	text  string
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

// fault says what the reason for w lacks, or "". again: this request was already returned once, or
// too many requests in a row were.
func (k *asker) fault(a Action, w decide.Want, reason string) (fault string, again bool) {
	about := review.Subject{Command: a.Command, Opens: slices.Concat(w.Grant.Write, w.Grant.Read, w.Grant.Sockets, a.Wish.Write, a.Wish.Read)}
	if a.Kind == word.KindEdit {
		about.Command = strings.Join(a.Paths, " ")
	}
	for _, h := range w.Grant.Hosts {
		about.Opens = append(about.Opens, h.Host)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if fault = about.Fault(reason); fault == "" && slices.ContainsFunc(k.given, func(o pastReason) bool { return review.Same(o.text, reason) && !o.about.Related(about) }) {
		fault = "was given for another request already"
	}
	if fault == "" {
		k.returned = nil
		k.given = append(k.given, pastReason{about, reason})
		k.given = k.given[max(len(k.given)-maxReasons, 0):]
		return "", false
	}
	key := decide.GrantWords(w.Grant)
	if key == "" {
		key = actionText(a)
	}
	if slices.Contains(k.returned, key) || len(k.returned) >= maxReturned {
		return fault, true
	}
	k.returned = append(k.returned, key)
	return fault, false
}
