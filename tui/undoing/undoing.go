// Package undoing is the page of /undo: what would be undone of the last turn, and the report of it in
// the transcript. It performs no IO: Turns does. Start with Show.
package undoing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"codeagent/event"
	"codeagent/internal/short"
	"codeagent/tui/diff"
	"codeagent/tui/lists"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/transcript"
)

// Turns reverts the changes of the latest turn that was not reverted yet.
type Turns interface {
	// Preview reports what Apply would do, and changes nothing.
	Preview(ctx context.Context) (Preview, error)
	// Earlier is Preview for the turn before the one that was shown last. That one
	// can still be reverted later.
	Earlier(ctx context.Context) (Preview, error)
	// Apply does what was shown last, and no more: a file that changed since is a
	// conflict. Conflicts and failures can be retried later.
	Apply(ctx context.Context) (Report, error)
}

// Preview is what would be reverted. If all lists are empty there is no turn
// to revert.
type Preview struct {
	// Message is the beginning of the message whose turn it is, At when it was sent.
	Message string
	At      time.Time
	// Turns is how many turns it would undo, if more than one.
	Turns int
	// Files would get their old state back.
	Files []File
	// Changes are what becomes of files, as far as that is known.
	Changes []event.FileChange
	// Conflicts were changed by somebody else after the turn; they would stay as they are.
	Conflicts []File
	// NotKept were changed, but their old state was not saved.
	NotKept []File
	// Closed were saved, but may not be written now; Opens says how to allow it.
	Closed []File
	Opens  string
}

// Report is what was reverted.
type Report struct {
	Done, Conflicts, Failed []File
}

// File is one file or folder.
type File struct {
	Path string
	// Does is one verb: "restore", "remove", "create" or "mode". Why gives the reason
	// of a conflict or a failure in a few words.
	Does, Why string
	// Of is how many entries go with a folder, with it itself; 0: it stands for one.
	Of int
}

// Screen is what the page gets of the screen.
type Screen struct {
	part.Setting
	// Jobs returns how many jobs run.
	Jobs func() int
}

// Show shows what would be undone; Enter undoes it.
func Show(s Screen, turns Turns) part.Intent { return s.look(turns, turns.Preview, "nothing to undo") }

// look shows a preview; none is the hint if there is no such turn.
func (s Screen) look(turns Turns, at func(context.Context) (Preview, error), none string) part.Intent {
	return part.Idle{Name: "/undo", Then: part.All{part.Show{}, part.Try(func(ctx context.Context) (part.Intent, error) {
		preview, err := at(ctx)
		if len(preview.Files)+len(preview.Conflicts)+len(preview.NotKept)+len(preview.Closed) == 0 {
			return part.Say(none), err
		}
		return part.Show{Overlay: s.page(turns, preview)}, err
	})}}
}

func (s Screen) page(turns Turns, u Preview) *page.Page {
	p := &page.Page{Title: "Undo", Keys: s.Keys, Draw: u.Draw(s)}
	p.Enter, p.Accept = "undoes these changes", func() part.Intent { return s.undo(turns) }
	if len(u.Files) == 0 {
		p.Enter, p.Accept = "shows the previous turn", func() part.Intent { return s.look(turns, turns.Earlier, "no earlier turn has changes to undo") }
	}
	return p
}

// Words counts what would be done: "restores 40 files, deletes 2 files"; "" if nothing would.
func (u Preview) Words() string {
	does := map[string]int{}
	for _, f := range u.Files {
		does[f.Does] += max(f.Of, 1)
	}
	var out []string
	for _, one := range []struct{ does, words string }{{"restore", "restores"}, {"create", "creates"}, {"remove", "deletes"}, {"mode", "changes the mode of"}} {
		if n := does[one.does]; n > 0 {
			out = append(out, one.words+" "+short.Count(n, "file"))
		}
	}
	if n := len(u.Conflicts) + len(u.NotKept) + len(u.Closed); n > 0 {
		out = append(out, "leaves "+paint.Count(n))
	}
	return strings.Join(out, ", ")
}

// Draw draws the preview: the counts first, then each file.
func (u Preview) Draw(s Screen) func(t *paint.Theme, w int) []string {
	named, changed := s.Named, slices.Clone(u.Changes)
	for i := range changed {
		changed[i].Path = named(changed[i].Path)
	}
	changes := page.Once(func(t *paint.Theme, w int) []string { return diff.Lines(t, w, diff.Of(changed, s.Home)) })
	return func(t *paint.Theme, w int) []string {
		words := []rune(u.Words())
		if len(words) == 0 {
			return nil
		}
		words[0] = unicode.ToUpper(words[0])
		out := t.Wrap(w, paint.Strong.Span(string(words)))
		if u.Message != "" {
			out = append(out, t.Wrap(w, paint.Dim.Span("Changes "+u.of()+" "), paint.Text.Span("“"+u.Message+"”"), paint.Dim.Span(", "+lists.Ago(s.Now().Sub(u.At))))...)
		}
		part := func(head string, style paint.Style, files []File) {
			if len(files) > 0 {
				out = append(append(out, ""), t.Wrap(w, style.With(paint.Bold).Span(fmt.Sprintf("%s: %d", head, len(files))))...)
				for _, f := range files {
					out = append(out, undoLine(t, w, named, f)...)
				}
			}
		}
		part("Will be undone", paint.Good, u.Files)
		part("Changed by somebody else, left as they are", paint.Warn, u.Conflicts)
		if n := s.Jobs(); n > 0 && len(u.Conflicts) > 0 {
			out = append(out, t.Wrap(w, paint.Dim.Span(short.Count(n, "job")+" may still write, and may have written these; /ps ends jobs"))...)
		}
		part("Not saved, cannot be undone", paint.Warn, u.NotKept)
		part("Saved, but not writable now", paint.Warn, u.Closed)
		if u.Opens != "" {
			out = append(out, t.Wrap(w, paint.Dim.Span(u.Opens))...)
		}
		if len(changed) > 0 {
			out = append(append(out, ""), changes(t, w)...)
		}
		return out
	}
}

// of says which turns changed the files.
func (u Preview) of() string {
	if u.Turns > 1 {
		return "of " + short.Count(u.Turns, "turn") + ", since"
	}
	return "of the turn"
}

func (s Screen) undo(turns Turns) part.Intent {
	return part.Turn{Name: "/undo", Doing: "Undoing", Work: func(ctx context.Context) (func() part.Intent, error) {
		report, err := turns.Apply(ctx)
		if len(report.Done)+len(report.Conflicts)+len(report.Failed) == 0 {
			return nil, err
		}
		return func() part.Intent { return s.Told(report, "undone") }, err
	}}
}

func undoLine(t *paint.Theme, w int, named func(string) string, f File) []string {
	spans := []paint.Span{paint.Text.Span(named(f.Path))}
	if f.Why != "" {
		spans = append(spans, paint.Dim.Span("  "+f.Why))
	}
	does := "  "
	if f.Does != "" {
		does = fmt.Sprintf("  %-8s ", f.Does)
	}
	return t.Hang(w, paint.Dim.Span(does), paint.Flat(spans)...)
}

// Undone is the report in the transcript.
type Undone struct {
	Report
	verb  string
	named func(path string) string
}

// Told is the report in the transcript; nil if there is nothing to report. verb says what became of the
// files: "undone".
func (s Screen) Told(r Report, verb string) *Undone {
	if len(r.Done)+len(r.Conflicts)+len(r.Failed) == 0 {
		return nil
	}
	return &Undone{r, verb, s.Named}
}

func (u *Undone) Foldable() bool { return true }

func (u *Undone) Draw(c transcript.Canvas) []string {
	head := []paint.Span{paint.Text.Span(u.verb + ": " + short.Count(len(u.Done), "file"))}
	if len(u.Done) == 0 {
		head = []paint.Span{paint.Text.Span("nothing was " + u.verb)}
	}
	mark := paint.Accent.Span("↶")
	if n := len(u.Conflicts); n > 0 {
		head = append(head, paint.Warn.Span(fmt.Sprintf(" · %d changed by somebody else, left as they are", n)))
	}
	if n := len(u.Failed); n > 0 {
		head = append(head, paint.Bad.Span(fmt.Sprintf(" · %d failed", n)))
	}
	if u.verb != "redone" && len(u.Done) > 0 {
		head = append(head, paint.Dim.Span(" · /redo takes it back"))
	}
	var lines []string
	for _, part := range [][]File{u.Failed, u.Conflicts, u.Done} {
		for _, f := range part {
			lines = append(lines, undoLine(c.Theme, c.Inner(), u.named, f)...)
		}
	}
	lines = c.Fold(lines, 6, 0)
	return append(c.Hang(mark, head...), paint.Indent(lines[:min(len(lines), transcript.OpenLines)])...)
}
