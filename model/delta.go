package model

import "time"

// Delta is one piece of a streamed answer: TextDelta, ReasoningDelta, Sealed,
// CallStarted, CallDelta, CallDone, Retrying, Unseen, Unsearched, Searched or Finished.
type Delta interface{ delta() }

// TextDelta is more of the answer's text.
type TextDelta struct{ Text string }

// ReasoningDelta is more of the model's thinking.
type ReasoningDelta struct{ Text string }

// Sealed ends the run of text (Assistant) or thinking (Reasoning) before it. If there was
// none and Opaque is set, it is a run without text. Opaque is stored with the item. APIs
// that do not show where a run ends do not send it.
type Sealed struct {
	Kind   Kind
	Opaque *Opaque
}

// CallStarted begins a tool call; its arguments follow. ID is unique within the
// conversation, also if the provider sends none.
type CallStarted struct{ ID, Name string }

// CallDelta is more of the raw arguments of the call ID.
type CallDelta struct{ ID, Arguments string }

// CallDone is a complete call, sent as soon as it is final: it may run while the answer is
// still being streamed. Empty arguments have become "{}". Opaque is stored with its item, or
// nil.
type CallDone struct {
	Call   ToolCall
	Opaque *Opaque
}

// Retrying says that the request failed and is sent again after Delay. Everything yielded
// for it before is void.
type Retrying struct {
	Err     error
	Delay   time.Duration
	Attempt int // number of the next attempt, from 2
	Most    int // attempts allowed in all; 0: limited by time only
	// Left is how long retries continue after that; 0: not known.
	Left time.Duration
}

// Unseen says that the provider refused the images of the request, which is sent again at
// once with words in their place; Err is the refusal.
type Unseen struct {
	Err error
	// Blind: the model accepts no images at all, as far as the refusal shows; otherwise the
	// refusal was about these images.
	Blind bool
}

// Unsearched says that the provider refused to search the web, and is not asked for it again; Err is the
// refusal. The request is sent again at once.
type Unsearched struct{ Err error }

// Searched is more of what the provider's web search did for the answer.
type Searched struct{ Search }

// Finished is the last delta of a complete answer.
type Finished struct {
	Reason StopReason
	Usage  Usage
	// Window is the model's context in tokens by the provider's list of models; 0: not known.
	Window int
}

// StopReason is why the model stopped.
type StopReason string

const (
	// StopEnd: the answer is complete.
	StopEnd StopReason = "stop"
	// StopCalls: it waits for the results of its tool calls.
	StopCalls StopReason = "tool_calls"
	// StopLength: the output limit cut it off.
	StopLength StopReason = "length"
	// StopFilter: the provider's content filter cut it off.
	StopFilter StopReason = "content_filter"
)

func (TextDelta) delta()      {}
func (ReasoningDelta) delta() {}
func (Sealed) delta()         {}
func (CallStarted) delta()    {}
func (CallDelta) delta()      {}
func (CallDone) delta()       {}
func (Retrying) delta()       {}
func (Unseen) delta()         {}
func (Unsearched) delta()     {}
func (Searched) delta()       {}
func (Finished) delta()       {}
