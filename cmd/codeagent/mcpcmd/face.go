package mcpcmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/approvals/plain"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
	"codeagent/mcp/serve"
)

// shown is one call of the client while it runs, and what it reported.
type shown struct {
	call serve.Call
	// direct: the call is a tool call itself, and no turn of an agent.
	direct   bool
	finished event.ToolFinished
	turn     event.TurnFinished
	titles   map[string]string // of questions, by ID
	refused  []refusal
}

// mostRefused bounds the refusals of a result.
const mostRefused = 50

// mostWarnings bounds what is written to stderr, which a client may never read: it fits in a pipe.
const mostWarnings = 100

// face shows a session to an MCP client: events as progress, questions as elicitations. Everything
// belongs to the call that causes it: to a tool call by its ID, or to the turn that runs.
type face struct {
	warn io.Writer

	mu     sync.Mutex
	warned int               // the notices written to warn
	calls  map[string]*shown // by call ID
	turn   *shown
}

// begin makes events and questions belong to s until the function that it returns. id is the ID
// of a tool call, "" for a turn.
func (f *face) begin(id string, s *shown) (end func()) {
	s.titles, s.direct = map[string]string{}, id != ""
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.direct {
		f.calls[id] = s
	} else {
		f.turn = s
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.direct {
			delete(f.calls, id)
		} else {
			f.turn = nil
		}
	}
}

// of returns the call that the tool call with this ID belongs to; nil if the client waits for none.
// mu is held.
func (f *face) of(callID string) *shown {
	if s := f.calls[callID]; s != nil {
		return s
	}
	return f.turn
}

// Emit shows an event.
func (f *face) Emit(e event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := e.(type) {
	case event.ToolStarted:
		f.progress(e.CallID, e.Title)
	case event.ToolOutput:
		f.progress(e.CallID, lastLine(e.Data))
	case event.ToolFinished:
		if s := f.of(e.CallID); s != nil {
			s.finished = e
		}
	case event.PermissionRequested:
		if s := f.of(e.CallID); s != nil && len(s.titles) < mostRefused {
			s.titles[e.ID] = e.Title
		}
	case event.PermissionAnswered:
		if s := f.of(e.CallID); s != nil && !e.Answer.Granted() && len(s.refused) < mostRefused {
			s.refused = append(s.refused, refusal{s.titles[e.ID], e.Reason, e.Hint})
		}
	case event.MessageFinished:
		f.progress("", lastLine([]byte(e.Text)))
	case event.Retrying:
		f.progress("", "retry "+e.Number()+": "+e.Message)
	case event.Compacting:
		f.progress("", "summarizing the conversation")
	case event.TurnFinished:
		if f.turn != nil {
			f.turn.turn = e
		}
	case event.Notice:
		if f.progress("", e.Text); f.turn == nil && f.warned < mostWarnings {
			f.warned++
			fmt.Fprintln(f.warn, "codeagent: "+visible.Line(short.Cut(e.Text, 500)))
		}
	}
}

func (f *face) progress(callID, line string) {
	if s := f.of(callID); s != nil && line != "" {
		s.call.Progress(line)
	}
}

// lastLine returns the last line that is not empty.
func lastLine(text []byte) string {
	all := strings.TrimRight(string(text), " \t\r\n")
	return strings.TrimSpace(all[strings.LastIndexAny(all, "\r\n")+1:])
}

// Ask puts a question to the client of the call that causes it.
func (f *face) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	f.mu.Lock()
	s := f.of(r.CallID)
	f.mu.Unlock()
	if s == nil || !s.call.Asks {
		return approvals.Answer{Decision: approvals.Unattended}, nil
	}
	q := plain.Of(r)
	if s.direct { // there is no turn to stop
		q.Options = slices.DeleteFunc(q.Options, func(o plain.Option) bool { return o.Decision == approvals.Stop })
	}
	out := serve.Question{Message: q.Words()}
	for _, o := range q.Options {
		out.Options = append(out.Options, serve.Option{ID: o.ID, Label: o.Label})
	}
	id, err := s.call.Ask(ctx, out)
	if err != nil || id == "" {
		return approvals.Answer{}, err
	}
	return q.Answer(id), nil
}

// Steer returns nothing: nobody types.
func (f *face) Steer() (agent.Input, bool) { return agent.Input{}, false }

// Inquire puts a question of a server or the model to the client of the call that causes it, with each line of the
// server's marked. Where it cannot go it is declined.
func (f *face) Inquire(ctx context.Context, q inquiry.Question) (inquiry.Reply, error) {
	f.mu.Lock()
	s := f.of(q.CallID)
	f.mu.Unlock()
	decline := func(why string) (inquiry.Reply, error) {
		if q.ByModel() {
			return inquiry.Reply{}, inquiry.ErrNobody
		}
		f.Emit(event.Notice{Level: word.LevelWarning, Text: "declined a question of the MCP server " + short.Cut(q.Server, 64) + ": " + why})
		return inquiry.Reply{Action: inquiry.Declined}, nil
	}
	if s == nil {
		return decline("the client waits for no call")
	}
	passed := q
	passed.Message = q.Marked(" that codeagent uses")
	reply, err := s.call.Inquire(ctx, passed)
	if err != nil && ctx.Err() == nil {
		return decline(err.Error())
	}
	return reply, err
}
