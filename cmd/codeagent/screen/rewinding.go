package screen

import (
	"context"
	"errors"
	"fmt"

	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/tui/rewind"
	"codeagent/tui/undoing"
)

// rewinder is what is behind /undo, /rewind and /redo. undo is nil if nothing is recorded: then there is no /undo.
type rewinder struct {
	ses  *conversation.Session
	face conversation.Face
	undo *commands.UndoStack
}

var (
	_ rewind.Past   = (*rewinder)(nil)
	_ undoing.Turns = (*rewinder)(nil)
)

func (r *rewinder) Messages(context.Context) ([]rewind.Said, error) {
	all, err := r.ses.Messages()
	var said []rewind.Said
	for _, m := range all {
		said = append(said, rewind.Said{N: m.N, Text: m.Text, At: m.At})
	}
	return said, err
}

// Look returns what restoring the files from before message n would do.
func (r *rewinder) Look(_ context.Context, n int) (undoing.Preview, error) {
	all, err := r.ses.Messages()
	switch {
	case err != nil:
		return undoing.Preview{}, err
	case n < 1 || n > len(all):
		return undoing.Preview{}, fmt.Errorf("there is no message %d any more", n)
	case r.undo == nil:
		return undoing.Preview{}, errors.New("changes are not recorded in this session")
	}
	return preview(r.undo.Since(all[n-1].Turn))
}

// Back goes back to before message n. The files come first: if codeagent is killed after them, the
// conversation is whole, and Redo brings them back.
func (r *rewinder) Back(ctx context.Context, n int, talk, files bool) (out rewind.Result, err error) {
	if files {
		if out.Report, err = r.Apply(ctx); err != nil {
			return out, err
		}
	}
	if !talk {
		return out, nil
	}
	gone, err := r.ses.Back(r.face, n, len(out.Done) > 0)
	for _, in := range gone {
		out.Gone = append(out.Gone, screenMessage(in))
	}
	return out, err
}

// Redo takes the last step back.
func (r *rewinder) Redo(ctx context.Context) (out rewind.Result, err error) {
	p, done, err := commands.Redo(ctx, r.ses, r.undo, r.face)
	if p != nil {
		out.Report = shownReport(p, done)
	}
	return out, err
}
