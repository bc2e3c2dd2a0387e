package composer

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/message"
	"codeagent/tui/part"
)

// TestKey: what a key does to the message, and what it wants of the screen.
func TestKey(t *testing.T) {
	table := keys.Standard()
	key := func(name rune, mod tea.KeyMod) keys.Key { return keys.Key{Code: name, Mod: mod} }
	for _, c := range []struct {
		name, text string
		vim        bool
		recalled   bool
		key        keys.Key
		want       part.Intent
		left       string
	}{
		{name: "a letter is typed", text: "a", key: keys.Key{Code: 'b', Text: "b"}, left: "ab"},
		{name: "a letter is a command of vi", text: "ab", vim: true, key: keys.Key{Code: 'x', Text: "x"}, left: "a"},
		{name: "Enter is the screen's", text: "a", key: key(tea.KeyEnter, 0), want: part.Act(keys.Send), left: "a"},
		{name: "Backspace deletes", text: "ab", key: key(tea.KeyBackspace, 0), left: "a"},
		{name: "Backspace moves in vi", text: "ab", vim: true, key: key(tea.KeyBackspace, 0), left: "ab"},
		{name: "Home in an empty message", key: key('a', tea.ModCtrl), want: part.Act(keys.Top)},
		{name: "Home in a message", text: "a", key: key('a', tea.ModCtrl), left: "a"},
		{name: "Ctrl+D in an empty message", key: key('d', tea.ModCtrl), want: Leave{}},
		{name: "Ctrl+D deletes", text: "a", key: key('d', tea.ModCtrl), left: "a"},
		{name: "Up in the first row", text: "a", key: key(tea.KeyUp, 0), want: Edge{By: -1}, left: "a"},
		{name: "Up in a message of the history", recalled: true, key: key(tea.KeyUp, 0), want: Edge{-1, true}, left: "old"},
		{name: "Up in the second row", text: "a\nb", key: key(tea.KeyUp, 0), left: "a\nb"},
		{name: "Down in the last row", text: "a\nb", key: key(tea.KeyDown, 0), want: Edge{By: 1}, left: "a\nb"},
	} {
		m := New()
		m.Set(c.text)
		if c.recalled {
			m.Recall([]message.Message{{Text: "old"}})
			m.History(-1)
		}
		if c.vim {
			m.UseVim()
			m.Escape()
		}
		if got := m.Key(c.key, table, 40); got != c.want {
			t.Errorf("%s: wants %#v, want %#v", c.name, got, c.want)
		}
		if m.Text != c.left {
			t.Errorf("%s: the text is %q, want %q", c.name, m.Text, c.left)
		}
	}
}
