package conversation

import (
	"context"
	"fmt"

	"codeagent/agent"
	"codeagent/event"
	sessions "codeagent/session"
	"codeagent/undo"
)

// openUndo opens the session's history, so that turns can be undone. A store that cannot
// be used costs the undoing and not the session.
func (ses *Session) openUndo() {
	id := sessions.NewID()
	if ses.Record != nil {
		id = ses.Record.Log.ID()
	}
	store := undo.New(ses.Paths.Undo)
	if ses.Undo, ses.noUndo = store.Open(id); ses.noUndo != nil {
		ses.Undo = nil
	}
	go store.Sweep() // nothing waits for it
}

// closeUndo forgets what nobody can come back to.
func (ses *Session) closeUndo() {
	switch {
	case ses.Undo == nil:
	case ses.Record == nil:
		_ = ses.Undo.Discard() // what is left is swept later
	default:
		_ = ses.Undo.Close() // nothing of it is unwritten
	}
}

// Turn delivers a message, the first with the images of -i, and keeps what files
// were before the work on it.
func (ses *Session) Turn(ctx context.Context, in agent.Input) error {
	if ses.Undo != nil {
		ses.Undo.Begin(in.Text)
		defer ses.Undo.End()
	}
	return ses.Agent.Turn(ctx, ses.withImages(in))
}

// reportUndo reports why no turn can be undone, where that is so.
func (ses *Session) reportUndo(emit func(event.Event)) {
	if ses.noUndo != nil {
		emit(event.Notice{Level: event.LevelWarning, Text: fmt.Sprintf("turns cannot be undone: %v", ses.noUndo)})
	}
}
