// Package approvals judges whether an action may run, must be asked about, or is refused.
// Only this package converts a model's Wish to a sandbox.Grant, widens policies and mints
// permits; it performs no IO, but reads file metadata through the sandbox.FileSystem that it
// is given. Start reading at the head of gate.go, and at the decision
// table, testdata/gate.txt.
package approvals

import (
	"time"

	"codeagent/approvals/content"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// Action is what a tool call would do. A Permit is bound to every field.
type Action struct {
	CallID, Tool string
	Kind         word.Kind
	// Title describes the call in one line ("$ npm test").
	Title string
	// Command is the whole command text, the patch of an edit, or the URL of a fetch. Folder
	// is the absolute working folder; relative paths of the wish start there.
	Command, Folder string
	Argv            []string
	// Paths are the files that an edit or a read accesses.
	Paths []string
	Wish  Wish
	// Background: the command continues after its call, and can receive input.
	Background bool
	// Input is what is typed, and Running the command that receives it.
	Input   string
	Running Running
	// Server is set for a call of a tool of an MCP server.
	Server *ServerCall
}

// Running is a background command: its number, its text, the policy it was started under,
// and the grants of its held calls. It keeps both until it ends.
type Running struct {
	ID      int
	Command string
	Policy  sandbox.Policy
	Granted []sandbox.Grant
}

// Wish is what the model asks for beyond the policy, as the model wrote it: nothing in it is
// canonical, checked or granted.
type Wish struct {
	Write, Read, Hosts, Sockets []string
	// Unsandboxed asks to run outside the sandbox (require_escalated).
	Unsandboxed   bool
	Justification string
}

// Empty reports whether w asks for nothing.
func (w Wish) Empty() bool {
	return len(w.Write) == 0 && len(w.Read) == 0 && len(w.Hosts) == 0 && len(w.Sockets) == 0 && !w.Unsandboxed
}

// Request is a question to the person. Settle uses only its ID: a changed copy changes what
// is shown, but never what is granted.
type Request struct {
	ID, CallID string
	// Title says in one line who wants what.
	Title  string
	Action Action
	// bound is what a yes is bound to beside words.
	bound *content.Binding
	// overwrites: a yes lets the command overwrite refs of a remote git repository.
	overwrites bool
	// Denials are earlier denials of the command (AfterFailure, Held).
	Denials []sandbox.Denial
	// Grant is what a yes allows; empty if the question is only whether to run in the sandbox.
	Grant sandbox.Grant
	// GrantOnly: the grant is all that a yes allows, because the action would run in the sandbox
	// without a question. Every other yes also applies the text of the action, so all of it is
	// shown first.
	GrantOnly bool
	// Warnings are shown beside the grant, one sentence each.
	Warnings []string
	// Facts say what is known about what a yes opens, one sentence each (Options.Facts).
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
	// OutsidePaused is Outside while every other job, server and command of the session is stopped.
	OutsidePaused Decision = "outside_paused"
	// OutsideSession runs exactly this command in exactly this folder outside
	// the sandbox whenever the model asks for it, until the session ends.
	OutsideSession Decision = "outside_session"
	// Stop says no and ends the turn.
	Stop Decision = "stop"
	// Unattended: nobody can answer.
	Unattended Decision = "unattended"
	// Reviewed: the reviewer or a hook refused, so nobody was asked. The answer's Reason says why.
	Reviewed Decision = "reviewed"
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
func (d Decision) Leaves() bool { return d == Outside || d == OutsidePaused || d == OutsideSession }

// Answer answers a Request. The zero Answer means no.
type Answer struct {
	Decision Decision
	// Reason is a note for the model, with either answer.
	Reason string
	// By says who refused, of Reviewed. Empty: the reviewer.
	By string
	// Grant, if set, is less than what was asked. A larger one is refused.
	Grant *sandbox.Grant
	// Command, if set, is the command that the person wants instead: the answer is no, and the
	// model is given the command.
	Command string
	// Rule is the edited text to save with Always. Empty means Lasting.Project.
	Rule string
}

// Refusal is a no with its reason. It is the only error type of Decide and Settle.
type Refusal struct {
	// Reason is for the model and the person. Advice is for the model: what it can do instead; may be
	// empty.
	Reason, Advice string
	// Hint is a printable command or setting that would allow it; may be empty.
	Hint string
	// Stop: the person ended the turn.
	Stop bool
	// Request is what was wanted, if the mode refused it or nobody could answer; nil if nobody
	// could grant the wish.
	Request *Request
	// Again is the same question with what changed while it was open; nil if it is not asked again.
	Again *Request
}

// Error returns the words for the model.
func (r *Refusal) Error() string {
	if r.Advice == "" {
		return r.Reason
	}
	return r.Reason + ". " + r.Advice
}
