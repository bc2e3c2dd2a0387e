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
	keeper := m.offers.Undo
	return m.aside(func(ctx context.Context) then {
		preview, err := keeper.Preview(ctx)
		return func(m *app) tea.Cmd {
			switch {
			case err != nil:
				m.note("error", err.Error())
				m.transcript.end()
			case len(preview.Files)+len(preview.Conflicts)+len(preview.NotKept) == 0:
				return m.say("there is nothing to take back")
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
		part("Changed since, left alone", warn, u.Conflicts)
		part("Not kept, cannot be taken back", warn, u.NotKept)
		return out
	}}
	if len(u.Files) > 0 {
		p.enter, p.accept = "takes it back", (*app).takeBack
	}
	return p
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
	mark := span{"↶", accent}
	if n := len(u.Conflicts); n > 0 {
		head = append(head, span{fmt.Sprintf(" · %d changed since, left alone", n), warn})
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
