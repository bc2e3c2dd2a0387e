package server

import (
	"strings"
	"testing"
)

// TestSetText: one setting changes, and all else stays as a person wrote it.
func TestSetText(t *testing.T) {
	for _, tt := range []struct{ setting, text, want string }{
		{"model", "", "model = 'v'\n"},
		{"model", "# mine\n", "# mine\nmodel = 'v'\n"},
		{"model", "# mine\nmodel = \"old\" # why\n\n[tui]\nmouse = false\n", "# mine\nmodel = 'v' # why\n\n[tui]\nmouse = false\n"},
		{"model", "wire = \"chat\" # why\n# about the screen\n[tui]\nmouse = false\n", "wire = \"chat\" # why\nmodel = 'v'\n# about the screen\n[tui]\nmouse = false\n"},
		{"model", "[tui]\nmouse = false\n", "model = 'v'\n[tui]\nmouse = false\n"},
		{"model", "\xEF\xBB\xBF[tui]\r\nmouse = false\r\n", "\xEF\xBB\xBFmodel = 'v'\r\n[tui]\r\nmouse = false\r\n"},
		{"model", "wire = \"chat\"", "wire = \"chat\"\nmodel = 'v'\n"},
		{"model", "model = \"\"\"\nold\"\"\"\nwire = \"chat\"\n", "model = 'v'\nwire = \"chat\"\n"},
		{"tui.theme", "[tui]\nmouse = false\ntheme = 'old'#x\n", "[tui]\nmouse = false\ntheme = 'v'#x\n"},
		{"tui.theme", "[tui] # s\nmouse = false\n[models.x]\n", "[tui] # s\ntheme = 'v'\nmouse = false\n[models.x]\n"},
		{"tui.theme", "model = 'm'\n", "model = 'm'\n\n[tui]\ntheme = 'v'\n"},
		{"tui.theme", "tui = {theme = 'old'}\n", ""},
		{"tui.theme", "tui.mouse = true\n", ""},
		{"tui.theme", "tui.theme = 'old'\n", "tui.theme = 'v'\n"},
		{"model", "model = [\n", ""},
		{"model", "model = [3]\n", ""},
		{"model", "model = 3 # why\n", "model = 'v' # why\n"},
	} {
		got, err := WithValue([]byte(tt.text), tt.setting, "v")
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: %v\n%q\nwant\n%q", tt.text, err, got, tt.want)
		}
	}
	if got, err := WithValue(nil, "model", "a\"'\n# b"); err != nil || strings.Count(string(got), "\n") != 1 {
		t.Errorf("a hostile value: %q %v", got, err)
	}
	for _, tt := range []struct {
		setting, text string
		value         any
		want          string
	}{
		{"tui.mouse", "[tui]\n# no\nmouse = false # why\nvim = true\n", true, "[tui]\n# no\nmouse = true # why\nvim = true\n"},
		{"tui.mouse", "\xEF\xBB\xBFtui.mouse=true", false, "\xEF\xBB\xBFtui.mouse=false"},
		{"tui.mouse", "", false, "[tui]\nmouse = false\n"},
		{"context.compact_at", "[context]\ncompact_at = 0x50 # hex\n", int64(70), "[context]\ncompact_at = 70 # hex\n"},
		{"context.compact_at", "context = {compact_at = 80}\n", int64(70), ""},
	} {
		got, err := WithValue([]byte(tt.text), tt.setting, tt.value)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: %v\n%q\nwant\n%q", tt.text, err, got, tt.want)
		}
	}
}
