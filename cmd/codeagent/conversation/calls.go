package conversation

import (
	"context"
	"sync"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

// calls counts the calls of another program that run now.
type calls struct {
	mu      sync.Mutex
	running int
	noted   bool   // the record says whose calls they are
	title   string // of the first call: the session's, once it has a record; then ""
}

// othersCalls begins the record of a session without a model.
const othersCalls = "[Another program used codeagent's tools. The calls that follow are its own.]"

// Called is the result of a call of another program.
type Called struct {
	// Result is what a model would get.
	Result model.Item
	// Refused are the permissions that the call needed and nobody could grant.
	Refused []event.Refusal
	// Turn is the number of the call in the history of undo; 0: it changed nothing. Calls that
	// run at the same time have one number, and are undone together.
	Turn int
}

// Call runs a tool call of another program. See agent.Agent.Call.
func (ses *Session) Call(ctx context.Context, mc model.ToolCall, title string) (Called, error) {
	ses.calls.begin(ses, title)
	item, refused, err := ses.Agent.Call(ctx, mc)
	out := Called{Result: item, Refused: refused}
	if ses.Undo != nil {
		out.Turn = ses.Undo.Recorded()
	}
	ses.calls.end(ses, item.Failed)
	return out, err
}

// begin begins a turn of undo with the first call.
func (c *calls) begin(ses *Session, title string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running++; c.running > 1 {
		return
	}
	if !c.noted {
		c.noted, c.title = true, title
		ses.Agent.Note(othersCalls)
	}
	if ses.Undo != nil {
		ses.Undo.Begin(title)
	}
}

// end ends the turn with the last call.
func (c *calls) end(ses *Session, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running > 0 {
		return
	}
	if ses.Undo != nil {
		ses.Undo.End()
	}
	if ses.Record == nil {
		return
	}
	if c.title != "" && ses.Record.Log.Rename(c.title) == nil {
		c.title = ""
	}
	outcome := word.TurnDone
	if failed {
		outcome = word.TurnFailed
	}
	_ = ses.Record.Log.EndTurn(string(outcome), model.Usage{}) // a log that failed was reported by the agent
}
