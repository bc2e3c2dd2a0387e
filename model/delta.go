package model

import "time"

// Delta is one piece of a streamed answer: TextDelta, ReasoningDelta, Sealed,
// CallStarted, CallDelta, CallDone, Retrying, Unseen, Unsearched, Searched or Finished.
type Delta interface{ delta() }

// TextDelta is more of the answer's text.
type TextDelta struct{ Text string }

// ReasoningDelta is more of the model's thinking.
type ReasoningDelta struct{ Text string }

// Sealed ends the text (Kind Assistant) or the thinking (Kind Reasoning) that came before it. If
// nothing came and Opaque is set, the item has no text. Opaque is stored with the item. An API
// that does not show where a text ends sends no Sealed.
type Sealed struct {
	Kind   Kind
	Opaque *Opaque
}

// CallStarted begins a tool call; its arguments follow. ID is unique within the
// conversation, even if the provider sends none.
type CallStarted struct{ ID, Name string }

// CallDelta is more of the raw arguments of the call with this ID.
type CallDelta struct{ ID, Arguments string }

// CallDone is a complete call, sent as soon as it is final: it may run while the answer is
// still being streamed. Empty arguments are sent as "{}". Opaque is stored with the item; it may
// be nil.
type CallDone struct {
	Call   ToolCall
	Opaque *Opaque
}

// Retrying says that the request failed and is sent again after Delay. All deltas that came
// before it are void.
type Retrying struct {
	Err     error
	Delay   time.Duration
	Attempt int // number of the next attempt, from 2
	Most    int // attempts allowed in all; 0: limited by time only
	// Left is how long retries may continue after the next attempt; 0: not known.
	Left time.Duration
}

// Unseen says that the provider refused the images of the request. The request is sent again at
// once, with text in place of the images. Err is the refusal.
type Unseen struct {
	Err error
	// Blind: by the refusal, the model accepts no images at all. Otherwise only these images were
	// refused.
	Blind bool
}

// Unsearched says that the provider refused to search the web. The request is sent again at once
// without a search, and so are later ones. Err is the refusal.
type Unsearched struct{ Err error }

// Searched is a further step of the provider's web search for the answer.
type Searched struct{ Search }

// Finished is the last delta of a complete answer.
type Finished struct {
	Reason StopReason
	Usage  Usage
	// Window is the model's context in tokens, as the provider's list of models states it; 0: not
	// known.
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
