package transcript

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// TestKey: a key acts on the chosen block alone, and what is typed ends the choice.
func TestKey(t *testing.T) {
	now := func() time.Time { return time.Unix(0, 0) }
	table, c := keys.Standard(), Canvas{Theme: paint.New(true), Width: 40}
	copies, letter := tea.Key{Code: 'c', Text: "c"}, tea.Key{Code: 'q', Text: "q"}
	tr := New(now)
	tr.Show("hello")
	tr.View(c, 10)
	if _, handled := tr.Key(copies, table, c); handled {
		t.Error("a key is taken while nothing is chosen")
	}
	tr.Choose(c, -1)
	if intent, handled := tr.Key(copies, table, c); !handled || intent != part.Copy("hello") {
		t.Errorf("copies %#v, handled %v", intent, handled)
	}
	if _, handled := tr.Key(tea.Key{Code: tea.KeyEnter}, table, c); !handled || !tr.Chosen() {
		t.Error("Enter does not open the block")
	}
	if _, handled := tr.Key(letter, table, c); handled || tr.Chosen() {
		t.Error("what is typed does not end the choice")
	}
}
