package server

import (
	"strings"
	"testing"
)

// Edits leave all but one server as a person wrote it, or are refused.
func TestEditServers(t *testing.T) {
	one := Settings{Command: "npx", Args: []string{"-y", `a "b" 'c'`}, Env: map[string]string{"A_B": "$A"}, Sandbox: Sandbox{Workspace: "none", Write: []string{"~/x"}}}
	const table = "[mcp.servers.new]\ncommand = 'npx'\nargs = ['-y', \"a \\\"b\\\" 'c'\"]\nenv = {A_B = '$A'}\n\n[mcp.servers.new.sandbox]\nworkspace = 'none'\nwrite = ['~/x']\n"
	for _, text := range []string{
		"", "model = \"m\" # why\n", "model = \"m\"", "# only words\n\n", "\xEF\xBB\xBFmodel = \"m\"\n",
		"[mcp.servers.old]\ncommand = \"x\"\n\n# about nothing\n",
		"[mcp.servers]\nold = {command = \"x\"}\n", "mcp.servers.old.command = \"x\"\n",
		"model = \"m\"\r\n[mcp.servers.old]\r\ncommand = \"x\"\r\n",
	} {
		with, err := With([]byte(text), "new", one)
		want := table
		if strings.Contains(text, "\r\n") {
			want = strings.ReplaceAll(table, "\n", "\r\n")
		}
		if err != nil || !strings.HasPrefix(string(with), text) || !strings.HasSuffix(string(with), want) {
			t.Errorf("%q: %v\n%s", text, err, with)
			continue
		}
		if _, err := With(with, "new", one); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("%q twice: %v", text, err)
		}
		without, err := Without(with, "new")
		if err != nil || strings.TrimRight(string(without), "\r\n") != strings.TrimRight(text, "\r\n") {
			t.Errorf("%q: %v, removed: %q", text, err, without)
		}
	}
	for text, part := range map[string]string{
		"mcp = {servers = {old = {command = \"x\"}}}\n": "form",
		"[mcp\n":        "toml",
		"\xFF\xFEm\x00": "toml",
	} {
		if got, err := With([]byte(text), "new", one); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v\n%s", text, err, got)
		}
	}
}

func TestRemoveServers(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"comments around it stay, those in it go", "# a\n[tui]\nmouse = false\n\n# about x\n[mcp.servers.x]\ncommand = \"c\"\n# in it\nargs = [\n  \"]\", # [\n]\n\n# about y\n[mcp.servers.y]\ncommand = \"d\"\n",
			"# a\n[tui]\nmouse = false\n\n# about x\n\n# about y\n[mcp.servers.y]\ncommand = \"d\"\n"},
		{"its tables in two places", "[mcp.servers.x]\ncommand = \"c\"\n\n[tui]\nmouse = false\n\n[mcp.servers.x.sandbox]\nwrite = [\"~/w\"]\n", "\n[tui]\nmouse = false\n"},
		{"dotted", "mcp.servers.x.command = \"c\"\nmodel = \"m\"\nmcp.servers.x.args = [\"a\"]\n", "model = \"m\"\n"},
		{"in a table of servers", "[mcp.servers]\nx = {command = \"c\"}\ny = {command = \"d\"}\n", "[mcp.servers]\ny = {command = \"d\"}\n"},
		{"another one's name begins alike", "[mcp.servers.x-1]\ncommand = \"d\"\n\n[mcp.servers.\"x\"]\ncommand = \"c\"\n", "[mcp.servers.x-1]\ncommand = \"d\"\n"},
		{"a text like a comment", "[mcp.servers.x]\ncommand = \"\"\"\nc\n# no comment\"\"\"\n", "# no comment\"\"\"\n"},
	} {
		got, err := Without([]byte(tt.text), "x")
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
	if got, err := Without([]byte("mcp.servers = {x = {command = \"c\"}, y = {command = \"d\"}}\n"), "x"); err == nil {
		t.Errorf("in braces: %s", got)
	}
}

func TestWidenServers(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no table", "[mcp.servers.x]\ncommand = \"c\"\n\n# y\n[mcp.servers.y]\ncommand = \"d\"\n",
			"[mcp.servers.x]\ncommand = \"c\"\n\n[mcp.servers.x.sandbox]\nwrite = ['~/w']\nallow_hosts = ['h:443']\n\n# y\n[mcp.servers.y]\ncommand = \"d\"\n"},
		{"a table without the lists", "[mcp.servers.x]\ncommand = \"c\"\n[mcp.servers.x.sandbox] # why\nworkspace = \"none\"",
			"[mcp.servers.x]\ncommand = \"c\"\n[mcp.servers.x.sandbox] # why\nwrite = ['~/w']\nallow_hosts = ['h:443']\nworkspace = \"none\""},
		{"lists", "[mcp.servers.x]\ncommand = \"c\"\n[mcp.servers.x.sandbox]\nwrite = [\n  \"~/a\", # ]\n  \"~/b\", # why\n]\nallow_hosts = [ ]\n",
			"[mcp.servers.x]\ncommand = \"c\"\n[mcp.servers.x.sandbox]\nwrite = [\n  \"~/a\", # ]\n  \"~/b\", '~/w', # why\n]\nallow_hosts = ['h:443' ]\n"},
		{"dotted", "mcp.servers.x.command = \"c\"\nmcp.servers.x.sandbox.write = ['~/a']\n", ""},
	} {
		got, err := Widened([]byte(tt.text), "x", map[string][]string{"write": {"~/w"}, "allow_hosts": {"h:443"}, "read": nil})
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s: %s", tt.name, got)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
}

// Whatever a file holds, an edit panics never, and leaves a valid file valid.
func FuzzEditServers(f *testing.F) {
	for _, text := range []string{"[mcp.servers.x]\ncommand = \"c\"\nargs = []\n", "mcp.servers.x = {command = 'c'}\n# a\n", "[[a]]\n[mcp]\nservers.x.command = 'c'", "\xEF\xBB\xBF[mcp.servers.x.sandbox]\nwrite=[\n'a',\n]\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if with, err := With([]byte(text), "new", Settings{Command: "c"}); err == nil {
			if _, err := decoded(with); err != nil {
				t.Errorf("%q: %v", with, err)
			}
			if _, err := Without(with, "new"); err != nil {
				t.Errorf("%q: %v", with, err)
			}
		}
		_, _ = Without([]byte(text), "x")
		_, _ = Widened([]byte(text), "x", map[string][]string{"write": {"~/w"}})
	})
}
