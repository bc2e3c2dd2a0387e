// Package approvals judges whether an action may run, must be asked about, or is refused.
// It alone turns what a model wishes for (Wish) into a sandbox.Grant, widens policies and
// mints permits; it performs no IO, but looks at paths through the sandbox.FileSystem
// that it is given. Start reading at the decision table of gate.go.
package approvals

import (
	"time"

	"codeagent/event"
	"codeagent/sandbox"
)

// Mode is the approval policy: when a person is asked.
type Mode string

const (
	// Untrusted asks before every edit and every command that is not on the
	// short list of known read-only ones.
	Untrusted Mode = "untrusted"
	// OnRequest runs everything in the sandbox and asks when the model wishes
	// for more than it allows: the default.
	OnRequest Mode = "on-request"
	// OnFailure is OnRequest, and asks after a command that the sandbox refused.
	OnFailure Mode = "on-failure"
	// Never asks nobody: what the sandbox does not allow is refused.
	Never Mode = "never"
)

// Modes lists every Mode, the most careful first.
func Modes() []Mode { return []Mode{Untrusted, OnRequest, OnFailure, Never} }

// Action is what a tool call would do, in plain words and exact fields. A
// Permit is bound to every one of them.
type Action struct {
	CallID, Tool string
	Kind         event.Kind
	// Title is one line: what the call does ("$ npm test").
	Title string
	// Command is the whole command text, the patch of an edit, the URL of a
	// fetch; Folder the absolute folder it runs in
	// and that relative paths of the wish mean.
	Command, Folder string
	Argv            []string
	// Paths are the files an edit or a read touches.
	Paths []string
	Wish  Wish
	// Background: the command goes on after its call, and can be typed to.
	Background bool
	// Input is what is typed, and Running what it is typed to.
	Input   string
	Running Running
}

// Running is a background command: its number, its text, the policy that it was
// started under, and what held calls of it were granted. It keeps both.
type Running struct {
	ID      int
	Command string
	Policy  sandbox.Policy
	Granted []sandbox.Grant
}

// Wish is what the model asks for beyond the policy, as it wrote it: nothing in
// it is canonical, checked or granted.
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

// Request is a question to the person. Settle looks at nothing in it but ID:
// changing a copy changes what is shown and never what is granted.
type Request struct {
	ID, CallID string
	// Title is one line: who wants what.
	Title  string
	Action Action
	// Denials are what was refused before (AfterFailure, Held).
	Denials []sandbox.Denial
	// Grant is what yes opens; empty when only leave to run in the sandbox is asked.
	Grant sandbox.Grant
	// Warnings are said aloud beside the grants, one sentence each.
	Warnings []string
	// Justification is the model's reason, at most 2 KiB.
	Justification string
	// Widest: running outside the sandbox is offered.
	Widest bool
	// Held: the refused call waits for the answer, Patience long; then it is a no.
	Held     bool
	Patience time.Duration
	// AfterFailure: the command ran, was refused and would be run again.
	AfterFailure bool
	// Options are the answers offered, least first.
	Options []Option
}

// Option is one answer to a Request.
type Option struct {
	// Key is "1", "2", "4", "5", "n" or "s".
	Key      string
	Decision Decision
	Label    string
	// Disabled says why it cannot be chosen; empty when it can.
	Disabled string
}

// Decision is what an answer decides.
type Decision string

const (
	// Deny says no: the zero value.
	Deny Decision = ""
	// Once opens what was shown for this action alone.
	Once Decision = "once"
	// Session opens what was shown until the session ends.
	Session Decision = "session"
	// Outside runs this action outside the sandbox, once.
	Outside Decision = "outside"
	// OutsideSession runs exactly this command in exactly this folder outside
	// the sandbox whenever the model asks for it, until the session ends.
	OutsideSession Decision = "outside_session"
	// Stop says no and ends the turn.
	Stop Decision = "stop"
	// Unattended: nobody is there to answer.
	Unattended Decision = "unattended"
	// Unanswered: the question ended without an answer, for the answer's Reason.
	Unanswered Decision = "unanswered"
)

// Answer answers a Request. The zero Answer is a no.
type Answer struct {
	Decision Decision
	// Reason is a note for the model, with a yes or a no.
	Reason string
	// Grant, when set, is less than what was asked. More is refused.
	Grant *sandbox.Grant
	// Command, when set, is the command the person wants instead: a no that
	// tells the model so.
	Command string
}

// Refusal is a no in words. It is the only error type of Decide and Settle.
type Refusal struct {
	// Reason is for the model and the person.
	Reason string
	// Hint is a printable command or setting that would allow it; may be empty.
	Hint string
	// Stop: the person ended the turn.
	Stop bool
	// Request is what was wanted when the mode or an absent person refused it;
	// nil when the wish itself cannot be granted by anyone.
	Request *Request
}

func (r *Refusal) Error() string { return r.Reason }
