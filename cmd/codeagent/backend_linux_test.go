package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
	"codeagent/sandbox"
)

// TestBwrap: on a kernel on which the native sandbox does not work, commands run with --backend bwrap, confined. Where
// bwrap is missing too no command runs, whatever the fallback is.
func TestBwrap(t *testing.T) {
	t.Parallel()
	program, err := attack.LookIn(attack.Path, "bwrap")
	if err != nil {
		t.Skip(err)
	}
	const script = "echo ran > ~/outside; echo made > made; echo ran"
	for _, row := range []struct {
		name, path string
		flags      []string
		code       int
		says       string
	}{
		{"bwrap", "", []string{"--backend", "bwrap"}, 0, ""},
		{"a table", "", []string{"-cbackends.old.kind=bwrap", "--backend", "old"}, 0, ""},
		{"a host", "", []string{"--backend", "bwrap", "--allow-host", "localhost:80"}, 125, "single hosts cannot be opened inside this sandbox (bwrap runs commands without"},
		{"no program", "/nowhere", []string{"--backend", "bwrap", "-csandbox.fallback=warn"}, 125, "install the package bubblewrap"},
		{"no backend", "", []string{"--backend", "none"}, 2, `there is no backend "none"; use one of bwrap, container, native, wasm`},
		{"no kind", "", []string{"-cbackends.old={}", "--backend", "old"}, 2, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := newUser(t, "user", attack.PlainUser).apart(t)
			report := u.out + "/report.json"
			cmd := u.codeagent(append(append([]string{"sandbox", "--report", report}, row.flags...), "--", "/bin/bash", "-c", script)...)
			if row.path != "" {
				cmd.Env = append(cmd.Env, "PATH="+row.path)
			}
			if os.Geteuid() == 0 {
				cmd = surrounded(t, attack.SurroundGVisor, attack.PlainUser, cmd)
			}
			r := run1(t, cmd)
			made, _ := os.ReadFile(u.work + "/made")
			if _, err := os.Stat(u.home + "/outside"); err == nil {
				t.Errorf("written outside: %v", r)
			}
			if ran := string(made) == "made\n" && r.stdout == "ran\n"; ran != (row.code == 0) || r.code != row.code || !strings.Contains(r.stderr, row.says) {
				t.Errorf("with %s: %v", program, r)
			}
			if row.code == 0 {
				if r.read(t, report); r.report.Sandbox.Backend != "bwrap" || !(sandbox.Enforcement{Weaknesses: r.report.Sandbox.Weaknesses}).Weak("evidence") {
					t.Errorf("%+v", r.report.Sandbox)
				}
			}
		})
	}
	u := newUser(t, "user", attack.PlainUser).apart(t)
	if r := run1(t, u.codeagent("doctor", "-cbackends.old.kind=bwrap")); !strings.Contains(r.stdout, "backend   old (bwrap): works: bwrap, seccomp") {
		t.Errorf("%v", r)
	}
}

// serverScript is an MCP server of sh that notes the command line of its process 1.
const serverScript = `r() { read -r line; }
cat /proc/1/cmdline >"$CODEAGENT_SERVER_DIR/first"
r; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
r; echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}'
r; r; echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}'
r`

// TestBackendOfServer: an MCP server is confined by the backend that its settings name, which says what it does not
// enforce, whatever confines the session. Nothing stands in for one that does not work.
func TestBackendOfServer(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		u = u.apart(t)
		for _, c := range []struct {
			backend string
			flags   []string
			first   string // the command line of process 1 begins so; "": the server does not start
			says    string
		}{
			{"", nil, "linux-sandbox-helper", ""}, {"native", nil, "linux-sandbox-helper", ""}, {"native", []string{"--backend", "bwrap"}, "linux-sandbox-helper", ""}, {"", []string{"--backend", "bwrap"}, "/proc/self/fd/", ""},
			{"bwrap", nil, "/proc/self/fd/", "the backend bwrap does not enforce everything for the MCP server t"},
			{"nowhere", nil, "", `there is no backend "nowhere"`}, {"container", nil, "", "image"},
			{"wasm", nil, "", "/bin/sh"}, {"bwrap", []string{"--draft"}, "", "works on a draft"},
		} {
			first := u.home + "/.local/share/codeagent/servers/t/first"
			_ = os.Remove(first)
			u.put(t, map[string]string{"home/server": serverScript, "home/.config/codeagent/config.toml": fmt.Sprintf(
				"[mcp.servers.t]\ncommand = \"/bin/sh\"\nargs = [%q]\n[mcp.servers.t.sandbox]\nread = [%q]\nbackend = %q\n", u.home+"/server", u.home+"/server", c.backend)})
			srv := serve(t, scripted.Reply{Text: "done"})
			cmd := u.codeagent(append([]string{"exec", "-m", "test", "go on"}, c.flags...)...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			r := run1(t, cmd)
			found, _ := os.ReadFile(first)
			if r.code != 0 || !strings.HasPrefix(string(found), c.first) || (len(found) > 0) != (c.first != "") || !strings.Contains(r.stderr, c.says) {
				t.Errorf("%+v: process 1 is %q: %v", c, found, r)
			}
		}
	})
}

// BenchmarkScreenEchoBesideBombs is the echo while a command takes what it can get, natively and in a container of Podman.
func BenchmarkScreenEchoBesideBombs(b *testing.B) {
	podman := attack.NewPodman(b)
	b.Setenv("PATH", filepath.Dir(podman)+":"+os.Getenv("PATH"))
	for name, flags := range map[string][]string{
		"native":    {"-csandbox.limits.memory_mb=512"},
		"container": {"-cbackends.box.kind=container", "-cbackends.box.image=" + attack.Image, "-cbackends.box.memory=256", "-cbackends.box.tasks=300", "--backend", "box"},
	} {
		for mode := range bombs {
			b.Run(name+"/"+mode, func(b *testing.B) { echo(b, benchScreen(b, flags...)(), mode) })
		}
	}
}

// TestWasm: with --backend wasm a module runs, and nothing else does.
func TestWasm(t *testing.T) {
	t.Parallel()
	const small = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x0a\x01\x06_start\x00\x00\x0a\x04\x01\x02\x00\x0b"
	eachUser(t, func(t *testing.T, u user) {
		if err := os.WriteFile(u.work+"/small.wasm", []byte(small), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			code int
			argv []string
			says string
		}{
			{0, []string{"./small.wasm"}, ""},
			{126, []string{"./small.wasm", "argument"}, "takes no arguments"},
			{126, []string{"sh", "-c", "echo out >made"}, "there is no shell"},
			{126, []string{"/bin/touch", "made"}, "runs WebAssembly modules alone"},
		} {
			r := run1(t, u.codeagent(append([]string{"sandbox", "--backend", "wasm", "--"}, c.argv...)...))
			if r.code != c.code || !strings.Contains(r.stderr, c.says) {
				t.Errorf("%q: %v", c.argv, r)
			}
		}
		if _, err := os.Lstat(u.work + "/made"); err == nil {
			t.Error("something else ran")
		}
	})
}

// TestBackendByRule: a rule sends commands to the backend that it names, which says once what it does not enforce. Nothing
// stands in for one that does not work, and a line runs in one backend.
func TestBackendByRule(t *testing.T) {
	t.Parallel()
	const first = "cat /proc/1/cmdline; echo ran > ~/outside; echo ran > made" // names process 1
	const native, bwrap = "linux-sandbox-helper", "/proc/self/fd/"
	rule := func(words, backend string) string {
		return fmt.Sprintf("[[command]]\nwords = [%q]\nbackend = %q\n", words, backend)
	}
	eachUser(t, func(t *testing.T, u user) {
		u = u.apart(t)
		rows := []struct {
			rules, call string
			flags       []string
			in          string // the command line of process 1 begins so; "": nothing runs
			says        string
		}{
			{"", first, nil, native, ""},
			{rule("cat", "bwrap"), first, nil, bwrap, "the backend bwrap, to which a rule sends commands, does not enforce everything"},
			{rule("cat", "old"), "for i in 1; do " + first + "; done", []string{"-cbackends.old.kind=bwrap"}, bwrap, ""},
			{rule("cat", "bwrap"), "if true; then /bin/'cat' /proc/1/cmdline; fi; echo ran > made", nil, bwrap, ""},
			{rule("cat", "native"), first, nil, native, ""},
			{rule("cat", "native"), first, []string{"--backend", "bwrap"}, native, ""},
			{rule("touch", "bwrap"), "grep touch /proc/1/cmdline; " + first, nil, native, ""},
			{rule("cat", "bwrap") + rule("head", "native"), first + "; head made", nil, "", "parts of this line to different backends"},
			{rule("cat", "bwrap") + "[[command]]\nwords = [\"cat\"]\ndecision = \"forbid\"\nreason = \"because\"\n", first, nil, "", "forbids this: because"},
			{rule("cat", "box"), first, []string{"-cbackends.box.kind=container", "-csandbox.fallback=warn"}, "", "image"},
			{rule("cat", "bwrap"), first, []string{"--draft"}, "", "works on a draft"},
			{rule("cat", "bwrap"), first, []string{"-csandbox.required_layers=[\"landlock\"]"}, "", "required_layers"},
		}
		for _, c := range sampled(rows, machine.Sample(t, 4)) {
			u.put(t, map[string]string{"home/.config/codeagent/rules.toml": c.rules})
			_ = os.Remove(u.work + "/made")
			srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall(c.call)}}, scripted.Reply{Calls: []scripted.Call{shellCall("cat made")}}, scripted.Reply{Text: "done"})
			cmd := u.codeagent(append([]string{"exec", "--json", "-m", "test", "go on"}, c.flags...)...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			r := run1(t, cmd)
			if _, err := os.Stat(u.work + "/made"); (err == nil) != (c.in != "") && !slices.Contains(c.flags, "--draft") {
				t.Errorf("%+v: made: %v; %v", c, err, r)
			}
			if _, err := os.Stat(u.home + "/outside"); err == nil {
				t.Fatalf("%+v: written outside", c)
			}
			body := string(srv.Requests()[1].Body)
			told := body[strings.LastIndex(body, `"role":"tool"`):] // the result for the model
			if !strings.Contains(r.stdout, `"aggregated_output":"`+c.in) || !strings.Contains(r.stdout+told, c.says) || strings.Count(r.stdout, "does not enforce everything") > 1 {
				t.Errorf("%+v: %v", c, r)
			}
			if strings.Contains(told, "[backend] A rule ran this in the backend") != (c.in == bwrap || c.in != "" && len(c.flags) == 2) {
				t.Errorf("%+v: %s", c, told)
			}
		}
		u.put(t, map[string]string{"home/.config/codeagent/rules.toml": "\n" + rule("cat", "nowhere")})
		cmd := u.codeagent("exec", "-m", "test", "go on")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL=http://localhost:1")
		if r := run1(t, cmd); r.code != 2 || !strings.Contains(r.stderr, `rules.toml:2: there is no backend "nowhere"`) {
			t.Errorf("%v", r)
		}
	})
}
