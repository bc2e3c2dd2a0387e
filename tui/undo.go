package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// undo is /undo: it shows what would be taken back; Enter takes it back.
func (m *app) undo(string) tea.Cmd {
	if no, ok := m.between("/undo"); !ok {
		return no
	}
	return m.lookAtTurn(m.offers.Undo.Preview, "there is nothing to take back")
}

// goEarlier shows the turn before one of which nothing can be taken back.
func (m *app) goEarlier() tea.Cmd {
	if no, ok := m.between("/undo"); !ok {
		return no
	}
	m.panel = nil
	return m.lookAtTurn(m.offers.Undo.Earlier, "no earlier turn has anything to take back")
}

// lookAtTurn shows a preview; none says that there is no such turn.
func (m *app) lookAtTurn(look func(context.Context) (UndoPreview, error), none string) tea.Cmd {
	return m.aside(func(ctx context.Context) then {
		preview, err := look(ctx)
		return func(m *app) tea.Cmd {
			switch {
			case err != nil:
				m.note("error", err.Error())
				m.transcript.end()
			case len(preview.Files)+len(preview.Conflicts)+len(preview.NotKept)+len(preview.Closed) == 0:
				return m.say(none)
			default:
				m.panel = m.undoPage(preview)
			}
			return nil
		}
	})
}

// undoPage is the preview.
func (m *app) undoPage(u UndoPreview) *panel {
	p := &panel{title: "Undo", page: func(t *theme, w int) []string {
		var out []string
		if u.Message != "" {
			out = t.wrap(w, span{"What was changed after ", dim}, span{"“" + u.Message + "”", text}, span{", " + ago(m.now().Sub(u.At)), dim})
		}
		part := func(head string, s style, files []UndoFile) {
			if len(files) > 0 {
				out = append(append(out, ""), t.wrap(w, span{fmt.Sprintf("%s: %d", head, len(files)), style{s.ink, bold}})...)
				for _, f := range files {
					out = append(out, undoLine(t, w, m.within, f)...)
				}
			}
		}
		part("To be taken back", good, u.Files)
		part("Changed after the turn, left alone", warn, u.Conflicts)
		if n := m.facts.running; n > 0 && len(u.Conflicts) > 0 {
			out = append(out, t.wrap(w, span{mayHaveWritten(n), dim})...)
		}
		part("Not kept, cannot be taken back", warn, u.NotKept)
		part("Kept, not taken back here", warn, u.Closed)
		if u.Opens != "" {
			out = append(out, t.wrap(w, span{u.Opens, dim})...)
		}
		return out
	}}
	p.enter, p.accept = "takes it back", (*app).takeBack
	if len(u.Files) == 0 {
		p.enter, p.accept = "shows the turn before", (*app).goEarlier
	}
	return p
}

// mayHaveWritten says that what n commands in the background wrote after the turn
// cannot be told from the user's own work.
func mayHaveWritten(n int) string {
	if n == 1 {
		return "1 background command still runs and may have written these; /ps ends it"
	}
	return fmt.Sprintf("%d background commands still run and may have written these; /ps ends them", n)
}

// within writes a path shortly: from the session's folder, where it lies in it.
func (m *app) within(path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(m.facts.session.Folder, "/")+"/"); ok && m.facts.session.Folder != "" {
		return rest
	}
	return tilde(path, m.home)
}

func undoLine(t *theme, w int, named func(string) string, f UndoFile) []string {
	spans := []span{{named(f.Path), text}}
	if f.Why != "" {
		spans = append(spans, span{"  " + f.Why, dim})
	}
	does := "  "
	if f.Does != "" {
		does = fmt.Sprintf("  %-8s ", f.Does)
	}
	return wrapper{theme: t, width: w, first: []span{{does, dim}}, rest: []span{{strings.Repeat(" ", width(does)), text}}}.lines(flat(spans)...)
}

// takeBack does what the preview says.
func (m *app) takeBack() tea.Cmd {
	if no, ok := m.between("/undo"); !ok {
		return no
	}
	m.panel = nil
	m.transcript.end()
	keeper := m.offers.Undo
	return m.begin("Taking back", m.run(func(ctx context.Context) (then, error) {
		report, err := keeper.Apply(ctx)
		return func(m *app) tea.Cmd {
			m.undone(report)
			return nil
		}, err
	}))
}

// undone tells what was taken back.
func (m *app) undone(r UndoReport) {
	if len(r.Done)+len(r.Conflicts)+len(r.Failed) == 0 {
		return
	}
	m.transcript.add(&undone{r, m.within}, false)
}

// undone is the report in the transcript.
type undone struct {
	UndoReport
	named func(path string) string
}

func (u *undone) foldable() bool { return true }

func (u *undone) draw(c canvas) []string {
	head := []span{{"taken back: " + files(len(u.Done)), text}}
	if len(u.Done) == 0 {
		head = []span{{"nothing was taken back", text}}
	}
	mark := span{"↶", accent}
	if n := len(u.Conflicts); n > 0 {
		head = append(head, span{fmt.Sprintf(" · %d changed after the turn, left alone", n), warn})
	}
	if n := len(u.Failed); n > 0 {
		head = append(head, span{fmt.Sprintf(" · %d failed", n), bad})
	}
	var lines []string
	for _, part := range [][]UndoFile{u.Failed, u.Conflicts, u.Done} {
		for _, f := range part {
			lines = append(lines, undoLine(c.theme, c.inner(), u.named, f)...)
		}
	}
	lines = c.fold(lines, 6, 0)
	return append(c.hang(mark, head...), indent(lines[:min(len(lines), openLines)])...)
}

// files counts files in words.
func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
