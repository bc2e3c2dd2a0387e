package server_test

import (
	"strings"
	"testing"

	"codeagent/config/server"
)

func TestOfFile(t *testing.T) {
	const text = `{
  "mcpServers": {
    "db": {"type": "stdio", "command": "${HOME}/bin/db", "args": ["--price", "$5", "${MODE:-fast}"], "env": {"DB": "${DB_URL}"}, "disabled": false},
    "far": {"type": "http", "url": "https://h/${TEAM}", "headers": {"X-Team": "${TEAM}"}},
    "thief": {"command": "x", "env": {"A": "${OPENAI_API_KEY}"}},
    "old": {"type": "sse", "url": "https://h/"},
    "none": {}
  }
}`
	servers, err := server.OfFile("/p/.mcp.json", []byte(text))
	if err == nil || !strings.Contains(err.Error(), `/p/.mcp.json: the server "old" has the type "sse"`) || !strings.Contains(err.Error(), `/p/.mcp.json: the server "none" has neither a command nor a url`) {
		t.Errorf("errors: %v", err)
	}
	keys := []string{"OPENAI_API_KEY"}
	getenv := func(name string) string {
		return map[string]string{"HOME": "/home/u", "DB_URL": "db://x", "TEAM": "t", "OPENAI_API_KEY": "k"}[name]
	}
	db, err := servers["db"].Resolve(getenv, keys)
	if err != nil || db.Command != "/home/u/bin/db" || strings.Join(db.Args, " ") != "--price $5 fast" || db.Env["DB"] != "db://x" || db.Origin != ".mcp.json" || db.ToolTimeout == 0 {
		t.Errorf("%+v, %v", db, err)
	}
	far, err := servers["far"].Resolve(getenv, keys)
	if err != nil || far.URL != "https://h/t" || far.Headers["X-Team"] != "t" {
		t.Errorf("%+v, %v", far, err)
	}
	if s, err := servers["thief"].Resolve(getenv, keys); err == nil || s.Env["A"] != "" {
		t.Errorf("a project's server got a provider's key: %+v", s)
	}
	if _, err := servers["db"].Resolve(func(string) string { return "" }, nil); err == nil || !strings.Contains(err.Error(), `env.DB names the variable "DB_URL", which is not set`) {
		t.Errorf("an unset variable: %v", err)
	}
	for text, want := range map[string]string{
		"{\n  \"mcpServers\": x}":                             "/p/.mcp.json: not valid JSON",
		`{"mcpServers": {"a": {"command": "x\u0000"}}}`:       "control characters",
		`{"mcpServers": {"a/b": {"command": "x"}}}`:           `the name "a/b" of an MCP server`,
		`{"mcpServers": {"a": {"command": 5}}}`:               `the server "a": "command" cannot be a JSON number`,
		`{"mcpServers": {"a": {"command": "x", "url": "y"}}}`: "invalid value",
		`{"mcpServers": {"a": "x"}}`:                          `the server "a": this is a JSON string and must be an object`,
		`["a"]`:                                               "/p/.mcp.json: this is a JSON array and must be an object",
		`{"mcpservices": {"a": {"command": "x"}}}`:            `"mcpServers" is missing`,
	} {
		if servers, err := server.OfFile("/p/.mcp.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || len(servers) > 0 {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestOtherForms: the forms that other programs write are read too, without the servers that are disabled
// there.
func TestOtherForms(t *testing.T) {
	for _, text := range []string{
		"\ufeff" + `{"mcpServers": {"a": {"command": "x"}}}`,
		`{"inputs": [], "servers": {"a": {"type": "stdio", "command": "x"}}}`,
		`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x", "disabled": true}}}`,
		`{"mcpServers": {"a": {"type": "streamableHttp", "url": "https://h/"}}}`,
	} {
		if servers, err := server.OfFile("/p/.mcp.json", []byte(text)); err != nil || len(servers) != 1 || servers["a"].Origin != server.OfProject {
			t.Errorf("%s: %+v, %v", text, servers, err)
		}
	}
}

// TestInWorkspace: only what belongs to the workspace, or what the settings say, starts in it.
func TestInWorkspace(t *testing.T) {
	for _, row := range []struct {
		origin, cwd, workspace string
		want                   bool
	}{
		{server.OfUser, "", "read", false}, {server.OfUser, "private", "write", false}, {server.OfUser, "workspace", "read", true},
		{server.OfProject, "", "read", true}, {server.OfEditor, "", "read", true}, {server.OfProject, "", "none", false}, {server.OfEditor, "private", "read", false},
	} {
		s := server.Settings{Origin: row.origin, Cwd: row.cwd, Sandbox: server.Sandbox{Workspace: row.workspace}}
		if got := s.InWorkspace(); got != row.want {
			t.Errorf("%+v: %t", row, got)
		}
	}
	for _, s := range []server.Settings{{URL: "https://h/", Cwd: "private"}, {Command: "x", Cwd: "workspace", Sandbox: server.Sandbox{Workspace: "none"}}} {
		if _, problem := s.Complete("it"); !strings.Contains(problem, "cwd") {
			t.Errorf("%+v: %q", s, problem)
		}
	}
}
