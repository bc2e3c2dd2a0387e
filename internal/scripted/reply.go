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
	// Reasoning is streamed before Text, as reasoning_content, or as the summary
	// of a reasoning item, which is Encrypted where that is asked for.
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
	// Interleave streams the fragments of parallel calls in turns instead of
	// one call after the other.
	Interleave bool
	// Chunks, when set, are the JSON objects to stream instead of all of the
	// above: for shapes that no well-behaved server sends. No finish_reason
	// and no usage is added; [DONE] is, on the wire that has it.
	Chunks []string
	// Stop is the finish_reason; empty: "tool_calls" with Calls, else "stop".
	// Over Responses "length" and "content_filter" are an incomplete response,
	// "error" a failed one, all else a completed one.
	Stop string
	// Usage is reported where the request asks for it; the zero value is
	// counted from the lengths of request and answer.
	Usage Usage

	// Piece is the size in bytes of one piece of text or arguments, cut at
	// rune borders; 0: 4 when paced, else 16.
	Piece int
	// Wait passes before the first byte of the answer.
	Wait time.Duration
	// Delay passes before each piece.
	Delay time.Duration
	// TokensPerSecond, when set, replaces Delay, for text alone: one piece is one
	// token. PaceArguments applies it to arguments too.
	TokensPerSecond int
	PaceArguments   bool
	// Before, when set, is called before each event with its JSON: the server waits for
	// its return.
	Before func(event string)

	// KeepAlives is the number of comment lines sent before each event.
	KeepAlives int
	// Framing is how events are written; the zero value is what OpenAI does.
	Framing Framing
	// Fault strikes after the first After events of the stream.
	Fault Fault
	After int

	// Status, when neither 0 nor 200, or Body, when not empty, replaces the
	// whole stream: Body is sent as it is, with Header. The content type is
	// application/json with an error status and text/event-stream else,
	// unless Header names one.
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
	// NoFault: it does not.
	NoFault Fault = iota
	// Truncate ends the stream in good order, but with no finish_reason and
	// no [DONE], or no response.completed.
	Truncate
	// Drop closes the connection in the middle of the stream.
	Drop
	// Reset resets the connection in the middle of the stream.
	Reset
	// Stall sends nothing more and keeps the connection open.
	Stall
	// Comments sends nothing but comments from there on.
	Comments
	// NeverAnswer accepts the request and sends nothing, not even a status.
	NeverAnswer
	// NoDone leaves out [DONE] and ends in good order.
	NoDone
	// NeverEnd sends everything but [DONE] and keeps the connection open.
	NeverEnd
)

// Framing is how events are put on the wire.
type Framing int

const (
	// LF: "data: …", a blank line, all with LF.
	LF Framing = iota
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

// InOrder answers all requests in order, of whatever conversation: for conversations
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
