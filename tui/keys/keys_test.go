package keys

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestTyped: a key enters its text unless it is pressed with a modifier of commands.
func TestTyped(t *testing.T) {
	for _, c := range []struct {
		key  tea.Key
		want string
	}{
		{tea.Key{Code: 'a', Text: "a"}, "a"},
		{tea.Key{Code: 'a', Text: "A", Mod: tea.ModShift}, "A"},
		{tea.Key{Code: 'é', Text: "é"}, "é"},
		{tea.Key{Code: 'a', Text: "a", Mod: tea.ModCtrl}, ""},
		{tea.Key{Code: 'a', Text: "a", Mod: tea.ModAlt}, ""},
		{tea.Key{Code: 'a', Text: "a", Mod: tea.ModShift | tea.ModSuper}, ""},
		{tea.Key{Code: tea.KeyUp}, ""},
	} {
		if got := Typed(c.key); got != c.want {
			t.Errorf("Typed(%+v) is %q, want %q", c.key, got, c.want)
		}
	}
}
