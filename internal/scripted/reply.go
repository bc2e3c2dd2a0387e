package scripted

import (
	"net/http"
	"sync"
	"time"
)

// Handler chooses the answer to a request. It may be called by several
// goroutines at once.
type Handler func(Request) Reply

// Reply is one answer. The zero Reply is an empty answer that ends with
// finish_reason "stop".
type Reply struct {
	// Reasoning is streamed before Text, as reasoning_content, or as the summary of a reasoning
	// item with Encrypted if the request asks for that.
	Reasoning string
	// Encrypted is that item's encrypted_content; empty: "sealed-N" of request N.
	Encrypted string
	// Phase is the phase of the message with Text (Responses).
	Phase string
	// Text is streamed in pieces.
	Text string
	// Refusal is streamed after Text.
	Refusal string
	// Calls are streamed after the text, arguments in fragments.
	Calls []Call
	// Sources are the annotations of the text: pages that a web search found, as JSON in the shape of Chat.
	Sources []string
	// Interleave streams the fragments of parallel calls in turns instead of
	// one call after the other.
	Interleave bool
	// Chunks, if set, are the JSON objects to stream in place of everything above: for shapes
	// that no well-behaved server sends. No finish_reason and no usage is added; [DONE] is, in
	// the API that has it.
	Chunks []string
	// Stop is the finish_reason; empty: "tool_calls" with Calls, else "stop".
	// Over Responses "length" and "content_filter" become an incomplete response,
	// "error" a failed one, all others a completed one.
	Stop string
	// Usage is reported if the request asks for it; the zero value is computed from the lengths
	// of request and answer.
	Usage Usage

	// Piece is the size in bytes of one piece of text or arguments, cut at
	// rune borders; 0: 4 when paced, else 16.
	Piece int
	// Wait is the pause before the first byte of the answer.
	Wait time.Duration
	// Delay is the pause before each piece.
	Delay time.Duration
	// TokensPerSecond, if set, replaces Delay, for text only: one piece is one token.
	// PaceArguments applies it to arguments too.
	TokensPerSecond int
	PaceArguments   bool
	// Before, if set, is called before each event with its JSON: the server waits for its
	// return.
	Before func(event string)

	// KeepAlives is the number of comment lines sent before each event.
	KeepAlives int
	// Separator is how events are written; the zero value is OpenAI's way.
	Framing Separator
	// Fault strikes after the first After events of the stream.
	Fault Fault
	After int

	// Status, unless 0 or 200, or Body, unless empty, replaces the whole stream: Body is sent
	// unchanged, with Header. The content type is application/json with an error status and
	// text/event-stream otherwise, unless Header sets one.
	Status int
	Header http.Header
	Body   string
}

// Call is a tool call. An empty ID becomes "call_N_M": request N of this
// server, call M of this answer.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Usage counts tokens as the server reports them.
type Usage struct {
	Input, Cached, Output, Reasoning int
}

// Fault is how a stream goes wrong.
type Fault int

const (
	// NoFault: no fault.
	NoFault Fault = iota
	// Truncate ends the stream regularly, but without finish_reason and [DONE], or without
	// response.completed.
	Truncate
	// Drop closes the connection in the middle of the stream.
	Drop
	// Reset resets the connection in the middle of the stream.
	Reset
	// Stall sends nothing more and keeps the connection open.
	Stall
	// Comments sends only comments from there on.
	Comments
	// NeverAnswer accepts the request and sends nothing, not even a status.
	NeverAnswer
	// NoDone leaves out [DONE] and ends regularly.
	NoDone
	// NeverEnd sends everything but [DONE] and keeps the connection open.
	NeverEnd
)

// Separator is how events are separated in the stream.
type Separator int

const (
	// LF: "data: …", a blank line, all with LF.
	LF Separator = iota
	// CRLF ends lines with CR LF.
	CRLF
	// CR ends lines with CR alone.
	CR
	// NoSpace has no space after "data:".
	NoSpace
	// SingleNewline has no blank line between events.
	SingleNewline
	// MultiLine spreads each event over several data lines.
	MultiLine
	// BOM begins the stream with a byte order mark.
	BOM
	// Unended leaves out the newline after the last event; and sends no [DONE].
	Unended
	// Noisy adds id, event and retry fields, comments and unknown fields.
	Noisy
)

// Steps answers the requests of each conversation in order. The first user message
// identifies a conversation. A retried request gets the next step, so
// Steps(Reply{Status: 429}, Reply{Text: "ok"}) is a retry that succeeds. After the last
// step requests get status 400, which no client retries.
func Steps(replies ...Reply) Handler {
	var mu sync.Mutex
	next := map[string]int{}
	return func(r Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		key := r.FirstUser()
		n := next[key]
		if n >= len(replies) {
			return Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"the script has no further step","type":"invalid_request_error","code":"script_ended"}}`}
		}
		next[key] = n + 1
		return replies[n]
	}
}

// InOrder answers all requests in order, whatever their conversation: for conversations
// whose beginning changes. After the last step it does the same as Steps.
func InOrder(replies ...Reply) Handler {
	steps := Steps(replies...)
	return func(r Request) Reply {
		r.Messages = nil // one conversation for all
		return steps(r)
	}
}

// Always gives the same answer to every request.
func Always(reply Reply) Handler {
	return func(Request) Reply { return reply }
}
