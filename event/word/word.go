// Package word holds the typed words of events: the kinds of calls, how calls, questions and
// turns ended, the levels of notices. It imports nothing and performs no IO. Start reading at
// Kind.
package word

// Kind is what a tool call does. Approvals judge by it, and faces choose by it how to show
// the call.
type Kind string

// Kinds of tool calls.
const (
	KindCommand Kind = "command"
	KindEdit    Kind = "edit"
	KindRead    Kind = "read"
	KindPlan    Kind = "plan"
	// KindFetch is a request that codeagent itself sends, to the one host that its wish names.
	// Events report it as KindRead.
	KindFetch Kind = "fetch"
	// KindInput types to a background command.
	KindInput Kind = "input"
	// KindWatch reads background commands, or ends one. Events report it as KindRead.
	KindWatch Kind = "watch"
	// KindServer calls a tool of an MCP server.
	KindServer Kind = "server"
	// KindDelegate starts helpers, which change no file but on drafts of their own.
	KindDelegate Kind = "delegate"
	// KindAsk puts a question of the model to the person.
	KindAsk Kind = "ask"
)

// Harmless reports whether a call changes nothing and reaches nothing, so that it needs no permission
// under any approval policy.
func (k Kind) Harmless() bool {
	return k == KindPlan || k == KindRead || k == KindWatch || k == KindDelegate || k == KindAsk
}

// Shown returns the kind that events report for a call: a fetch and a look at background
// commands count as reading.
func (k Kind) Shown() Kind {
	if k == KindFetch || k == KindWatch {
		return KindRead
	}
	return k
}

// Outcome is how a tool call ended.
type Outcome string

// Outcomes of a tool call.
const (
	OK     Outcome = "ok"
	Failed Outcome = "failed"
	// Refused: the user or the policy refused it.
	Refused     Outcome = "refused"
	Interrupted Outcome = "interrupted"
	TimedOut    Outcome = "timed_out"
	// NotStarted: the command could not be executed or confined. It has no exit status.
	NotStarted Outcome = "not_started"
)

// TurnOutcome is how a turn ended.
type TurnOutcome string

// Outcomes of a turn.
const (
	TurnDone        TurnOutcome = "done"
	TurnInterrupted TurnOutcome = "interrupted"
	// TurnStopped: the user answered a question with stop.
	TurnStopped TurnOutcome = "stopped"
	TurnFailed  TurnOutcome = "failed"
)

// Answer is the answer to a question about a permission.
type Answer string

// Answers to a question.
const (
	AnswerOnce    Answer = "once"
	AnswerSession Answer = "session"
	// AnswerAlways: a rule was saved.
	AnswerAlways  Answer = "always"
	AnswerDenied  Answer = "denied"
	AnswerStopped Answer = "stopped"
	// AnswerRefused: nobody could answer.
	AnswerRefused Answer = "refused"
)

// Granted reports whether the answer was yes.
func (a Answer) Granted() bool { return a == AnswerOnce || a == AnswerSession || a == AnswerAlways }

// saidNo begins the reason of a person's no; their own words come last.
const saidNo = "the user said no"

// Reason is the reason of a person's no with their own words, which may be empty.
func (a Answer) Reason(words string) string {
	reason := saidNo
	if a == AnswerStopped {
		reason += " and stopped the turn"
	}
	if words != "" {
		reason += ": " + words
	}
	return reason
}

// OwnWords returns what a person wrote, from the reason of an answer; own is false for a reason
// that no person wrote. A yes and a stop have the words alone.
func (a Answer) OwnWords(reason string) (words string, own bool) {
	switch no := saidNo + ": "; {
	case a != AnswerDenied && a != AnswerRefused:
		return reason, true
	case reason == saidNo:
		return "", true
	case len(reason) > len(no) && reason[:len(no)] == no:
		return reason[len(no):], true
	}
	return reason, false
}

// StepStatus is the progress of a step.
type StepStatus string

// Statuses of a step.
const (
	StepPending    StepStatus = "pending"
	StepInProgress StepStatus = "in_progress"
	StepCompleted  StepStatus = "completed"
)

// Known reports whether s is one of the statuses.
func (s StepStatus) Known() bool {
	return s == StepPending || s == StepInProgress || s == StepCompleted
}

// Level is the importance of a notice.
type Level string

// Levels of a notice.
const (
	LevelInfo    Level = "info"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// CompactReason is why a conversation is compacted.
type CompactReason string

// Reasons to compact a conversation.
const (
	// CompactAsked: the user asked for it.
	CompactAsked CompactReason = "asked"
	// CompactNear: the conversation nearly fills the model's context.
	CompactNear CompactReason = "near"
	// CompactFull: the provider refused the request as too long.
	CompactFull CompactReason = "full"
)
