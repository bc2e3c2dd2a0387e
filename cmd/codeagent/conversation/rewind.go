package conversation

import (
	"errors"
	"fmt"
	"slices"

	"codeagent/agent"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	sessions "codeagent/session"
)

// A rewind and an undo are steps that can be taken back, the last one first, until a message or a
// command is sent. Files come back from the history of undo, which also knows the last step of an
// earlier process; the conversation from the record, where a rewind counts only from the next item on.

// step is one rewind or undo.
type step struct {
	files bool
	// talk is the conversation before it, of which the last messages went; nil: it stayed.
	talk []model.Item
	gone int
	// note is the place of its note among those that wait, if it restored files.
	note int
}

// steps are those that can be taken back.
type steps struct {
	list []step
	sent bool // a message was sent in this run: what an earlier one undid stays undone
	// notes are for the model, with the next message: written now, they would make a rewind last, and a step that is
	// taken back needs none.
	notes []string
}

// Messages lists the person's messages, oldest first. A run without a record has those that no summary
// has replaced.
func (ses *Session) Messages() (said []sessions.Message, err error) {
	if ses.Record != nil {
		if said, err = ses.Record.Log.Said(); err != nil {
			return nil, fmt.Errorf("cannot read the session: %w", err)
		}
		return said, nil
	}
	for _, i := range ses.Agent.History() {
		if i.Kind == model.User {
			said = append(said, sessions.Message{N: len(said) + 1, Text: i.Said()})
		}
	}
	return said, nil
}

// Back removes message n, counted as in Messages, and all that followed, from the conversation, and
// returns the removed messages. It ends the step that files was part of: files were restored for it. If
// a summary has replaced the message, the summary is removed too.
func (ses *Session) Back(screen Face, n int, files bool) (gone []agent.Input, err error) {
	was := ses.Agent.History()
	items := was
	if ses.Record != nil {
		if items, err = ses.Record.Log.Messages(); err != nil {
			return nil, fmt.Errorf("cannot read the session: %w", err)
		}
	}
	for _, i := range items {
		if i.Kind == model.User {
			gone = append(gone, agent.Input{Text: i.Text, Typed: i.Typed, Images: i.Images})
		}
	}
	if n < 1 || n > len(gone) {
		return nil, fmt.Errorf("there is no message %d any more", n)
	}
	gone = gone[n-1:]
	compacted := ses.Agent.Compacted()
	err = ses.Agent.Restart(func() ([]model.Item, error) {
		if ses.Record != nil {
			if err := ses.Record.Log.Back(n); err != nil {
				return nil, fmt.Errorf("cannot save the rewind: %w", err)
			}
			if compacted {
				h, err := ses.Record.Log.History(sessions.HistoryLimit)
				return h.Items, err
			}
		}
		return was[:lastMessages(was, len(gone))], nil
	})
	if err != nil {
		return nil, err
	}
	if compacted && !ses.Agent.Compacted() {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: "this was before the summary: the model gets the original messages again"})
	}
	if !files {
		ses.steps.list = append(ses.steps.list, step{})
	}
	last := &ses.steps.list[len(ses.steps.list)-1]
	last.files, last.talk, last.gone = files, was, len(gone)
	return gone, nil
}

// lastMessages returns where the last n messages of the person's begin in items.
func lastMessages(items []model.Item, n int) int {
	at := len(items)
	for n > 0 && at > 0 {
		if at--; items[at].Kind == model.User {
			n--
		}
	}
	return at
}

// Undid adds a step that restored files, with its note for the model.
func (ses *Session) Undid(note string) {
	ses.steps.list = append(ses.steps.list, step{files: true, note: len(ses.steps.notes)})
	ses.Note(note)
}

// Undone returns what the last step did that can be taken back. Files may be true without any.
func (ses *Session) Undone() (files, talk bool) {
	if n := len(ses.steps.list); n > 0 {
		return ses.steps.list[n-1].files, ses.steps.list[n-1].talk != nil
	}
	return !ses.steps.sent, false
}

// Return ends the last step after its files are back: the conversation is as it was before, and the face
// is shown again what went. note is what the model should know of the files. It needs no note, nor that of the step,
// if all of the step's files are back.
func (ses *Session) Return(screen Face, note string, all bool) error {
	n := len(ses.steps.list) - 1
	if n < 0 {
		ses.Note(note)
		return nil
	}
	last := &ses.steps.list[n]
	if last.files && all {
		ses.steps.notes = slices.Delete(ses.steps.notes, last.note, last.note+1)
		last.files = false
	} else {
		ses.Note(note)
	}
	if last.talk != nil {
		if err := ses.Agent.Restart(func() ([]model.Item, error) {
			if ses.Record != nil {
				return last.talk, ses.Record.Log.Return()
			}
			return last.talk, nil
		}); err != nil {
			return err
		}
		replay(screen.Emit, ses.tools, slices.Values(last.talk[lastMessages(last.talk, last.gone):]))
		screen.Emit(event.TurnFinished{Outcome: word.TurnDone})
	}
	ses.steps.list = ses.steps.list[:n]
	return nil
}

// Note adds a note that the model gets with the next message; "" adds nothing.
func (ses *Session) Note(text string) {
	if text != "" {
		ses.steps.notes = append(ses.steps.notes, text)
	}
}

// sends ends what can be taken back: something new is sent.
func (ses *Session) sends() {
	notes := ses.steps.notes
	ses.steps = steps{sent: true}
	for _, text := range notes {
		ses.Agent.Note(text)
	}
}

// ErrNothing: there is no rewind and no undo to take back.
var ErrNothing = errors.New("nothing to redo")
