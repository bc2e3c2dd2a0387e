package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// commentPause is the interval of the comments of Comments.
const commentPause = 20 * time.Millisecond

// answer plays one Reply: events() makes the JSON of each event in order,
// play() writes them with their framing, pace and faults.
type answer struct {
	w     http.ResponseWriter
	ctx   context.Context // done when the client is gone or the server closes
	req   Request
	reply Reply
	delay time.Duration
	due   time.Time // when the last piece was, at TokensPerSecond
	piece int
	head  string // of every chunk, up to its delta
}

func newAnswer(w http.ResponseWriter, ctx context.Context, req Request, reply Reply) *answer {
	a := &answer{w: w, ctx: ctx, req: req, reply: reply, delay: reply.Delay, piece: reply.Piece}
	if reply.TokensPerSecond > 0 {
		a.delay = time.Second / time.Duration(reply.TokensPerSecond)
	}
	if a.piece <= 0 {
		a.piece = 16
		if a.delay > 0 {
			a.piece = 4
		}
	}
	a.head = fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1700000000,"model":%s,"choices":[{"index":0,"delta":`, req.N, quote(req.Model))
	return a
}

func (a *answer) play() {
	if a.reply.Fault == NeverAnswer {
		<-a.ctx.Done()
		return
	}
	if !a.sleep(a.reply.Wait) {
		return
	}
	status, contentType := cmp.Or(a.reply.Status, http.StatusOK), "text/event-stream"
	if status != http.StatusOK {
		contentType = "application/json"
	}
	h := a.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	maps.Copy(h, a.reply.Header)
	a.w.WriteHeader(status)
	if status != http.StatusOK || a.reply.Body != "" {
		_, _ = io.WriteString(a.w, a.reply.Body)
		return
	}
	if a.reply.Framing == BOM {
		_, _ = io.WriteString(a.w, "\uFEFF")
	}
	sent := 0
	for event, paced := range a.events() {
		if a.strikes(sent) {
			break
		}
		if a.reply.Before != nil {
			if !a.flush() {
				return
			}
			a.reply.Before(event)
		}
		if paced && !a.sleep(a.pause()) || !a.send(a.frame(event, sent)) {
			return
		}
		if a.delay > 0 && !a.flush() {
			return
		}
		sent++
	}
	a.finish(sent)
}

// finish ends the stream after sent events, as the script says.
func (a *answer) finish(sent int) {
	if a.reply.Fault == NoFault && a.reply.Framing != Unended && a.req.Wire == Chat {
		a.send(a.frame("[DONE]", sent))
	}
	if !a.flush() {
		return
	}
	switch a.reply.Fault {
	case Comments:
		for a.sleep(commentPause) && a.send(": keep-alive\n\n") && a.flush() {
		}
		panic(http.ErrAbortHandler)
	case Stall, NeverEnd:
		<-a.ctx.Done()
		panic(http.ErrAbortHandler) // so that it cannot look like a regular end
	case Drop:
		panic(http.ErrAbortHandler) // net/http then closes the connection without the last chunk
	case Reset:
		conn, _, err := http.NewResponseController(a.w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// strikes reports whether the fault comes after sent events.
func (a *answer) strikes(sent int) bool {
	switch a.reply.Fault {
	case Truncate, Drop, Reset, Stall, Comments:
		return sent >= a.reply.After
	}
	return false
}

// pause returns the wait before the next paced piece. The rate is kept over all pieces, even if
// a sleep takes longer than requested.
func (a *answer) pause() time.Duration {
	if a.reply.TokensPerSecond == 0 {
		return a.delay
	}
	if a.due.IsZero() {
		a.due = time.Now()
	}
	a.due = a.due.Add(a.delay)
	return time.Until(a.due)
}

// sleep waits for d; it returns false when the answer must end.
func (a *answer) sleep(d time.Duration) bool {
	if d <= 0 {
		return a.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.ctx.Done():
		return false
	}
}

func (a *answer) send(s string) bool {
	if a.ctx.Err() != nil {
		return false
	}
	_, err := io.WriteString(a.w, s)
	return err == nil
}

func (a *answer) flush() bool {
	return a.ctx.Err() == nil && http.NewResponseController(a.w).Flush() == nil
}

// frame formats the data of event number n.
func (a *answer) frame(data string, n int) string {
	comments := strings.Repeat(": keep-alive\n\n", a.reply.KeepAlives)
	if name := eventName(data); a.reply.Framing == LF && name != "" {
		return comments + "event: " + name + "\ndata: " + data + "\n\n"
	}
	switch a.reply.Framing {
	case CRLF:
		return strings.ReplaceAll(comments, "\n", "\r\n") + "data: " + data + "\r\n\r\n"
	case CR:
		return strings.ReplaceAll(comments, "\n", "\r") + "data: " + data + "\r\r"
	case NoSpace:
		return comments + "data:" + data + "\n\n"
	case SingleNewline:
		return comments + "data: " + data + "\n"
	case MultiLine:
		// Outside strings, a line break is white space in JSON.
		return comments + "data: " + strings.Replace(data, "{", "{\ndata: ", 1) + "\n\n"
	case Noisy:
		return comments + fmt.Sprintf(":\nid: %d\nevent: message\nretry: 10\nnonsense\ndata: %s\nfield: x\n\n", a.req.N, data)
	case Unended: // the newlines come before each event, so the last has none
		if n == 0 {
			return comments + "data: " + data
		}
		return "\n\n" + comments + "data: " + data
	}
	return comments + "data: " + data + "\n\n"
}

// eventName returns the type of an event whose first member is its type; chunks of Chat have
// none.
func eventName(data string) string {
	rest, ok := strings.CutPrefix(data, `{"type":"`)
	name, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		return ""
	}
	return name
}

// events yields the JSON of each event, and whether the pace applies to it.
func (a *answer) events() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		gone := false
		send := func(event string, paced bool) { gone = gone || !yield(event, paced) }
		switch {
		case a.reply.Chunks != nil:
			for _, c := range a.reply.Chunks {
				send(c, true)
			}
		case a.req.Wire == Responses:
			(&responder{answer: a, send: send}).respond()
		default:
			a.chat(send)
		}
	}
}

// chat sends the chunks of an answer over Chat.
func (a *answer) chat(send func(event string, paced bool)) {
	send(a.chunk(`{"role":"assistant","content":""}`, "null"), false)
	for _, part := range []struct{ field, text string }{
		{"reasoning_content", a.reply.Reasoning}, {"content", a.reply.Text}, {"refusal", a.reply.Refusal},
	} {
		for p := range pieces(part.text, a.piece) {
			send(a.chunk(`{"`+part.field+`":`+quote(p)+`}`, "null"), true)
		}
	}
	for _, s := range a.reply.Sources {
		send(a.chunk(`{"annotations":[{"type":"url_citation","url_citation":`+s+`}]}`, "null"), false)
	}
	for _, s := range a.callSteps() {
		delta := fmt.Sprintf(`{"index":%d,"function":{"arguments":%s}}`, s.index, quote(s.fragment))
		switch s.kind {
		case callBegins:
			delta = fmt.Sprintf(`{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}`, s.index, quote(s.call.ID), quote(s.call.Name))
		case callEnds:
			continue
		}
		send(a.chunk(`{"tool_calls":[`+delta+`]}`, "null"), a.pacesArguments(s.kind == callBegins))
	}
	stop := "stop"
	if len(a.reply.Calls) > 0 {
		stop = "tool_calls"
	}
	send(a.chunk(`{}`, quote(cmp.Or(a.reply.Stop, stop))), false)
	if a.req.WantsUsage {
		send(a.usage(), false)
	}
}

// pacesArguments reports whether the pace applies to a piece of a call, or to its head.
func (a *answer) pacesArguments(head bool) bool {
	return a.reply.TokensPerSecond == 0 || a.reply.PaceArguments && !head
}

// callStep is one step in streaming the calls of a reply.
type callStep struct {
	kind     stepKind
	index    int // of the call in the reply
	call     Call
	fragment string // of the arguments, with callGrows
}

type stepKind int

const (
	callBegins stepKind = iota
	callGrows
	callEnds
)

// callSteps returns the steps of all calls: one call after the other, or interleaved.
func (a *answer) callSteps() (steps []callStep) {
	step := func(kind stepKind, i int, fragment string) {
		c := a.reply.Calls[i]
		c.ID = cmp.Or(c.ID, fmt.Sprintf("call_%d_%d", a.req.N, i))
		steps = append(steps, callStep{kind, i, c, fragment})
	}
	var waiting [][]string // the fragments of each call, if interleaved
	for i, c := range a.reply.Calls {
		fragments := slices.Collect(pieces(c.Arguments, a.piece))
		step(callBegins, i, "")
		if a.reply.Interleave {
			waiting = append(waiting, fragments)
			continue
		}
		for _, f := range fragments {
			step(callGrows, i, f)
		}
		step(callEnds, i, "")
	}
	for round, left := 0, true; left; round++ {
		left = false
		for i, fragments := range waiting {
			if round < len(fragments) {
				left = true
				step(callGrows, i, fragments[round])
			}
		}
	}
	for i := range waiting {
		step(callEnds, i, "")
	}
	return steps
}

func (a *answer) chunk(delta, finish string) string {
	return a.head + delta + `,"finish_reason":` + finish + `}]}`
}

// usage returns the chunk for stream_options.include_usage.
func (a *answer) usage() string {
	u := a.counted()
	return fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1700000000,"model":%s,"choices":[],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}}`,
		a.req.N, quote(a.req.Model), u.Input, u.Output, u.Input+u.Output, u.Cached, u.Reasoning)
}

// counted returns the usage of the reply, or one computed from lengths.
func (a *answer) counted() Usage {
	if a.reply.Usage != (Usage{}) {
		return a.reply.Usage
	}
	out := len(a.reply.Text) + len(a.reply.Reasoning) + len(a.reply.Refusal)
	for _, c := range a.reply.Calls {
		out += len(c.Name) + len(c.Arguments)
	}
	return Usage{Input: (len(a.req.Body) + 3) / 4, Output: (out + 3) / 4, Reasoning: (len(a.reply.Reasoning) + 3) / 4}
}

// pieces cuts s into pieces of about n bytes at rune borders.
func pieces(s string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(s) > 0 {
			end := min(n, len(s))
			for end < len(s) && !utf8.RuneStart(s[end]) {
				end++
			}
			if !yield(s[:end]) {
				return
			}
			s = s[end:]
		}
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return `""`
	}
	return string(b)
}
