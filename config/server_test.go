package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codeagent/config"
	"codeagent/config/server"
	"codeagent/sandbox/protect/protecttest"
)

// loadServers loads a settings file with text, and overrides.
func loadServers(t *testing.T, text, profile string, overrides ...string) (config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(t.Context(), config.Sources{File: file, Profile: profile, Overrides: overrides, Getenv: func(string) string { return "" }})
}

func TestServers(t *testing.T) {
	const text = `
[mcp.servers.files]
command = "npx"
args = ["-y", "server-files", "/srv"]
env = {TOKEN = "$FILES_TOKEN"}
disabled_tools = ["remove"]
tool_timeout_s = 5
required = true

[mcp.servers.files.sandbox]
workspace = "write"
allow_hosts = ["api.example.com:443"]
write = ["~/notes"]

[mcp.servers.far]
url = "https://mcp.example.com/mcp"
headers = {Authorization = "Bearer $FAR_TOKEN"}

[profiles.quick.mcp.servers.files]
tool_timeout_s = 1
`
	c, err := loadServers(t, text, "quick", `mcp.servers.files.args=["x"]`, "mcp.servers.third.command=prog")
	if err != nil {
		t.Fatal(err)
	}
	files := server.Settings{
		Command: "npx", Args: []string{"x"}, Env: map[string]string{"TOKEN": "$FILES_TOKEN"}, DisabledTools: []string{"remove"},
		StartupTimeout: 30 * time.Second, ToolTimeout: time.Second, Required: true, Origin: "user",
	}
	files.Sandbox.Workspace, files.Sandbox.AllowHosts, files.Sandbox.Write = "write", []string{"api.example.com:443"}, []string{"~/notes"}
	third := server.Settings{Command: "prog", StartupTimeout: 30 * time.Second, ToolTimeout: 2 * time.Minute, Origin: "user"}
	third.Sandbox.Workspace = "read"
	far := server.Settings{
		URL: "https://mcp.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer $FAR_TOKEN"},
		StartupTimeout: 30 * time.Second, ToolTimeout: 2 * time.Minute, Origin: "user",
	}
	far.Sandbox.Workspace = "read"
	if diff := cmp.Diff(map[string]server.Settings{"files": files, "far": far, "third": third}, c.MCP.Servers); diff != "" {
		t.Error(diff)
	}
	p, err := config.Policy(c, newHome(t).place)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(p.Env.Exclude, " "), "FAR_TOKEN") {
		t.Errorf("commands see the variable of a server's header: %+v", p.Env)
	}
}

func TestServerErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[mcp.servers.a]\nargs = [\"x\"]":                                               `:2:1: [mcp.servers.a] has neither a command nor a url: add command = "PROGRAM"`,
		"[mcp.servers.a]\ncommand = \"x\"\nurl = \"https://h/\"":                        `:2:1: [mcp.servers.a] has a command and a url`,
		"[mcp.servers.a]\nurl = \"https://h/\"\n[mcp.servers.a.sandbox]\nread=[\"/x\"]": "[mcp.servers.a] has a url: the server runs elsewhere",
		"[mcp.servers.a]\ncommand = \"x\"\nheaders = {A = \"b\"}":                       "has headers, which only a server with a url gets",
		"[mcp.servers.a__b]\ncommand = \"x\"":                                           `:2:1: the name "a__b" of an MCP server becomes a part`,
		"[mcp.servers.a]\ncommand = \" \"":                                              ":2:1: mcp.servers.a.command: must name a program",
		"[mcp.servers.a]\ncomand = \"x\"":                                               `:2:1: unknown setting "mcp.servers.a.comand" (did you mean "mcp.servers.a.command"?)`,
		"[mcp.servers.a]\ncommand = [\"x\"]":                                            "got a list; use a string",
		"[mcp.servers.a]\ncommand = \"x\"\ntool_timeout_s = 0":                          ":3:1: mcp.servers.a.tool_timeout_s: invalid value 0; use a whole number from 1 to 86400",
		"[mcp.servers.a]\nurl = \"mcp.example.com\"":                                    `use an address such as "https://mcp.example.com/mcp"`,
		"[mcp.servers.a]\nurl = \"https://h/\"\nheaders = {X-Api-Key = \"s3cr3t\"}":     `write "$NAME" or "Bearer $NAME"`,
		"[mcp.servers.a]\ncommand = \"x\"\nenv = {\"A B\" = \"c\"}":                     `"A B" is not the name of a variable`,
		"[mcp.servers.a.sandbox]\nwrite = [\"notes\"]":                                  `element 1: "notes" is neither absolute nor begins with ~/`,
		"[mcp.servers.a.sandbox]\nallow_hosts = [\"*.com\"]":                            `element 1: host "*.com": it would stand for names of many owners`,
		"[mcp.servers.a.sandbox]\nworkspace = \"all\"":                                  `use one of "read", "write", "none"`,
	} {
		_, err := loadServers(t, text, "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestServerPolicy judges by policies of servers.
func TestServerPolicy(t *testing.T) {
	h := newHome(t)
	h.mkdir(t, "notes", "other", "rt/lib", ".ssh")
	servers := h.place.Paths.Servers
	own := filepath.Join(servers, "t")
	c, err := config.Load(t.Context(), config.Sources{Getenv: env(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]struct {
		box           server.Sandbox
		home          string // in place of the home folder
		reads, writes string // the only ones of what is judged
		problem       string
	}{
		"nothing":        {reads: "src/app/x rt/lib own temp", writes: "own temp"},
		"no workspace":   {box: server.Sandbox{Workspace: "none"}, reads: "rt/lib own temp", writes: "own temp"},
		"writes":         {box: server.Sandbox{Workspace: "write", Write: []string{"~/other"}}, reads: "src/app/x rt/lib own temp other/x other/{editor}", writes: "src/app/x own temp other/x"},
		"writes another": {box: server.Sandbox{Workspace: "none", Write: []string{"~/other"}}, reads: "rt/lib own temp other/x other/{editor}", writes: "own temp other/x"},
		"reads":          {box: server.Sandbox{Read: []string{"~/notes", "~/.ssh"}}, reads: "src/app/x rt/lib own temp notes/x .ssh/x", writes: "own temp"},
		"home":           {box: server.Sandbox{Read: []string{"~"}}, problem: "is or contains your home folder"},
		"above":          {box: server.Sandbox{Read: []string{"/"}}, problem: "is or contains your home folder"},
		"another server": {box: server.Sandbox{Write: []string{servers + "/u"}}, problem: "or those of MCP servers"},
		"work at home":   {home: h.ws, reads: "rt/lib own temp", writes: "own temp"},
		"write at home":  {home: h.ws, box: server.Sandbox{Workspace: "write"}, problem: "is or contains your home folder"},
	} {
		at := h.place
		if r.home != "" {
			at.Home = r.home
		}
		p, err := config.ServerPolicy(c, at, server.Settings{Sandbox: r.box}, own, []string{filepath.Join(h.dir, "rt"), h.dir, servers})
		if r.problem != "" {
			if err == nil || !strings.Contains(err.Error(), r.problem) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var reads, writes []string
		for _, place := range strings.Fields("src/app/x rt/lib own temp other/x other/{editor} notes/x .ssh/x .codex/auth.json servers/u records") {
			path := filepath.Join(h.dir, protecttest.In(place))
			switch place {
			case "own":
				path = own
			case "temp":
				path = at.Temp
			case "servers/u":
				path = servers + "/u"
			case "records":
				path = at.Paths.Sessions
			}
			if p.JudgeRead(path).Allowed {
				reads = append(reads, place)
			}
			if p.JudgeWrite(path).Allowed {
				writes = append(writes, place)
			}
		}
		if diff := cmp.Diff([]string{r.reads, r.writes}, []string{strings.Join(reads, " "), strings.Join(writes, " ")}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
