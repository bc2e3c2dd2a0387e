package event

// Kind says what a tool call does. Approvals judge by it, and faces choose by it how to
// show the call.
type Kind string

// Kinds of tool calls.
const (
	KindCommand Kind = "command"
	KindEdit    Kind = "edit"
	KindRead    Kind = "read"
	KindPlan    Kind = "plan"
	// KindFetch is a request that codeagent itself sends to the one host that its wish
	// names. Events say KindRead.
	KindFetch Kind = "fetch"
	// KindInput types to a background command.
	KindInput Kind = "input"
	// KindWatch looks at background commands, or ends one. Events say KindRead.
	KindWatch Kind = "watch"
)

// Shown is the kind of the events about a call: a fetch is a way of reading, and so is
// a look at background commands.
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
	// Refused: the user or the policy said no.
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

// Answer is how a question about a permission ended.
type Answer string

// Answers to a question.
const (
	AnswerOnce    Answer = "once"
	AnswerSession Answer = "session"
	AnswerDenied  Answer = "denied"
	AnswerStopped Answer = "stopped"
	// AnswerRefused: nobody could answer.
	AnswerRefused Answer = "refused"
)

// Granted reports whether the answer was a yes.
func (a Answer) Granted() bool { return a == AnswerOnce || a == AnswerSession }

// PlanStep is one step of the model's plan. The tags describe it to the model: the
// schema of update_plan is made from them.
type PlanStep struct {
	Step   string     `json:"step" jsonschema:"What is done, in a few words."`
	Status StepStatus `json:"status" jsonschema:"How far the step is."`
}

// StepStatus says how far a step is.
type StepStatus string

// Statuses of a step.
const (
	StepPending    StepStatus = "pending"
	StepInProgress StepStatus = "in_progress"
	StepCompleted  StepStatus = "completed"
)

// StepStatuses lists every StepStatus, in the order in which a step takes them.
func StepStatuses() []StepStatus { return []StepStatus{StepPending, StepInProgress, StepCompleted} }

// Level says how much a notice matters.
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
	// CompactNear: the conversation comes near to what the model takes.
	CompactNear CompactReason = "near"
	// CompactFull: the provider refused it as too long.
	CompactFull CompactReason = "full"
)
