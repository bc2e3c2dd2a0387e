// Package rewind is going back to an earlier message of the person's: the list of all of them, what
// going back to one would do, and the choice of the conversation, the files or both. It performs no
// IO: Past does. Start with Show.
package rewind

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"codeagent/internal/short"
	"codeagent/tui/lists"
	"codeagent/tui/message"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/undoing"
)

// Window is how soon the second press of Esc must follow that shows the list.
const Window = 500 * time.Millisecond

// Past goes back to an earlier message, and takes that back. Back and Redo are called while no turn runs.
type Past interface {
	// Messages returns all messages of the person's, oldest first.
	Messages(ctx context.Context) ([]Said, error)
	// Look reports what restoring the files from before message n would do, and changes nothing. The
	// error says why they cannot be restored.
	Look(ctx context.Context, n int) (undoing.Preview, error)
	// Back goes back to before message n: the conversation, the files as Look showed them, or both.
	Back(ctx context.Context, n int, talk, files bool) (Result, error)
	// Redo takes the last step back, of Back or of /undo. Gone is empty then.
	Redo(ctx context.Context) (Result, error)
}

// Said is a message: its number, counted from 1, its beginning, and when it was sent (zero: not known).
type Said struct {
	N    int
	Text string
	At   time.Time
}

// Result is what was done.
type Result struct {
	// Gone are the messages that were removed, as they were sent.
	Gone []message.Message
	undoing.Report
}

// Screen is what the list gets of the screen.
type Screen struct {
	undoing.Screen
	// Shown is how much of the transcript is shown now, for Done.
	Shown func() int
}

// Done is what going back did. Shown is how much of the transcript was shown before.
type Done struct {
	Result
	Shown int
	Told  *undoing.Undone // nil: no file
}

// Rewind is the first press of Esc.
type Rewind struct{ since time.Time }

// Back takes a press of Esc, and reports whether it is the second one in a row.
func (r *Rewind) Back(now time.Time) bool {
	again := now.Sub(r.since) <= Window
	if r.since = now; again {
		r.since = time.Time{}
	}
	return again
}

// Moved forgets a first press.
func (r *Rewind) Moved() { r.since = time.Time{} }

// Show lists the messages, the last one chosen.
func Show(s Screen, past Past) part.Intent {
	p := picker.New(s.Keys, "Go back to before a message")
	p.None, p.Enter, p.Last = "there is no message to go back to", "chooses; nothing changes yet", true
	count := 0
	p.List = func(ctx context.Context) (rows []picker.Row, err error) {
		said, err := past.Messages(ctx)
		for _, one := range said {
			r := picker.Row{Id: strconv.Itoa(one.N), Text: fmt.Sprintf("%*d  %s", len(strconv.Itoa(len(said))), one.N, one.Text)}
			if !one.At.IsZero() {
				r.About = lists.Ago(s.Now().Sub(one.At))
			}
			rows = append(rows, r)
		}
		count = len(said)
		return rows, err
	}
	p.Choose = func(r picker.Row) part.Intent {
		n, err := strconv.Atoi(r.Id)
		if err != nil {
			return nil
		}
		_, text, _ := strings.Cut(strings.TrimLeft(r.Text, " "), "  ")
		return s.idle(part.Beside(func(ctx context.Context) func() part.Intent {
			look, err := past.Look(ctx, n)
			return func() part.Intent { return part.Show{Overlay: s.what(p, past, n, count, text, look, err)} }
		}))
	}
	return s.idle(part.Show{Overlay: p})
}

func (s Screen) idle(then part.Intent) part.Intent { return part.Idle{Name: "/rewind", Then: then} }

// what chooses between the conversation, the files and both. why says why the files cannot go back.
func (s Screen) what(under part.Overlay, past Past, n, count int, text string, look undoing.Preview, why error) *picker.Picker {
	p := picker.New(s.Keys, "Before “"+paint.Cut(text, 40)+"”")
	p.Under, p.Enter, p.Numbered = under, "shows the files first", true
	talk := "Conversation: " + short.Count(count-n+1, "message") + " and what followed"
	rows := []picker.Row{{Id: "conversation", Text: talk, Enter: "removes them; /redo undoes it", More: "Files stay. The message returns to the editor."}}
	does := look.Words()
	switch {
	case why != nil:
		p.Problem = "files: " + why.Error()
	case does == "":
		rows[0].More = "No file was changed since. The message returns to the editor."
	default:
		rows = append(rows,
			picker.Row{Id: "files", Text: "Files: " + does, More: "The conversation stays."},
			picker.Row{Id: "both", Text: "Both", More: "The message returns to the editor."})
	}
	p.Fill(rows)
	p.Choose = func(r picker.Row) part.Intent {
		if r.Id == "conversation" {
			return s.back(past, n, true, false)
		}
		page := &page.Page{Title: "Go back: " + r.Id, Keys: s.Keys, Under: p, Draw: look.Draw(s.Screen)}
		if len(look.Files) > 0 || r.Id == "both" {
			page.Enter, page.Accept = "restores "+r.Id, func() part.Intent { return s.back(past, n, r.Id == "both", len(look.Files) > 0) }
		}
		return part.Show{Overlay: page}
	}
	return p
}

func (s Screen) back(past Past, n int, talk, files bool) part.Intent {
	shown := s.Shown()
	return part.Turn{Name: "/rewind", Doing: "Going back", Work: func(ctx context.Context) (func() part.Intent, error) {
		r, err := past.Back(ctx, n, talk, files)
		return s.done(r, "restored", shown), err
	}}
}

// Redo takes the last step back.
func Redo(s Screen, past Past) part.Intent {
	return part.Turn{Name: "/redo", Doing: "Redoing", Work: func(ctx context.Context) (func() part.Intent, error) {
		r, err := past.Redo(ctx)
		for i, f := range r.Done {
			if f.Does == "restore" { // it gets back what was taken from it
				r.Done[i].Does = "change"
			}
		}
		return s.done(r, "redone", 0), err
	}}
}

// done is what a result is on the screen.
func (s Screen) done(r Result, verb string, shown int) func() part.Intent {
	return func() part.Intent { return Done{r, shown, s.Told(r.Report, verb)} }
}
