package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/tui/lists"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/transcript"
)

// showUndo is /undo: it shows what would be undone; Enter undoes it.
func showUndo(m *app, _ string) tea.Cmd {
	if hint := m.between("/undo"); hint != "" {
		return m.say(hint)
	}
	return lookAtTurn(m, m.offers.Undo.Preview, "nothing to undo")
}

// goEarlier shows the turn before one of which nothing can be undone.
func goEarlier(m *app) tea.Cmd {
	if hint := m.between("/undo"); hint != "" {
		return m.say(hint)
	}
	m.panel = nil
	return lookAtTurn(m, m.offers.Undo.Earlier, "no earlier turn has changes to undo")
}

// lookAtTurn shows a preview; none is the hint if there is no such turn.
func lookAtTurn(m *app, look func(context.Context) (UndoPreview, error), none string) tea.Cmd {
	return m.aside(func(ctx context.Context) then {
		preview, err := look(ctx)
		return func(m *app) tea.Cmd {
			switch {
			case err != nil:
				m.transcript.Note(word.LevelError, err.Error())
				m.transcript.End()
			case len(preview.Files)+len(preview.Conflicts)+len(preview.NotKept)+len(preview.Closed) == 0:
				return m.say(none)
			default:
				m.panel = undoPage(m, preview)
			}
			return nil
		}
	})
}

func undoPage(m *app, u UndoPreview) *page.Page {
	named := within(m.facts.session.Folder, m.facts.home)
	p := &page.Page{Title: "Undo", Keys: m.keys, Draw: func(t *paint.Theme, w int) []string {
		var out []string
		if u.Message != "" {
			out = t.Wrap(w, paint.Dim.Span("Changes of the turn "), paint.Text.Span("“"+u.Message+"”"), paint.Dim.Span(", "+lists.Ago(m.now().Sub(u.At))))
		}
		part := func(head string, s paint.Style, files []UndoFile) {
			if len(files) > 0 {
				out = append(append(out, ""), t.Wrap(w, s.With(paint.Bold).Span(fmt.Sprintf("%s: %d", head, len(files))))...)
				for _, f := range files {
					out = append(out, undoLine(t, w, named, f)...)
				}
			}
		}
		part("Will be undone", paint.Good, u.Files)
		part("Changed since the turn, left as they are", paint.Warn, u.Conflicts)
		if n := m.facts.running; n > 0 && len(u.Conflicts) > 0 {
			out = append(out, t.Wrap(w, paint.Dim.Span(short.Count(n, "job")+" may still write, and may have written these; /ps ends jobs"))...)
		}
		part("Not saved, cannot be undone", paint.Warn, u.NotKept)
		part("Saved, but not writable now", paint.Warn, u.Closed)
		if u.Opens != "" {
			out = append(out, t.Wrap(w, paint.Dim.Span(u.Opens))...)
		}
		return out
	}}
	p.Enter, p.Accept = "undoes these changes", func() part.Intent { return then(takeBack) }
	if len(u.Files) == 0 {
		p.Enter, p.Accept = "shows the previous turn", func() part.Intent { return then(goEarlier) }
	}
	return p
}

// within returns what shortens a path: relative to folder where it lies in it.
func within(folder, home string) func(path string) string {
	return func(path string) string {
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, "/")+"/"); ok && folder != "" {
			return rest
		}
		return paint.Tilde(path, home)
	}
}

func undoLine(t *paint.Theme, w int, named func(string) string, f UndoFile) []string {
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

func takeBack(m *app) tea.Cmd {
	if hint := m.between("/undo"); hint != "" {
		return m.say(hint)
	}
	m.panel = nil
	m.transcript.End()
	keeper := m.offers.Undo
	return m.begin("Undoing", m.run(func(ctx context.Context) (then, error) {
		report, err := keeper.Apply(ctx)
		return func(m *app) tea.Cmd {
			if len(report.Done)+len(report.Conflicts)+len(report.Failed) > 0 {
				m.transcript.Add(&undone{report, within(m.facts.session.Folder, m.facts.home)})
			}
			return nil
		}, err
	}))
}

// undone is the report in the transcript.
type undone struct {
	UndoReport
	named func(path string) string
}

func (u *undone) Foldable() bool { return true }

func (u *undone) Draw(c transcript.Canvas) []string {
	head := []paint.Span{paint.Text.Span("undone: " + short.Count(len(u.Done), "file"))}
	if len(u.Done) == 0 {
		head = []paint.Span{paint.Text.Span("nothing was undone")}
	}
	mark := paint.Accent.Span("↶")
	if n := len(u.Conflicts); n > 0 {
		head = append(head, paint.Warn.Span(fmt.Sprintf(" · %d changed since the turn, left as they are", n)))
	}
	if n := len(u.Failed); n > 0 {
		head = append(head, paint.Bad.Span(fmt.Sprintf(" · %d failed", n)))
	}
	var lines []string
	for _, part := range [][]UndoFile{u.Failed, u.Conflicts, u.Done} {
		for _, f := range part {
			lines = append(lines, undoLine(c.Theme, c.Inner(), u.named, f)...)
		}
	}
	lines = c.Fold(lines, 6, 0)
	return append(c.Hang(mark, head...), paint.Indent(lines[:min(len(lines), transcript.OpenLines)])...)
}
