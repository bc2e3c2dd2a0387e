package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/config"
)

// TestKeysOfASettingsFile: [keys] changes the table, and an error names file, line and key.
func TestKeysOfASettingsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	for _, c := range []struct{ text, want string }{
		{"[keys]\nmessage-newline = [\"f2\"]\n", ""},
		{"[keys]\nmessage-newline = [\"f2\"]\nredraw = [\"ctrl+k\"]\n", file + `:3:1: keys.redraw: the key "ctrl+k" is taken by message-cut-to-end: `},
		{"model = \"m\"\n[keys]\nmesage-newline = [\"f2\"]\n", file + `:3:1: keys.mesage-newline: no such action (did you mean "message-newline"?)`},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := config.Load(t.Context(), config.Sources{File: file, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		table, err := keyTable(loaded)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %q", c.text, err, c.want)
			}
		case err != nil:
			t.Errorf("%q: %v", c.text, err)
		case table.Find(tea.Key{Code: tea.KeyF2}, "Writing a message") != "newline":
			t.Errorf("%q changes nothing", c.text)
		}
	}
}

// TestThemeOfASettingsFile: tui.theme and [themes] choose the colours, and an error names file, line
// and key.
func TestThemeOfASettingsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"[tui]\ntheme = \"mine\"\n[themes.mine]\nbase = \"dark\"\naccent = \"#88c0d0\"\n", ""},
		{"[tui]\ntheme = \"mine\"\n", file + `:2:1: tui.theme: theme "mine" is not one of auto, light, dark, ansi`},
		{"[themes.mine]\naccent = \"sky\"\n", `themes.mine: accent = "sky" is not a colour: write "#rrggbb", or "0" to "15"`},
		{"[themes.mine]\naccnt = \"3\"\n", `themes.mine: "accnt" has no colour; these have one: dim, `},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := config.Load(t.Context(), config.Sources{File: file, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = look(loaded)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), file+":")) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}
