package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
)

// printed is the end of a command with n lines of output.
func printed(name string, n int) []event.Event {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%s %d\n", name, i)
	}
	return []event.Event{
		event.ToolStarted{CallID: name, Kind: word.KindCommand, Command: "make " + name},
		event.ToolFinished{CallID: name, Kind: word.KindCommand, Outcome: word.OK, Output: out.String()},
	}
}

// click presses and releases the left button on the first row that has text.
func (r *rig) click(text string) {
	r.t.Helper()
	for y, row := range strings.Split(r.screen(), "\n") {
		if strings.Contains(row, text) {
			r.send(tea.MouseClickMsg{X: 5, Y: y, Button: tea.MouseLeft})
			r.send(tea.MouseReleaseMsg{X: 5, Y: y, Button: tea.MouseLeft})
			return
		}
	}
	r.t.Fatalf("the screen lacks %q:\n%s", text, r.screen())
}

// A text that arrives while others are shown stands on the screen once: after its end
// its first and its last words are there once, whatever came between.
func TestStreamIsShownOnce(t *testing.T) {
	for what, between := range map[string]event.Event{
		"a notice":       event.Notice{Level: word.LevelWarning, Text: "BETWEEN"},
		"a job's end":    event.BackgroundEnded{Job: 1, Command: "BETWEEN"},
		"a call":         event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "BETWEEN"},
		"another model":  event.SessionStarted{ID: "s", Model: "BETWEEN"},
		"a plan":         event.PlanUpdated{Explanation: "BETWEEN"},
		"a call's end":   event.ToolFinished{CallID: "d", Kind: word.KindCommand, Title: "BETWEEN", Outcome: word.OK},
		"another model2": event.Notice{Text: "BETWEEN\nBETWEEN"},
	} {
		for kind, words := range map[string][3]event.Event{
			"answer":  {event.TextDelta{Text: "first half "}, event.TextDelta{Text: "second half"}, event.MessageFinished{Text: "first half second half"}},
			"thought": {event.ReasoningDelta{Text: "first half "}, event.ReasoningDelta{Text: "second half"}, event.ReasoningFinished{Text: "first half second half"}},
		} {
			r := newRig(t, 80, 40)
			r.emit(event.SessionStarted{ID: "s", Model: "m"}, words[0])
			r.emit(between)
			r.emit(words[1], words[2])
			s := r.screen()
			if n := strings.Count(s, "first half"); n != 1 || !strings.Contains(s, "first half second half") || !strings.Contains(s, "BETWEEN") {
				t.Errorf("%s during the %s: its beginning is shown %d times:\n%s", what, kind, n, s)
			}
		}
	}
}

func TestEveryFoldOpensByClick(t *testing.T) {
	r := newRig(t, 80, 40)
	for _, name := range []string{"one", "two", "three"} {
		r.emit(printed(name, 9)...)
	}
	r.lacks("one 0")
	r.click("make one")
	r.has("one 0")
	r.lacks("two 0")
	r.click("two 8") // its output too
	r.has("one 0", "two 0")
	r.lacks("three 0")
	r.click("one 4")
	r.lacks("one 0")
	r.has("two 0")
	// A drag selects and opens nothing.
	r.send(tea.MouseClickMsg{X: 5, Y: 1, Button: tea.MouseLeft})
	r.send(tea.MouseMotionMsg{X: 9, Y: 1, Button: tea.MouseLeft})
	r.send(tea.MouseReleaseMsg{X: 9, Y: 1, Button: tea.MouseLeft})
	r.lacks("one 0")
	// Below the transcript and under a panel a click opens nothing.
	before := r.screen()
	r.send(tea.MouseClickMsg{X: 5, Y: 38, Button: tea.MouseLeft})
	r.send(tea.MouseReleaseMsg{X: 5, Y: 38, Button: tea.MouseLeft})
	if r.screen() != before {
		t.Errorf("a click on the message changed the screen:\n%s", r.screen())
	}
}

// The hint at a chosen block says what its key does there, and promises nothing where
// there is nothing to open.
func TestHintOfAChosenBlock(t *testing.T) {
	r := newRig(t, 80, 30)
	r.emit(event.SessionStarted{ID: "s", Model: "m"}, event.TurnStarted{Text: "a short message"})
	r.emit(printed("one", 9)...)
	r.emit(event.TurnFinished{Outcome: word.TurnDone})
	r.press("ctrl+up")
	r.has("Enter opens  c copies  Esc goes back")
	r.press("enter")
	r.has("one 0", "Enter folds  c copies")
	r.press("ctrl+up")
	r.has("  c copies  Esc goes back")
	r.lacks("Enter")
	before := r.screen()
	r.press("enter")
	if r.screen() != before {
		t.Errorf("Enter on a message that is shown whole changed the screen:\n%s", r.screen())
	}
}

func TestEveryFoldOpensByKey(t *testing.T) {
	r := newRig(t, 80, 20)
	for i := range 12 {
		r.emit(printed(fmt.Sprintf("n%d-", i), 9)...)
	}
	r.press("ctrl+up", "ctrl+up", "ctrl+o")
	r.has("n10- 0")
	r.lacks("n11- 0")
	r.press("ctrl+o")
	r.lacks("n10- 0")
	for range 20 { // also those that are not in view
		r.press("ctrl+up")
	}
	r.press("ctrl+o")
	r.has("n0- 0")
	r.press("ctrl+o")
	for range 20 {
		r.press("ctrl+down")
	}
	r.press("ctrl+o")
	r.has("n11- 0")
	r.press("ctrl+o", "esc") // nothing is chosen any more: the last one
	if r.app.transcript.Chosen() {
		t.Error("Esc leaves the choice")
	}
	r.press("ctrl+o")
	r.has("n11- 0")
}

// What is opened or folded stays where it is on the screen.
func TestOpeningMovesNothingAbove(t *testing.T) {
	r := newRig(t, 80, 24)
	for i := range 8 {
		r.emit(printed(fmt.Sprintf("n%d-", i), 9)...)
	}
	row := func(text string) int {
		for y, l := range strings.Split(r.screen(), "\n") {
			if strings.Contains(l, text) {
				return y
			}
		}
		return -1
	}
	for _, name := range []string{"n6-", "n5-", "n7-"} {
		before := row("make " + name)
		r.click("make " + name)
		if after := row("make " + name); after != before {
			t.Errorf("%s moved from row %d to %d:\n%s", name, before, after, r.screen())
		}
		r.click("make " + name)
	}
}

// TestOnlyWhatHidesOpens: Ctrl+O passes what has no more to show, a short message and a notice that
// fits, and a click on it leaves the screen following the end.
func TestOnlyWhatHidesOpens(t *testing.T) {
	r := newRig(t, 80, 20)
	r.emit(event.SessionStarted{ID: "s", Model: "m"})
	r.emit(printed("early", 8)...)
	r.emit(event.Notice{Level: word.LevelWarning, Text: strings.Repeat("a notice in full ", 10)}, event.TurnStarted{Text: "short"})
	r.click("short")
	r.press("ctrl+o")
	if s := r.screen(); !strings.Contains(s, "early 0") {
		t.Errorf("the output is not opened:\n%s", s)
	}
	r.press("ctrl+o")
	r.click("short")
	r.emit(printed("late", 8)...)
	r.emit(printed("later", 8)...)
	if s := r.screen(); !strings.Contains(s, "later 7") {
		t.Errorf("the end is not followed:\n%s", s)
	}
}

// TestStatusIsNotParted: how a command ended stands in one row, beside the command or below it.
func TestStatusIsNotParted(t *testing.T) {
	for n := range 40 {
		r := newRig(t, 40, 20)
		r.emit(event.SessionStarted{ID: "s", Model: "m"},
			event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "make " + strings.Repeat("x", n)},
			event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.Interrupted, Duration: 597 * time.Millisecond})
		r.has("interrupted · 597 ms")
	}
}
