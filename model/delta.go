package model

import "time"

// Delta is one piece of a streamed answer: TextDelta, ReasoningDelta, Sealed,
// CallStarted, CallDelta, CallDone, Retrying, Unseen or Finished.
type Delta interface{ delta() }

// TextDelta is more of the answer's text.
type TextDelta struct{ Text string }

// ReasoningDelta is more of the model's thinking.
type ReasoningDelta struct{ Text string }

// Sealed ends the run of text (Assistant) or thinking (Reasoning) before it;
// where there was none and Opaque is set it is a run without text. Opaque is
// kept with the item. Wires that do not tell where a run ends do not send it.
type Sealed struct {
	Kind   Kind
	Opaque *Opaque
}

// CallStarted says that a tool call has begun; its arguments follow. ID is
// unique within the conversation also where the provider sends none.
type CallStarted struct{ ID, Name string }

// CallDelta is more of the raw arguments of the call ID.
type CallDelta struct{ ID, Arguments string }

// CallDone is a complete call, sent as soon as nothing that may still come can
// change it: it may run while the answer goes on. Empty arguments have become
// "{}". Opaque is kept with its item; nil without.
type CallDone struct {
	Call   ToolCall
	Opaque *Opaque
}

// Retrying says that the request failed, is sent again after Delay, and that
// everything yielded for it before is void.
type Retrying struct {
	Err     error
	Delay   time.Duration
	Attempt int // of the attempt that will follow, from 2
	Most    int // attempts allowed in all; 0: as many as there is time for
	// Left is how long the request will be tried again after that; 0: not known.
	Left time.Duration
}

// Unseen says that the provider refused the images of the request, which is sent
// again at once with words in their place; Err is what it said.
type Unseen struct {
	Err error
	// Blind: the model sees no images at all, as far as can be told; else it was
	// something about these.
	Blind bool
}

// Finished is the last delta of an answer that came to its end.
type Finished struct {
	Reason StopReason
	Usage  Usage
}

// StopReason is why the model stopped.
type StopReason string

const (
	// StopEnd: it had said what it wanted to say.
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
func (Finished) delta()       {}
