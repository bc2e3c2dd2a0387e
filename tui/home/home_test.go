package home

import (
	"context"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
	"codeagent/sandbox"
	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

// TestFoundMovesNothing: what is found fills rows that were there, whatever it is and however narrow the screen.
func TestFoundMovesNothing(t *testing.T) {
	th := paint.New(true)
	for _, text := range append(tuitest.Nasty(), "", "a title", strings.Repeat("long ", 100)) {
		for _, w := range []int{10, 26, 27, 40, 80, 120} {
			h := Home{
				Session: event.SessionStarted{Model: text, Folder: "/home/ada/app", Enforcement: sandbox.Enforcement{Weaknesses: []sandbox.Weakness{{}}}},
				Facts:   Facts{Sandbox: text, Servers: []string{text}, Look: func(context.Context) Found { return Found{} }},
			}
			before := h.Draw(th, w, "/home/ada", false)
			h.Found = &Found{Last: text, Age: "2 h ago", Instructions: []string{text}}
			after := h.Draw(th, w, "/home/ada", false)
			if len(before) != len(after) {
				t.Fatalf("%q in %d columns: %d lines, then %d", text, w, len(before), len(after))
			}
			for i, l := range after {
				tuitest.Harmless(t, l)
				if paint.Width(ansi.Strip(l)) > w {
					t.Errorf("%q: row %d is wider than %d columns: %q", text, i, w, ansi.Strip(l))
				}
				if before[i] != "" && before[i] != l {
					t.Errorf("%q: row %d was %q and is %q", text, i, before[i], l)
				}
			}
		}
	}
}
