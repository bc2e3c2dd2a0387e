// Package event holds everything that the agent reports while it works: a sealed set of
// small structs, and the names of kinds, outcomes and answers that rooms share. It may
// import the types of sandbox and model, and performs no IO. Start reading at Event. Each
// renderer (tui, headless, exec --json) handles every event, which All and a test in each
// room check.
package event

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
)

// Event is one of the structs of this file.
type Event interface{ event() }

// SessionStarted comes before the first turn. It is sent again, with the same ID, when the
// model's name becomes known or another model is chosen.
type SessionStarted struct {
	ID, Model, Folder string
	// Policy names the sandbox preset, Approval the approval policy.
	Policy, Approval string
	Enforcement      sandbox.Enforcement
	// Window is the model's context in tokens. Assumed: it is not known, and this is a common
	// size.
	Window  int64
	Assumed bool
	// KeyFrom says where the model's key comes from; "": it has none.
	KeyFrom string
	// Uncounted: the record does not say what earlier runs used, so totals begin with this one.
	Uncounted bool
	// Tour: the built-in scripted model answers.
	Tour bool
}

// TurnStarted: a message of the user is sent to the model.
type TurnStarted struct {
	Text string
	// Images names each image of the message.
	Images []string
}

// Steered: a message typed while the model worked was delivered.
type Steered struct {
	Text string
	// Images names each image of the message.
	Images []string
}

// TextDelta is the next piece of the model's answer.
type TextDelta struct{ Text string }

// ReasoningDelta is the next piece of the model's thinking.
type ReasoningDelta struct{ Text string }

// MessageFinished ends a run of TextDeltas and has the whole text.
type MessageFinished struct{ Text string }

// EarlierAnswer: the text before it is the answer that an earlier session got to this first message, or to one that asks the
// same. No model was asked.
type EarlierAnswer struct {
	At time.Time
	// Score says how near the messages are, 1 for the same text. Files counts the files that were read then, unchanged since.
	Score float64
	Files int
}

// Rounded is the score as it is shown: less than 1 for another text.
func (e EarlierAnswer) Rounded() float64 { return math.Floor(e.Score*100) / 100 }

// Line is e in words.
func (e EarlierAnswer) Line() string {
	files := "files"
	if e.Files == 1 {
		files = "file"
	}
	return fmt.Sprintf("answered from %s, score %.2f, %d %s unchanged", e.At.Local().Format("15:04"), e.Rounded(), e.Files, files)
}

// Searched: the provider searched the web itself, for the text before it.
type Searched struct{ model.Search }

// Lines are the search as text: what was searched for, and a line for each source with its title, its host and
// its URL.
func (e Searched) Lines() []string {
	head := "the provider searched the web"
	if e.Query != "" {
		head += ": " + strconv.Quote(e.Query)
	}
	out := []string{head}
	for _, s := range e.Sources {
		line := s.URL
		if u, err := url.Parse(s.URL); err == nil {
			line = strings.TrimSpace(s.Title+" ("+u.Hostname()+")") + " " + line
		}
		out = append(out, line)
	}
	return out
}

// ReasoningFinished ends a run of ReasoningDeltas and has the whole text.
type ReasoningFinished struct{ Text string }

// ToolStarted: a call was planned; the decision about it follows.
type ToolStarted struct {
	CallID, Tool string
	// Kind is word.KindCommand, KindEdit, KindRead, KindPlan, KindInput, KindServer or KindDelegate.
	Kind word.Kind
	// Title describes the call in one line ("$ npm test", "edit main.go").
	Title string
	// Command is the whole command text for KindCommand.
	Command string
	Folder  string
	// Server is set for KindServer.
	Server *ServerCall
	// Paths are the files that the call names, absolute.
	Paths []string
	// Own: the person runs the command, to see what it prints.
	Own bool
	// Backend is where a rule runs the command; "" is the backend of the session.
	Backend string
}

// ServerCall is a call of a tool of an MCP server. Tool is the server's own name for it, and
// Arguments is the JSON of the call.
type ServerCall struct{ Server, Tool, Arguments string }

// ToolOutput is output of a running call. Parts may be missing: Skipped counts the bytes
// between the end of the last piece and Offset.
type ToolOutput struct {
	CallID string
	// Stream is "stdout" or "stderr", of which Offset and Skipped are then, or "": the order in which both printed it.
	Stream  string
	Offset  int64
	Data    []byte
	Skipped int64
}

// ToolFinished: a call ended, in whatever way. A session stores it as JSON, without the fields that it can
// take from the stored call or its result.
type ToolFinished struct {
	CallID, Tool string       `json:"-"`
	Kind         word.Kind    `json:",omitzero"`
	Title        string       `json:",omitzero"`
	Outcome      word.Outcome `json:",omitzero"`
	// Exit and Signal are set for commands that ran; a failed call with neither did not run.
	Exit   int    `json:",omitzero"`
	Signal string `json:",omitzero"`
	// Output is the part of the command's output that the model received.
	Output   string        `json:",omitzero"`
	Duration time.Duration `json:",omitzero"`
	// Limit is the limit that a command reached, or "".
	Limit   sandbox.Limit   `json:",omitzero"`
	Verdict sandbox.Verdict `json:",omitzero"`
	// Changes are the files that the call changed.
	Changes []FileChange `json:",omitempty"`
	// Changed is what a command changed, as far as that is known.
	Changed sandbox.Changes `json:",omitzero"`
	// Diagnostics are errors that language servers found in files that this or an earlier call changed.
	Diagnostics []Diagnostics `json:",omitempty"`
	// Structured is the structured content that an MCP server answered, as JSON, or "".
	Structured string `json:"-"`
	// Message says in one line what was done or failed; may be empty.
	Message string `json:",omitzero"`
	// Job is the background command that the call started, typed to, read or ended, 0 for
	// none. Running: it still runs after the call.
	Job     int  `json:",omitzero"`
	Running bool `json:",omitzero"`
	// Spill is the file that holds the whole output; empty if nothing was cut.
	Spill string `json:",omitzero"`
	// Helpers are the helpers of a call of delegate, in their order.
	Helpers []HelperEnd `json:",omitempty"`
}

// HelperEvent is an event of a helper's own turn, which a call of delegate started: its calls, its
// questions, its tokens. It has no deltas of texts: MessageFinished has the whole. The IDs of calls in it
// are unique in the session.
type HelperEvent struct {
	// CallID is the call of delegate. Number counts the helpers of that call from 1.
	CallID string
	Number int
	// Kind is what kind of helper it is ("review").
	Kind  string
	Event Event
}

// Name names the helper for a person: "helper 2 (review)".
func (e HelperEvent) Name() string { return HelperName(e.Number, e.Kind) }

// HelperName names helper n of a call, counted from 1.
func HelperName(n int, kind string) string { return fmt.Sprintf("helper %d (%s)", n, kind) }

// HelperEnd is how a helper ended.
type HelperEnd struct {
	Kind, Task string
	Outcome    word.TurnOutcome
	// Tokens counts input and output, Calls the tool calls.
	Tokens, Calls int
	Duration      time.Duration
	// Draft is the ID of the draft that has its changes, or "".
	Draft string `json:",omitempty"`
}

// Diagnostics are the errors that one language server found. Its texts are bounded, in one line each and
// harmless.
type Diagnostics struct {
	// Title says how many there are and who found them: "2 new errors (gopls)".
	Title string `json:"title"`
	// Lines has an error each: "main.go:3:2: error: undefined: x".
	Lines []string `json:"lines,omitempty"`
}

// FileChange is one changed file.
type FileChange struct {
	Path string
	Kind sandbox.ChangeKind
	// From is the former path of a file that was moved.
	From string `json:",omitzero"`
	// Diff is unified, bounded to 256 KiB.
	Diff           string `json:",omitzero"`
	Added, Removed int    `json:",omitzero"`
	// Before and After are the whole texts of a file up to 256 KiB. Before is nil for a new file,
	// After for a deleted one; both are nil for a binary or longer file.
	Before, After *string `json:"-"`
}

// PermissionRequested: a question was asked, or answered at once by policy. A session stores as JSON only
// the fields that identify it.
type PermissionRequested struct {
	ID            string
	CallID        string           `json:"-"`
	Title         string           `json:",omitzero"`
	Command       string           `json:"-"`
	Folder        string           `json:"-"`
	Justification string           `json:"-"`
	Denials       []sandbox.Denial `json:"-"`
	Wanted        sandbox.Grant    `json:",omitzero"`
	// Warnings are sentences about what a yes allows.
	Warnings []string `json:"-"`
	// Facts are known facts about the request.
	Facts []string `json:"-"`
	Held  bool     `json:",omitzero"`
}

// PermissionAnswered: the question with this ID was answered.
type PermissionAnswered struct {
	ID     string
	CallID string      `json:"-"`
	Answer word.Answer `json:",omitzero"`
	Reason string      `json:",omitzero"`
	// Hint says what would allow a refused action next time.
	Hint string `json:",omitzero"`
	// Unsaved says why the rule of an answer could not be saved. Answer is what the answer counted as
	// instead.
	Unsaved string `json:",omitzero"`
}

// PlanUpdated has the whole plan.
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

// RequestStarted: the conversation is sent to the model.
type RequestStarted struct{}

// UsageUpdated has the token counts of the last answer and of the session so far.
type UsageUpdated struct {
	Last, Total model.Usage
	// Context is the number of tokens of the next request, as far as it is known. Limit is
	// the model's context; Assumed: it is not known, and this is a common size.
	Context, Limit int
	Assumed        bool
}

// Compacting: the model is asked for a summary that will replace most of the conversation.
// Compacted follows.
type Compacting struct{ Reason word.CompactReason }

// Compacted ends Compacting.
type Compacted struct {
	Reason word.CompactReason
	// Before and After are the tokens of a request, as far as they are known.
	Before, After int
	// Summary is the text that replaces the conversation for the model.
	Summary string
	// Err says why nothing was changed; empty on success.
	Err string
}

// Notice is a line for the user.
type Notice struct {
	Level word.Level
	Text  string
}

// BackgroundChanged: the number of running background commands has changed, or the addresses at which
// the person reaches their ports ("http://127.73.21.4:5173").
type BackgroundChanged struct {
	Running int
	Ports   []string
}

// BackgroundEnded: a background command ended, and no tool call reports it.
type BackgroundEnded struct {
	Job             int
	Command, Folder string
	// Message says in one line how it ended.
	Message string
	// Killed: codeagent has ended it because codeagent itself ends.
	Killed   bool
	Exit     int
	Signal   string
	Limit    sandbox.Limit
	Duration time.Duration
	// Output is the last unread output, bounded.
	Output  string
	Verdict sandbox.Verdict
	// Changed is what it changed since the last call that reported changes.
	Changed sandbox.Changes
}

// TurnFinished: the turn is over.
type TurnFinished struct {
	Outcome word.TurnOutcome
	// Err says why a turn failed.
	Err error
	// Answer is the model's last message.
	Answer string
	// Refused lists the permissions that nobody could grant.
	Refused []Refusal
	Usage   model.Usage
	Ahead   Ahead
}

// Ahead is what ran in a turn before the model called for it. Hits count the runs whose result was used, Misses the
// others. Hidden is the time that this saved, less than 0 if calls waited in vain; Wasted is how long the misses ran.
type Ahead struct {
	Hits, Misses   int
	Hidden, Wasted time.Duration
}

// PlanStep is one step of the model's plan. Its tags describe it to the model: they become
// the schema of update_plan.
type PlanStep struct {
	Step   string          `json:"step" jsonschema:"What is done, in a few words."`
	Status word.StepStatus `json:"status" jsonschema:"How far the step is."`
}

// Finding is one finding of a review.
type Finding struct {
	File string
	// Line is a line of the new version of the file; 0: the whole file, or a line that is gone.
	Line int
	// Severity is critical, high, medium or low.
	Severity string
	Message  string
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
func (EarlierAnswer) event()       {}
func (Searched) event()            {}
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
func (HelperEvent) event()         {}

// All returns a zero value of each event: a test feeds them to every renderer.
func All() []Event {
	return []Event{
		SessionStarted{}, TurnStarted{}, Steered{}, TextDelta{}, ReasoningDelta{},
		MessageFinished{}, EarlierAnswer{}, Searched{}, ReasoningFinished{}, ToolStarted{}, ToolOutput{}, ToolFinished{},
		PermissionRequested{}, PermissionAnswered{}, PlanUpdated{}, Retrying{},
		RequestStarted{}, UsageUpdated{}, Compacting{}, Compacted{}, Notice{}, BackgroundChanged{}, BackgroundEnded{}, TurnFinished{},
		HelperEvent{Event: RequestStarted{}},
	}
}
