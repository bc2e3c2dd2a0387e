package conversation

import (
	"context"
	"fmt"

	"codeagent/agent"
	"codeagent/event"
	"codeagent/event/word"
	sessions "codeagent/session"
	"codeagent/undo"
)

// openUndo opens the session's history, so that turns can be undone. If the store cannot be
// used, the session runs without undo.
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

// closeUndo discards a history that cannot be used any more.
func (ses *Session) closeUndo() {
	switch {
	case ses.Undo == nil:
	case ses.Record == nil:
		_ = ses.Undo.Discard() // what is left is swept later
	default:
		_ = ses.Undo.Close() // everything has been written
	}
}

// Turn delivers a message, the first with the images of -i, and starts a turn in the undo
// history.
func (ses *Session) Turn(ctx context.Context, in agent.Input) error {
	if ses.Undo != nil {
		ses.Undo.Begin(in.Text)
		defer ses.Undo.End()
	}
	return ses.Agent.Turn(ctx, ses.withImages(in))
}

// reportUndo reports why no turn can be undone, if that is so.
func (ses *Session) reportUndo(emit func(event.Event)) {
	if ses.noUndo != nil {
		emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("turns cannot be undone: %v", ses.noUndo)})
	}
}
