// Package approvals judges whether an action may run, must be asked about, or is refused.
// Only this package mints permits. It looks at file metadata through the sandbox.FileSystem that it is
// given, and performs no other IO. Start reading at Gate.Decide: decide judges a value, ask writes the
// question, the gate mints, records and locks.
package approvals

import (
	"errors"
	"fmt"

	"codeagent/approvals/ask"
	"codeagent/approvals/decide"
	"codeagent/sandbox"
)

// What callers of the gate need of the rooms below.
type (
	Action     = decide.Action
	Running    = decide.Job
	Wish       = decide.Wish
	ServerCall = decide.ServerCall
	Mode       = decide.Mode
	ModelRules = decide.ModelRules
	Request    = ask.Request
	Option     = ask.Option
	Decision   = ask.Decision
	Answer     = ask.Answer
	Lasting    = ask.Lasting
	// Tried and TriedChange are what a preview shows.
	Tried       = ask.Tried
	TriedChange = ask.TriedChange
)

// See decide.Mode.
const (
	Untrusted = decide.Untrusted
	OnRequest = decide.OnRequest
	OnFailure = decide.OnFailure
	Granular  = decide.Granular
	Never     = decide.Never
)

// See ask.Decision.
const (
	Deny           = ask.Deny
	Once           = ask.Once
	Session        = ask.Session
	AllEdits       = ask.AllEdits
	Always         = ask.Always
	Outside        = ask.Outside
	OutsideSession = ask.OutsideSession
	Stop           = ask.Stop
	Unattended     = ask.Unattended
	Hooked         = ask.Hooked
	Unanswered     = ask.Unanswered
)

// HeldAnswers are a person's answers so far about one running command.
type HeldAnswers struct {
	// Given is what was granted to it, also in an earlier run of the call. Refused is what was refused.
	Given, Refused []sandbox.Grant
	// News: some of Given was granted during this run.
	News bool
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
	// Again returns the same question, with what changed since it was shown. nil: do not ask it again.
	Again func() (*Request, error)
}

// Error returns the words for the model.
func (r *Refusal) Error() string {
	return (&decide.Refusal{Reason: r.Reason, Advice: r.Advice}).Error()
}

// AsRefusal returns the *Refusal that err is.
func AsRefusal(err error) (*Refusal, bool) {
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}

// refuse returns a refusal worded for the model.
func refuse(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}

// refused is a refusal of a decision.
func refused(r *decide.Refusal) *Refusal { return &Refusal{Reason: r.Reason, Advice: r.Advice} }

// Modes lists every Mode, the most careful first.
func Modes() []Mode { return decide.Modes() }
