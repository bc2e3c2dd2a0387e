package conversation

import (
	"context"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tools"
)

// front is the face as the session sees it: each event goes to the log, the collector and the record
// before it is shown, and a message brings along what it names.
type front struct {
	Face
	ses   *Session
	known map[string]time.Time // see leftNow
}

// Emit shows a finished turn only when it is on disk, and what it left in /tmp before its end.
func (f *front) Emit(e event.Event) {
	done, over := e.(event.TurnFinished)
	if over {
		if left := leftNow(f.ses, f.known); len(left) > 0 {
			f.Emit(noticeOf(f.ses, left))
		}
		f.ses.keepLearned()
	}
	if used, ok := e.(event.UsageUpdated); ok && f.ses.Record != nil {
		f.ses.Record.Log.SetTotal(used.Total)
	}
	for _, observe := range f.ses.observers {
		observe(e)
	}
	if over && f.ses.Record != nil {
		_ = f.ses.Record.Log.Asks(f.ses.Asked().Kept()) // without the window a later run assumes one
		if err := f.ses.Record.Log.EndTurn(string(done.Outcome), done.Usage); err != nil {
			f.Face.Emit(event.Notice{Level: word.LevelError, Text: "cannot save the conversation: " + err.Error()})
		}
	}
	f.Face.Emit(e)
}

// Ask asks the person, who sees what an edit would change.
func (f *front) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	if ws := f.ses.Workspace; ws.Runner != nil && f.ses.Options.Attended {
		r.Changes = tools.Preview(ctx, ws.Runner, ws.Files, f.ses.Gate.Base(), r.Action)
	}
	return f.Face.Ask(ctx, r)
}

// Steer returns the next message with what it names. The turn, which calls it, waits for the reading;
// its end ends that.
func (f *front) Steer() (agent.Input, bool) {
	in, ok := f.Face.Steer()
	if ok {
		in = mentioned(f.ses.during, f.ses, in)
	}
	return in, ok
}
