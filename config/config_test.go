package config_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/config"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func load(t *testing.T, file string, src config.Sources) (config.Config, error) {
	t.Helper()
	if file != "" {
		src.File = filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(src.File, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if src.Getenv == nil {
		src.Getenv = env(nil)
	}
	return config.Load(t.Context(), src)
}

func TestDefaults(t *testing.T) {
	c, err := load(t, "", config.Sources{File: filepath.Join(t.TempDir(), "absent.toml")})
	if err != nil {
		t.Fatal(err)
	}
	if c.Sandbox.Mode != config.WorkspaceWrite || c.AskForApproval != "on-request" || c.APIKeyEnv != "OPENAI_API_KEY" ||
		!c.TUI.Mouse || c.Speculation != config.Decoding || c.Sandbox.Network != "deny" || c.Sandbox.Temp != "private" || c.Sandbox.Fallback != "refuse" || c.Sandbox.AllowHome || c.Sandbox.Env.Inherit != "core" {
		t.Errorf("defaults %+v", c)
	}
	if keys := c.Keys(); len(keys) != 0 {
		t.Errorf("set by someone: %q", keys)
	}
	if o := c.Origin("sandbox.mode").String(); o != "default" {
		t.Errorf("origin %q", o)
	}
}

const everything = `
model = "m1"
model_provider = "local"
base_url = "http://127.0.0.1:1/v1"
api_key_env = "MY_KEY"
reasoning_effort = "high"
ask_for_approval = "never"

[sandbox]
mode = "strict"
add_dirs = ["/a", "~/b"]
deny_read = ["/k", "**/.env"]
deny_secrets = true
protected = ["Makefile"]
network = "full"
tmp = "shared"
fallback = "warn"
allow_hosts = ["example.com:443"]
allow_sockets = ["/run/s"]
evidence = "network"
hold = false
experiments = false
required_layers = ["landlock", "seccomp"]
limits = { wall_s = 1, cpu_s = 2, memory_mb = 3 }

[sandbox.env]
inherit = "none"
include = ["A"]
exclude = ["B*"]
set = { C = "d" }

[tools.search]
enabled = false

[tui]
mouse = false

[speculation]
mode = "off"

[providers.local]
base_url = "http://127.0.0.1:2/v1"
key_env = "LOCAL_KEY"
headers = { "X-A" = "b", X-Env = "$H" }
`

func TestFile(t *testing.T) {
	c, err := load(t, everything, config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Sandbox{
		Mode: config.Strict, AddDirs: []string{"/a", "~/b"}, DenyRead: []string{"/k", "**/.env"}, Protected: []string{"Makefile"},
		DenySecrets: true, Temp: "shared", Backend: "native", Fallback: "warn", RequiredLayers: []string{"landlock", "seccomp"}, Network: "full", Evidence: "network",
		AllowHosts: []string{"example.com:443"}, AllowSockets: []string{"/run/s"},
		Limits: config.Limits{WallSeconds: 1, CPUSeconds: 2, MemoryMB: 3},
		Env:    config.Env{Inherit: "none", Include: []string{"A"}, Exclude: []string{"B*"}, Set: map[string]string{"C": "d"}},
	}
	if d := cmp.Diff(want, c.Sandbox); d != "" {
		t.Error(d)
	}
	if c.Model != "m1" || c.APIKeyEnv != "MY_KEY" || c.ReasoningEffort != "high" || c.AskForApproval != "never" || c.TUI.Mouse || c.Speculation != "off" {
		t.Errorf("%+v", c)
	}
	if d := cmp.Diff(map[string]bool{"search": true}, c.DisabledTools()); d != "" {
		t.Error(d)
	}
	for key, line := range map[string]int{"model": 2, "sandbox.mode": 10, "sandbox.limits.cpu_s": 24, "sandbox.env.set": 30, "tools.search.enabled": 33, "providers.local.headers": 44} {
		if o := c.Origin(key); o.Kind != "file" || o.Line != line || o.Column < 1 {
			t.Errorf("%s comes from %v, want line %d", key, o, line)
		}
	}
}

// TestEverySetting sets each setting of the table by -c and finds its origin: the parser
// handles all of them.
func TestEverySetting(t *testing.T) {
	sample := map[string]string{
		"string": `"x"`, "true or false": "true", "whole number": "1", "list of strings": `[]`, "table of strings": `{a = "b"}`,
		"list of tables": `[{command = "true", match = "shell", timeout_s = 3}]`,
	}
	for _, s := range config.Table() {
		key := strings.ReplaceAll(s.Key, "NAME", "n")
		v := sample[s.Type]
		if key == "providers.n.key_command" {
			v = `["pass", "show"]`
		}
		if strings.HasPrefix(key, "sandbox.allowed_") {
			v = `["x"]`
		}
		if key == "models.n.price" {
			v = `{input = "1.25"}`
		}
		if strings.HasSuffix(key, "base_url") {
			v = `"http://x/v1"`
		}
		if len(s.Choices) > 0 && s.Type == "one of" {
			v = fmt.Sprintf("%q", s.Choices[len(s.Choices)-1])
		}
		overrides := []string{key + "=" + v}
		if strings.HasPrefix(key, "providers.n.") {
			overrides = append(overrides, "providers.n.base_url=http://x/v1")
		}
		switch {
		case key == "mcp.servers.n.url":
			overrides = []string{`mcp.servers.n.url="http://x/mcp"`}
		case key == "mcp.servers.n.headers":
			overrides = append(overrides, "mcp.servers.n.url=http://x/mcp")
		case strings.HasPrefix(key, "mcp.servers.n.") && key != "mcp.servers.n.command":
			overrides = append(overrides, "mcp.servers.n.command=x")
		case strings.HasPrefix(key, "diagnostics.servers.n."):
			overrides = append([]string{"diagnostics.servers.n.command=x", `diagnostics.servers.n.extensions=[".x"]`}, overrides...)
		}
		c, err := load(t, "", config.Sources{Overrides: overrides})
		if key == "model_provider" {
			continue // needs its provider; TestProvider
		}
		if err != nil {
			t.Errorf("-c %s=%s: %v", key, v, err)
		}
		if o := c.Origin(key); o.Kind != "-c" {
			t.Errorf("%s comes from %v", key, o)
		}
	}
}

func TestOrder(t *testing.T) {
	src := config.Sources{
		Getenv:    env(map[string]string{"OPENAI_MODEL": "from-env", "OPENAI_BASE_URL": "http://env/v1"}),
		Overrides: []string{"reasoning_effort=low", "sandbox.mode=read-only", "reasoning_effort = medium"},
		Flags: []config.Flag{
			{Name: "--sandbox", Key: "sandbox.mode", Values: []string{"danger-full-access"}},
			{Name: "--add-dir", Key: "sandbox.add_dirs", Values: []string{"/c", "/d"}},
			{Name: "--ask-for-approval", Key: "ask_for_approval"},
		},
	}
	c, err := load(t, "model = 'file'\nbase_url = 'http://file/v1'\nask_for_approval = 'never'\n[sandbox]\nadd_dirs = ['/a']\n", src)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.Model, c.BaseURL, c.ReasoningEffort, c.Sandbox.Mode, c.AskForApproval, strings.Join(c.Sandbox.AddDirs, " ")}
	want := []string{"from-env", "http://env/v1", "medium", "danger-full-access", "never", "/a /c /d"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for key, want := range map[string]string{
		"model": "$OPENAI_MODEL", "reasoning_effort": "-c", "sandbox.mode": "--sandbox", "sandbox.add_dirs": "--add-dir", "sandbox.tmp": "default",
	} {
		if o := c.Origin(key).String(); o != want {
			t.Errorf("%s comes from %q, want %q", key, o, want)
		}
	}
	if o := c.Origin("ask_for_approval").String(); !strings.HasSuffix(o, "config.toml:3:1") {
		t.Errorf("ask_for_approval comes from %q", o)
	}
}

// TestByteOrderMark: an editor's mark before UTF-8 changes nothing.
func TestByteOrderMark(t *testing.T) {
	for _, text := range []string{"\ufeffmodel = 'a'\n", "\ufeff[sandbox]\nmode = 'strict'\n", "\ufeff", "\ufeff# nothing\r\n"} {
		if _, err := load(t, text, config.Sources{}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMistakes: an error names file, line, column, and what was expected.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"syntax", "model = \"a\"\nmodel \"b\"\n", ":2:7: not valid TOML: "},
		{"open string", "model = \"a\n", ":1:"},
		{"twice", "model = 'a'\nmodel = 'b'\n", "not valid TOML: "},
		{"misspelt", "\n  modle = 'a'\n", `:2:3: unknown setting "modle" (did you mean "model"?)`},
		{"swapped letters", "[sandbox]\nmdoe = 'strict'\n", `:2:1: unknown setting "sandbox.mdoe" (did you mean "sandbox.mode"?)`},
		{"misspelt table", "[sandbx]\nmode = 'strict'\n", `:1:2: unknown setting "sandbx"`},
		{"table missing", "add_dirs = ['/a']\n", `:1:1: unknown setting "add_dirs" (did you mean "sandbox.add_dirs"?)`},
		{"nothing near", "quux = 1\n", `:1:1: unknown setting "quux" (codeagent help config lists them all)`},
		{"scalar for a table", "sandbox = 'read-only'\n", ":1:1: sandbox is a table, not a value: set one of sandbox.mode, "},
		{"table for a scalar", "[model]\nname = 'x'\n", ":1:2: model: got a table; use a string"},
		{"type", "[tui]\nmouse = 'no'\n", `:2:1: tui.mouse: got the string "no"; use true or false`},
		{"choice", "[sandbox]\nmode = 'readonly'\n", `:2:1: sandbox.mode: invalid value "readonly"; use one of "read-only", "workspace-write", "danger-full-access", "strict" (did you mean "read-only"?)`},
		{"element", "[sandbox]\nadd_dirs = ['/a', 3]\n", ":2:1: sandbox.add_dirs: element 2: got the number 3; use a list of strings"},
		{"element's choice", "[sandbox]\nrequired_layers = ['landlok']\n", `element 1: invalid value "landlok"; use a list of "landlock", `},
		{"negative", "[sandbox.limits]\ncpu_s = -1\n", ":2:1: sandbox.limits.cpu_s: invalid value -1; use a whole number from 0 to "},
		{"fraction", "[sandbox]\nlimits.cpu_s = 1.5\n", ":2:8: sandbox.limits.cpu_s: got the number 1.5"},
		{"far too large", "[sandbox.limits]\nmemory_mb = 99999999999999\n", "use a whole number from 0 to "},
		{"inline table", "sandbox = { env = { inherit = 'some' } }\n", ":1:21: sandbox.env.inherit: invalid value \"some\""},
		{"table of numbers", "[providers.x]\nheaders = { a = 1 }\n", `headers: "a": got the number 1; use a string`},
		{"inside a provider", "[providers.x]\nbase_uri = 'h'\n", `(did you mean "providers.x.base_url"?)`},
		{"a name with a dot", "[tools.\"a.b\"]\nenable = true\n", ":2:1: unknown setting"},
		{"control characters", "model = \"a\\u001b[2J\"\n", `model: invalid value "a\x1b[2J": control characters are not allowed`},
		{"a yes in a file", "[sandbox]\nallow_home = true\n", "sandbox.allow_home is not allowed in a file"},
		{"provider missing", "model_provider = 'locl'\n[providers.local]\nbase_url = 'http://h'\n", `model_provider is "locl", which is not configured (did you mean "local"?)`},
		{"provider without URL", "model_provider = 'x'\n[providers.x]\nkey_env = 'K'\n", "[providers.x] has no base_url"},
		{"provider without URL, not in use", "[providers.x]\n\nheaders = {}\n", ":3:1: [providers.x] has no base_url"},
		{"provider with a slash", "[providers.'a/b']\nbase_url = 'http://h'\n", `:2:1: the name "a/b" of a provider holds a slash`},
		{"address without a scheme", "\n[providers.x]\nbase_url = 'api.example.com/v1'\n", `:3:1: providers.x.base_url: invalid value "api.example.com/v1": must look like https://host/v1`},
		{"address of a file", "base_url = 'file:///etc'\n", `:1:1: base_url: invalid value "file:///etc"`},
		{"an unknown wire", "[providers.groq]\nwire = 'response'\n", `:2:1: providers.groq.wire: invalid value "response"; use one of "", "chat", "responses" (did you mean "responses"?)`},
		{"a key in the place of a variable", "[providers.groq]\nkey_env = 'gsk-very-secret'\n", ":2:1: providers.groq.key_env: not a variable name. Put the key"},
		{"no command", "[providers.groq]\nkey_command = []\n", ":2:1: providers.groq.key_command: must name a program and its arguments"},
		{"programs, none", "[sandbox]\nallowed_programs = []\n", ":2:1: sandbox.allowed_programs: the list is empty"},
		{"folders, none", "[sandbox]\nallowed_workdirs = []\n", ":2:1: sandbox.allowed_workdirs: the list is empty"},
		{"a command as one string", "[providers.groq]\nkey_command = 'pass groq'\n", "use a list of strings"},
		{"an invalid header name", "[providers.groq]\nheaders = { \"X A\" = 'b' }\n", `:2:1: providers.groq.headers: invalid header name "X A"`},
		{"a header in two lines", "[providers.groq]\nheaders = { X = \"a\\nb\" }\n", `the header "X" has control characters`},
		{"limits of a model", "[models.'openai/gpt-9.1']\ncontext = 'much'\n", `:2:1: models.openai/gpt-9.1.context: got the string "much"; use a whole number`},
		{"near a preset", "model_provider = 'gorq'\n", `(did you mean "groq"?)`},
		{"behind a byte order mark", "\ufeffmodel = 1\n", ":1:1: model: got the number 1"},
		{"bad behind a byte order mark", "\ufeffmodel 1\n", ":1:7: not valid TOML: "},
		{"UTF-16", "\xff\xfem\x00=\x001\x00", ":1:1: the file is UTF-16 or UTF-32: save it as UTF-8"},
		{"UTF-16, big first", "\xfe\xff\x00m\x00=\x001", ":1:1: the file is UTF-16 or UTF-32: save it as UTF-8"},
		{"UTF-16 without a mark", "m\x00=\x001\x00", ":1:1: the file is UTF-16 or UTF-32"},
		{"noise", "\xff\x00{{", ":1:1: not valid TOML"},
		{"UTF-32", "\xff\xfe\x00\x00m\x00\x00\x00", ":1:1: the file is UTF-16 or UTF-32"},
		{"Latin-1", "model = 'caf\xe9'\n", ":1:"},
		{"NUL", "model = 'a'\n\x00", ":2:1: not valid TOML"},
		{"date", "model = 2020-01-01\n", "model: got a date or time; use a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.file, config.Sources{})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "config.toml:") {
				t.Errorf("got  %v\nwant …config.toml…%s", err, c.want)
			}
			var e *config.Error
			if !errors.As(err, &e) {
				t.Errorf("%T is not a *config.Error", err)
			}
		})
	}
}

// TestAllMistakesAtOnce: errors come in the order of the file, and their number is bounded.
func TestAllMistakesAtOnce(t *testing.T) {
	_, err := load(t, "zzz = 1\nmodel = 1\n[tui]\nmouse = 1\n", config.Sources{})
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], ":1:1:") || !strings.Contains(lines[1], ":2:1:") || !strings.Contains(lines[2], ":4:1:") {
		t.Errorf("%q", lines)
	}
	many := ""
	for i := range 50 {
		many += fmt.Sprintf("x%d = 1\n", i)
	}
	if _, err := load(t, many, config.Sources{}); strings.Count(err.Error(), "\n") != 10 || !strings.Contains(err.Error(), "and 40 more") {
		t.Errorf("%v", err)
	}
}

func TestCommandLineMistakes(t *testing.T) {
	for arg, want := range map[string]string{
		"model":                        `-c: "model": want key=value`,
		"modle=x":                      `did you mean "model"?`,
		"sandbox=read-only":            "sandbox is a table, not a value",
		"sandbox.mode=full":            "-c: sandbox.mode: invalid value \"full\"; use one of",
		"tui.mouse=maybe":              `tui.mouse: invalid value "maybe"; use true or false, written as TOML`,
		"sandbox.add_dirs=/x":          "use a list of strings, written as TOML",
		"model=a\nb":                   "control characters",
		"tui.mouse=true\nmodel = 'x'":  "use true or false",
		"sandbox.limits.cpu_s=9999999": "use a whole number from 0 to",
		"model.x=1":                    "nothing lies below it",
		"=x":                           "unknown setting",
		"sandbox.env.set.=x":           "unknown setting",
		"sandbox.env.set.A.B=x":        "unknown setting",
		"providers.p.headers.A=b\nc":   "control characters",
	} {
		if _, err := load(t, "", config.Sources{Overrides: []string{arg}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-c %q: %v, want %q", arg, err, want)
		}
	}
	_, err := load(t, "", config.Sources{Flags: []config.Flag{{Name: "--sandbox", Key: "sandbox.mode", Values: []string{"all"}}}})
	if err == nil || !strings.HasPrefix(err.Error(), `--sandbox: invalid value "all"; use one of`) {
		t.Errorf("%v", err)
	}
}

func TestOverrideForms(t *testing.T) {
	c, err := load(t, "", config.Sources{Overrides: []string{
		`model="quoted"`, "base_url=http://x/v1?a=b", `sandbox.add_dirs=["/x", "/y"]`, "sandbox.limits.cpu_s=3", "tools.shell.enabled=false",
		`sandbox.env.set={A = "b"}`, "sandbox.env.set.PORT=8080", `sandbox.env.set."x.y"="q"`, "sandbox.allow_home=true", `providers.p.base_url=http://p/v1`, "model_provider=p",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Model != "quoted" || c.BaseURL != "http://x/v1?a=b" || !slices.Equal(c.Sandbox.AddDirs, []string{"/x", "/y"}) || c.Sandbox.Limits.CPUSeconds != 3 ||
		*c.Tools["shell"] || !maps.Equal(c.Sandbox.Env.Set, map[string]string{"A": "b", "PORT": "8080", "x.y": "q"}) || !c.Sandbox.AllowHome || c.Providers["p"].BaseURL != "http://p/v1" {
		t.Errorf("%+v", c)
	}
}

func TestUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := load(t, "", config.Sources{File: dir}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	big := filepath.Join(dir, "big.toml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# x\n", 1<<19)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, "", config.Sources{File: big}); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("2 MiB: %v", err)
	}
}

// TestProjectFileIsOnlyReported: a project's settings file is not read.
func TestProjectFileIsOnlyReported(t *testing.T) {
	ws := t.TempDir()
	if c, err := load(t, "", config.Sources{Workspace: ws}); err != nil || c.ProjectFile != "" {
		t.Errorf("%q, %v", c.ProjectFile, err)
	}
	file := filepath.Join(ws, ".codeagent", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("sandbox = { mode = 'danger-full-access' }\nnot toml"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, "", config.Sources{Workspace: ws})
	if err != nil || c.ProjectFile != file || c.Sandbox.Mode != config.WorkspaceWrite {
		t.Errorf("%q, mode %q, %v", c.ProjectFile, c.Sandbox.Mode, err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add(everything)
	f.Add("sandbox = { limits = { cpu_s = 1 } }")
	f.Add("[a.b.c]\n[[x]]\n'' = 1")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := load(t, "#\n"+text, config.Sources{})
		if err == nil {
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if len(line) > 4096 {
				t.Errorf("an error of %d bytes", len(line))
			}
		}
	})
}
