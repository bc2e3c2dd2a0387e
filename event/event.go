// Package event holds everything that the agent reports while it works: a sealed set of
// small structs, and the words of kinds, outcomes and answers that rooms share. It may
// import the types of sandbox and model, and performs no IO. Start reading at Event; each
// renderer (tui, headless, exec --json) handles every event, which All and a test in each
// room check.
package event

import (
	"fmt"
	"strconv"
	"time"

	"codeagent/model"
	"codeagent/sandbox"
)

// Event is one of the structs of this file.
type Event interface{ event() }

// SessionStarted comes before the first turn. It comes again, with the same ID, when the
// model's name becomes known or another model is chosen.
type SessionStarted struct {
	ID, Model, Folder string
	// Policy names the sandbox preset, Approval the approval policy.
	Policy, Approval string
	Enforcement      sandbox.Enforcement
	// Window is how many tokens the model can take; Assumed: nobody said so, it is
	// what most models take.
	Window  int64
	Assumed bool
	// Tour: the built-in scripted model answers.
	Tour bool
}

// TurnStarted: a message of the user goes to the model.
type TurnStarted struct {
	Text string
	// Images names each image that goes with it.
	Images []string
}

// Steered: a message typed while the model worked was delivered.
type Steered struct {
	Text string
	// Images names each image that goes with it.
	Images []string
}

// TextDelta is more of the model's answer.
type TextDelta struct{ Text string }

// ReasoningDelta is more of the model's thinking.
type ReasoningDelta struct{ Text string }

// MessageFinished closes a run of TextDeltas with the whole text.
type MessageFinished struct{ Text string }

// ReasoningFinished closes a run of ReasoningDeltas with the whole text.
type ReasoningFinished struct{ Text string }

// ToolStarted: a call was planned and is about to be decided on.
type ToolStarted struct {
	CallID, Tool string
	// Kind is KindCommand, KindEdit, KindRead, KindPlan or KindInput.
	Kind Kind
	// Title is one line: what the call does ("$ npm test", "edit main.go").
	Title string
	// Command is the whole command text for KindCommand.
	Command string
	Folder  string
}

// ToolOutput is output of a running call. The stream may be thinned: Skipped
// counts the bytes between the end of the last piece and Offset.
type ToolOutput struct {
	CallID  string
	Offset  int64
	Data    []byte
	Skipped int64
}

// ToolFinished: a call ended, in whatever way.
type ToolFinished struct {
	CallID, Tool string
	Kind         Kind
	Title        string
	Outcome      Outcome
	// Exit and Signal are set for commands that ran; a failed one with neither did not.
	Exit   int
	Signal string
	// Output is what the model was given of the command's output, bounded.
	Output   string
	Duration time.Duration
	// Limit is the limit a command ran into, "" for none.
	Limit   sandbox.Limit
	Verdict sandbox.Verdict
	// Changes are the files the call changed.
	Changes []FileChange
	// Changed is what a command changed, as far as that is known.
	Changed sandbox.Changes
	// Message says in one line what went wrong or was done; may be empty.
	Message string
	// Job is the background command that the call started, typed to, read or
	// ended, 0 for none; Running: it goes on after the call.
	Job     int
	Running bool
	// Spill is the file that holds the whole output; empty if nothing was cut.
	Spill string
}

// FileChange is one file a call changed.
type FileChange struct {
	Path string
	Kind sandbox.ChangeKind
	// From is the former path of a file that was moved.
	From string
	// Diff is unified, bounded to 256 KiB.
	Diff           string
	Added, Removed int
}

// PermissionRequested: a question was put, or answered at once by policy.
type PermissionRequested struct {
	ID, CallID    string
	Title         string
	Command       string
	Folder        string
	Justification string
	Denials       []sandbox.Denial
	Wanted        sandbox.Grant
	// Warnings are one sentence each, about what a yes opens.
	Warnings []string
	Held     bool
}

// PermissionAnswered: the question ID has its answer.
type PermissionAnswered struct {
	ID, CallID string
	Answer     Answer
	Reason     string
	// Hint says, for a refusal, what would allow it next time.
	Hint string
}

// PlanUpdated carries the whole plan.
type PlanUpdated struct {
	Explanation string
	Steps       []PlanStep
}

// Retrying: a request to the model failed and is sent again. Events about its answer
// since RequestStarted are void. Attempt, Most and Left are those of model.Retrying.
type Retrying struct {
	Message       string
	Delay         time.Duration
	Attempt, Most int
	Left          time.Duration
}

// Number names the attempt: "3/5", or "3" where their number is not bounded.
func (e Retrying) Number() string {
	if e.Most > 0 {
		return fmt.Sprintf("%d/%d", e.Attempt, e.Most)
	}
	return strconv.Itoa(e.Attempt)
}

// RequestStarted: the conversation goes to the model.
type RequestStarted struct{}

// UsageUpdated carries the tokens of the last answer and of the session so far.
type UsageUpdated struct {
	Last, Total model.Usage
	// Context is how many tokens the next request will have, as far as
	// is known; Limit is what the model takes; Assumed: as far as anybody knows.
	Context, Limit int
	Assumed        bool
}

// Compacting: the model is asked for a summary, which will stand for most of the
// conversation. Compacted follows.
type Compacting struct{ Reason CompactReason }

// Compacted ends Compacting.
type Compacted struct {
	Reason CompactReason
	// Before and After are the tokens of a request, as far as is known.
	Before, After int
	// Summary is what now stands for the conversation, as the model is given it.
	Summary string
	// Err says why nothing was changed; empty where it was.
	Err string
}

// Notice is a line for the user.
type Notice struct {
	Level Level
	Text  string
}

// BackgroundChanged: so many commands run beside the conversation now.
type BackgroundChanged struct{ Running int }

// BackgroundEnded: a background command ended, and no tool call reports it.
type BackgroundEnded struct {
	Job             int
	Command, Folder string
	// Message says in one line how it ended.
	Message string
	// Killed: codeagent ends, and has ended it.
	Killed   bool
	Exit     int
	Signal   string
	Limit    sandbox.Limit
	Duration time.Duration
	// Output is the end of what it printed and nobody has read, bounded.
	Output  string
	Verdict sandbox.Verdict
	// Changed is what it changed since the last call that reported changes.
	Changed sandbox.Changes
}

// TurnFinished: the turn is over.
type TurnFinished struct {
	Outcome TurnOutcome
	// Err says why a turn failed.
	Err error
	// Answer is the model's last message.
	Answer string
	// Refused lists the permissions that nobody could grant.
	Refused []Refusal
	Usage   model.Usage
}

// Refusal is one permission that was refused because nobody could be asked.
type Refusal struct {
	Title string
	Grant sandbox.Grant
	// Hint is a printable command or setting that would allow it.
	Hint string
}

func (SessionStarted) event()      {}
func (TurnStarted) event()         {}
func (Steered) event()             {}
func (TextDelta) event()           {}
func (ReasoningDelta) event()      {}
func (MessageFinished) event()     {}
func (ReasoningFinished) event()   {}
func (ToolStarted) event()         {}
func (ToolOutput) event()          {}
func (ToolFinished) event()        {}
func (PermissionRequested) event() {}
func (PermissionAnswered) event()  {}
func (PlanUpdated) event()         {}
func (Retrying) event()            {}
func (RequestStarted) event()      {}
func (UsageUpdated) event()        {}
func (Compacting) event()          {}
func (Compacted) event()           {}
func (Notice) event()              {}
func (BackgroundChanged) event()   {}
func (BackgroundEnded) event()     {}
func (TurnFinished) event()        {}

// All returns a zero value of each event: a test feeds them to every renderer.
func All() []Event {
	return []Event{
		SessionStarted{}, TurnStarted{}, Steered{}, TextDelta{}, ReasoningDelta{},
		MessageFinished{}, ReasoningFinished{}, ToolStarted{}, ToolOutput{}, ToolFinished{},
		PermissionRequested{}, PermissionAnswered{}, PlanUpdated{}, Retrying{},
		RequestStarted{}, UsageUpdated{}, Compacting{}, Compacted{}, Notice{}, BackgroundChanged{}, BackgroundEnded{}, TurnFinished{},
	}
}
