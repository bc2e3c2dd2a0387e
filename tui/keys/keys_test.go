package keys

import (
	"strings"
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

// TestRebind: what a change gives, or why it is refused.
func TestRebind(t *testing.T) {
	for _, c := range []struct {
		setting string
		keys    []string
		want    string // of the error; else the key that is found
	}{
		{"message-newline", []string{"Shift+Ctrl+N"}, ""},
		{"message-newline", []string{"ctrl+j", "f2"}, ""},
		{"redraw", nil, ""},
		{"page-close", []string{"x"}, ""},
		{"message-newline", []string{"ctrl+l"}, `f:1: keys.message-newline: the key "ctrl+l" is taken by redraw: redraw the screen`},
		{"message-newline", []string{"tab"}, `f:1: keys.message-newline: the key "tab" is taken by message-queue: `},
		{"redraw", []string{"ctrl+a"}, `f:1: keys.redraw: the key "ctrl+a" is taken by message-line-start: `},
		{"page-close", []string{"pgup"}, `f:1: keys.page-close: the key "pgup" is taken by page-up: `},
		{"question-note", []string{"ctrl+c"}, `f:1: keys.question-note: the key "ctrl+c" is taken by interrupt: `},
		{"message-newline", []string{"n"}, `the key "n" types text here`},
		{"message-newline", []string{"shift+n"}, `types text here`},
		{"message-newline", []string{"ctrl+ctrl+n"}, `there is no key "ctrl+ctrl+n"`},
		{"message-newline", []string{"ctrl+entre"}, `there is no key "ctrl+entre"`},
		{"message-newline", []string{"f2", "F2"}, `is listed twice`},
		{"message-newlin", []string{"f2"}, `no such action (did you mean "message-newline"?)`},
		{"question-option", []string{"f2"}, "no such action"},
		{"", []string{"f2"}, "no such action"},
		{"interrupt", nil, "this action needs a key"},
	} {
		table, err := Rebind([]Change{{Setting: c.setting, At: "f:1", Keys: c.keys}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %q: %v, want %q", c.setting, c.keys, err, c.want)
		}
		if err != nil || len(c.keys) == 0 {
			continue
		}
		key, _ := canonical(c.keys[0])
		for _, b := range table.Bindings {
			if b.Setting() == c.setting && table.find[b.Where][key] != b.Do {
				t.Errorf("%s = %q: %q means %q", c.setting, c.keys, key, table.find[b.Where][key])
			}
		}
	}
	_, err := Rebind([]Change{{Setting: "redraw", At: "f:1", Keys: []string{"f9"}}, {Setting: "suspend", At: "f:2", Keys: []string{"f9"}}})
	if err == nil || !strings.Contains(err.Error(), `keys.suspend: the key "f9" is taken by redraw`) && !strings.Contains(err.Error(), `taken by redraw (f:1)`) {
		t.Errorf("two changes clash: %v", err)
	}
	if _, err := Rebind([]Change{{Setting: "redraw", At: "f:1", Keys: []string{"ctrl+z"}}, {Setting: "suspend", At: "f:2", Keys: []string{"ctrl+l"}}}); err != nil {
		t.Errorf("two keys swapped: %v", err)
	}
}

// TestSettingsAreApart: no two bindings have one name in the settings.
func TestSettingsAreApart(t *testing.T) {
	names := map[string]bool{}
	for _, b := range Standard().Bindings {
		if s := b.Setting(); s != "" && names[s] {
			t.Errorf("two bindings are called %s", s)
		}
		names[b.Setting()] = true
	}
}
