package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
)

func TestDragSelectsWhatIsShown(t *testing.T) {
	r := newRig(t, 60, 20)
	r.emit(event.MessageFinished{Text: "first **line** here\n\nsecond line"})
	r.screen()
	r.send(tea.MouseClickMsg{X: 8, Y: 0, Button: tea.MouseLeft})
	r.send(tea.MouseMotionMsg{X: 7, Y: 2, Button: tea.MouseLeft})
	if got := r.app.selection.text(r.app.rows); got != "line here\n\nsecond" {
		t.Errorf("selected %q", got)
	}
	if !strings.Contains(r.app.View().Content, reversed) {
		t.Error("the selection is not shown")
	}
	plain := r.screen()
	if cmd := r.send(tea.MouseReleaseMsg{X: 7, Y: 2}); cmd == nil {
		t.Error("nothing was copied")
	}
	r.has("copied 17 characters")
	r.press("x")
	if strings.Contains(r.app.View().Content, reversed) {
		t.Error("a key leaves the selection")
	}
	if !strings.Contains(plain, "first line here") {
		t.Errorf("marking changed the text:\n%s", plain)
	}
}

func TestClickAloneCopiesNothing(t *testing.T) {
	r := newRig(t, 60, 20)
	r.emit(event.MessageFinished{Text: "text"})
	r.screen()
	r.send(tea.MouseClickMsg{X: 3, Y: 0, Button: tea.MouseLeft})
	if cmd := r.send(tea.MouseReleaseMsg{X: 3, Y: 0}); cmd != nil {
		t.Error("a click copied something")
	}
}

func TestSelectionMarksWideCells(t *testing.T) {
	var s selection
	s.start(2, 0)
	s.extend(5, 0)
	rows := []string{"漢字漢字 x"}
	if got := ansi.Strip(s.mark(rows)[0]); got != rows[0] {
		t.Errorf("marking changed %q to %q", rows[0], got)
	}
	if got := s.text(rows); got != "字漢" {
		t.Errorf("selected %q", got)
	}
}
