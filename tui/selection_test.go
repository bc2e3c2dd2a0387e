package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
	"codeagent/event/word"
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

// selectAll drags over all rows of the transcript and returns what would be copied.
func (r *rig) selectAll() string {
	r.t.Helper()
	r.screen()
	var s selection
	s.start(0, 0)
	s.extend(r.app.width, r.app.transcript.Height-1)
	return s.text(r.app.rows)
}

// A selection gives back what was written, at every width, folded or chosen: tabs, no
// margins, no line numbers, no breaks that only the width made.
func TestSelectionIsWhatWasWritten(t *testing.T) {
	const question = "please look at this rather long question, which wraps on every narrow screen"
	const code = "func Sum(a, b int) int {\n\treturn a + b // a comment that makes the line too long for the screen\n}"
	want := question + "\n\nHere it is, in a sentence that is wrapped as well:\n\n" + code + "\n\n- one item of some length, so that it wraps too\n- another\n\n> quoted words that go on and on and on\n\nDone."
	for _, w := range []int{24, 40, 80, 120} {
		r := newRig(t, w, 60)
		r.emit(event.TurnStarted{Text: question},
			event.MessageFinished{Text: "Here it is, in a sentence that is wrapped as well:\n\n```go\n" + code + "\n```\n\n- one item of some length, so that it wraps too\n- another\n\n> quoted words that go on and on and on\n\nDone."})
		if got := r.selectAll(); got != want {
			t.Errorf("at %d columns\n%q\nwant\n%q", w, got, want)
		}
		r.press("ctrl+up")
		if got := r.selectAll(); got != want {
			t.Errorf("chosen, at %d columns\n%q\nwant\n%q", w, got, want)
		}
		r.press("ctrl+t")
		if got := r.selectAll(); !strings.HasSuffix(got, want) {
			t.Errorf("as a page, at %d columns\n%q\nwant\n%q", w, got, want)
		}
	}
}

// Output and diffs are copied without numbers and signs.
func TestSelectionOfOutputAndDiff(t *testing.T) {
	r := newRig(t, 60, 40)
	r.emit(event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "make"},
		event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.OK, Output: "a\tb\n\x1b[31mred\x1b[0m\n"},
		event.ToolFinished{CallID: "e", Kind: word.KindEdit, Title: "edit x", Outcome: word.OK, Changes: []event.FileChange{{Path: "x", Diff: "@@ -1 +1 @@\n-\told\n+\tnew\n"}}})
	if got, want := r.selectAll(), "$ make\na\tb\nred\n\nedit x  +0 −0\n\told\n\tnew"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
