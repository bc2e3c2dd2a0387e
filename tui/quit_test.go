package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
)

// quits reports whether a command ends the program.
func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		return true
	case tea.BatchMsg:
		for _, c := range msg {
			if quits(c) {
				return true
			}
		}
	}
	return false
}

// Ctrl+D quits at once only where nothing would be lost.
func TestCtrlDAsksWhileSomethingRuns(t *testing.T) {
	for what, c := range map[string]struct {
		do   func(r *rig)
		hint string // "": it quits at once
	}{
		"idle":                 {func(*rig) {}, ""},
		"a turn":               {func(r *rig) { r.typeText("x"); r.press("enter") }, "Ctrl+D again quits and ends the turn"},
		"a background command": {func(r *rig) { r.emit(event.BackgroundChanged{Running: 2}) }, "Ctrl+D again quits and ends 2 jobs"},
		"both": {func(r *rig) {
			r.emit(event.BackgroundChanged{Running: 1})
			r.typeText("x")
			r.press("enter")
		}, "Ctrl+D again quits and ends the turn and 1 job"},
	} {
		r := newRig(t, 100, 20)
		c.do(r)
		if got := quits(r.press("ctrl+d")); got != (c.hint == "") {
			t.Errorf("%s: the first Ctrl+D quits: %t", what, got)
			continue
		}
		if c.hint == "" {
			continue
		}
		if r.has(c.hint); r.stops > 0 {
			t.Errorf("%s: it was interrupted", what)
		}
		r.clock = r.clock.Add(leaveWindow)
		if quits(r.press("ctrl+d")) {
			t.Errorf("%s: a late second Ctrl+D quits", what)
		}
		if !quits(r.press("ctrl+d")) {
			t.Errorf("%s: a second Ctrl+D does not quit", what)
		}
	}
}

// With text, and in a note, Ctrl+D deletes; the Delete key never quits.
func TestDeleteNeverQuits(t *testing.T) {
	r := newRig(t, 80, 20)
	if quits(r.press("delete")) {
		t.Error("Delete without text quits")
	}
	r.typeText("ab")
	r.press("left")
	if quits(r.press("ctrl+d")) || r.app.composer.Value() != "a" {
		t.Errorf("Ctrl+D in a text leaves %q", r.app.composer.Value())
	}
}

// What runs at the end is shown as ended in what is left on the terminal.
func TestTheTailShowsHowWorkEnded(t *testing.T) {
	for _, mode := range []string{"moving", "still"} {
		term := start(t, mode, 80, 24)
		term.Write("wait\r")
		term.WaitFor("sleeping")
		term.Write("\x04\x04")
		if err := term.WaitExit(); err != nil {
			t.Errorf("ended with %v", err)
		}
		if s := term.Screen(); !strings.Contains(s, "■ $ sleep 1000  interrupted") || strings.ContainsAny(s, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏●") {
			t.Errorf("%q leaves\n%s", mode, s)
		}
	}
}
