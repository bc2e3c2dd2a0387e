package ask

import (
	"time"

	"codeagent/approvals/decide"
	"codeagent/event"
	"codeagent/sandbox"
)

// Request is a question to the person. Settle uses only its ID: a changed copy changes what
// is shown, but never what is granted.
type Request struct {
	ID, CallID string
	// Title says in one line who wants what.
	Title  string
	Action decide.Action
	// Overwrites: a yes lets the command overwrite refs of a remote git repository.
	Overwrites bool `json:"-"`
	// Denials are earlier denials of the command (AfterFailure, Held).
	Denials []sandbox.Denial
	// Grant is what a yes allows; empty if the question is only whether to run in the sandbox.
	Grant sandbox.Grant
	// Opens says in words what a yes opens beside the grant.
	Opens []string
	// GrantOnly: the grant is all that a yes allows, because the action would run in the sandbox
	// without a question. Every other yes also applies the text of the action, so all of it is
	// shown first.
	GrantOnly bool
	// Warnings are shown beside the grant, one sentence each.
	Warnings []string
	// Facts say what is known about what a yes opens, one sentence each.
	Facts []string
	// Justification is the model's reason, at most 2 KiB.
	Justification string
	// Widest: the answers include running outside the sandbox.
	Widest bool
	// Held: the refused call is held for Patience at most; then the answer is no.
	Held     bool
	Patience time.Duration
	// AfterFailure: the command ran, was denied something, and would be run again.
	AfterFailure bool
	// Changes are what an edit would change now, as far as that is known.
	Changes []event.FileChange
	// Preview, if set, runs the action on a draft with what a yes opens. It ends with the question.
	Preview func() (Tried, error) `json:"-"`
	// Options are the possible answers, the least permission first. Withheld says which
	// answers are not offered here and why, one phrase each.
	Options  []Option
	Withheld []string
	// Lasting is what the answer Always would save; nil if it is not offered.
	Lasting *Lasting
	// Unsaved says why the rules of an answer Always could not be saved, and Instead what it counts
	// as. Settle sets both.
	Unsaved string   `json:"-"`
	Instead Decision `json:"-"`
}

// Backend is where the action would run, as Action.Backend; "" also where a yes may be one to run outside of every backend.
func (r Request) Backend() string {
	if r.Widest {
		return ""
	}
	return r.Action.Backend
}

// Tried is what an action did on a draft.
type Tried struct {
	// Changes are all that it changed, deletions first.
	Changes []TriedChange
	// Said is how it ended. Again says why a yes would run it once more; "": a yes keeps the changes.
	Said, Again string
}

// TriedChange is one of them. Note is more about it, and Why says why it cannot be kept.
type TriedChange struct {
	event.FileChange
	Note, Why string
}

// Option is one answer to a Request.
type Option struct {
	// Key is a number, counted from 1, or "n" or "s" for a no.
	Key      string
	Decision Decision
	Label    string
}

// Decision is the meaning of an answer.
type Decision string

const (
	// Deny says no: the zero value.
	Deny Decision = ""
	// Once grants what was shown for this action only.
	Once Decision = "once"
	// Session grants what was shown until the session ends.
	Session Decision = "session"
	// AllEdits allows edits of files in the workspace without a question until the session ends.
	AllEdits Decision = "all_edits"
	// Always saves a rule that answers this question in the future: see Lasting.
	Always Decision = "always"
	// Outside runs this action outside the sandbox, once.
	Outside Decision = "outside"
	// OutsideSession runs exactly this command in exactly this folder outside
	// the sandbox whenever the model asks for it, until the session ends.
	OutsideSession Decision = "outside_session"
	// Stop says no and ends the turn.
	Stop Decision = "stop"
	// Unattended: nobody can answer.
	Unattended Decision = "unattended"
	// Hooked: a hook refused, so nobody was asked. The answer's Reason says why.
	Hooked Decision = "hooked"
	// Unanswered: the question ended without an answer; the answer's Reason says why.
	Unanswered Decision = "unanswered"
)

// Yes reports whether d allows the action. Lasts reports whether d also allows later actions, and
// Leaves whether it allows them outside the sandbox.
func (d Decision) Yes() bool { return d == Once || d.Leaves() || d.Lasts() }

// Lasts: see Yes.
func (d Decision) Lasts() bool {
	return d == Session || d == AllEdits || d == Always || d == OutsideSession
}

// Leaves: see Yes.
func (d Decision) Leaves() bool { return d == Outside || d == OutsideSession }

// Answer answers a Request. The zero Answer means no.
type Answer struct {
	Decision Decision
	// Reason is a note for the model, with either answer.
	Reason string
	// Grant, if set, is less than what was asked. A larger one is refused.
	Grant *sandbox.Grant
	// Rule is the edited text to save with Always. Empty means Lasting.Project.
	Rule string
}

// Lasting is what the answer Always saves: the text of rules for rules.toml.
type Lasting struct {
	// Project is the text of rules for this project.
	Project string
	// Check returns an error if text cannot be saved as the answer to this question. It reads files.
	Check func(text string) error `json:"-"`
}
