package execcmd

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
)

// TestDialect: what the SDK passes, and what codeagent is set to.
func TestDialect(t *testing.T) {
	rows := []struct {
		name     string
		flags    cli.Flags
		codex    codexFlags
		environ  []string
		settings []string // wanted
		dirs     []string // wanted
		warning  string   // a part of the only one; "": none
		fails    string   // a part of the error
	}{
		{name: "nothing"},
		{name: "base URL and key", flags: cli.Flags{Settings: []string{`openai_base_url="http://h/v1"`}}, environ: []string{"CODEX_API_KEY=k"},
			settings: []string{"api_key_env=CODEX_API_KEY", "model_provider=", "wire=responses", `base_url="http://h/v1"`}},
		{name: "another API at the base URL", flags: cli.Flags{Settings: []string{`wire="chat"`, `openai_base_url="http://h/v1"`}},
			settings: []string{"model_provider=", "wire=responses", `wire="chat"`, `base_url="http://h/v1"`}},
		{name: "network", flags: cli.Flags{Sandbox: "workspace-write", Settings: []string{"sandbox_workspace_write.network_access=true"}},
			settings: []string{"sandbox.network=full"}},
		{name: "the last network setting counts", flags: cli.Flags{Settings: []string{"sandbox_workspace_write={network_access=true}", "sandbox_workspace_write.network_access=false"}},
			settings: []string{"sandbox.network=full", `sandbox.network="deny"`}},
		{name: "read-only opens no network", flags: cli.Flags{Sandbox: "read-only", Settings: []string{"sandbox_workspace_write.network_access=true"}}},
		{name: "read-only as a setting", flags: cli.Flags{Settings: []string{"sandbox_workspace_write.network_access=true", `sandbox_mode="read-only"`}},
			settings: []string{`sandbox.mode="read-only"`}},
		{name: "the flag counts before the setting", flags: cli.Flags{Sandbox: "workspace-write", Settings: []string{"sandbox_workspace_write.network_access=true", `sandbox_mode="read-only"`}},
			settings: []string{"sandbox.network=full", `sandbox.mode="read-only"`}},
		{name: "read-only writes no folder", flags: cli.Flags{Sandbox: "read-only", AddDirs: []string{"/d"}, Settings: []string{`sandbox_workspace_write.writable_roots=["/e"]`}},
			warning: "additional directories"},
		{name: "folders", flags: cli.Flags{AddDirs: []string{"/d"}, Settings: []string{`sandbox_workspace_write.writable_roots=["/e"]`}},
			settings: []string{`sandbox.add_dirs=["/e"]`}, dirs: []string{"/d"}},
		{name: "approval and effort", flags: cli.Flags{Settings: []string{`approval_policy="never"`, `model_reasoning_effort="high"`}},
			settings: []string{`ask_for_approval="never"`, `reasoning_effort="high"`}},
		{name: "an effort of the SDK alone", flags: cli.Flags{Settings: []string{`model_reasoning_effort="ultra"`}},
			settings: []string{`reasoning_effort="xhigh"`}, warning: "ultra"},
		{name: "no web search", flags: cli.Flags{Settings: []string{`web_search="disabled"`}}},
		{name: "no web search, of earlier SDKs", flags: cli.Flags{Settings: []string{"features.web_search_request=false"}}},
		{name: "web search of earlier SDKs", flags: cli.Flags{Settings: []string{"features.web_search_request=true"}}, warning: "web_search"},
		{name: "web search", flags: cli.Flags{Settings: []string{`web_search="live"`}}, warning: "web_search"},
		{name: "a provider", flags: cli.Flags{Settings: []string{`model_provider="p"`, `model_providers.p={name="P", base_url="http://h", env_key="K", http_headers={"X-A"="$b"}}`}},
			settings: []string{"providers.p.wire=responses", `model_provider="p"`, `providers.p.base_url="http://h"`, `providers.p.key_env="K"`, `providers.p.headers={"X-A" = "$$b"}`}},
		{name: "a provider, each entry by itself", flags: cli.Flags{Settings: []string{`model_providers.p.http_headers.X-A="b"`}},
			settings: []string{`providers.p.headers.X-A="b"`}},
		{name: "variables, each entry by itself", flags: cli.Flags{Settings: []string{`shell_environment_policy.set.A="b"`, `sandbox.env.set.C="d"`}},
			settings: []string{`sandbox.env.set.A="b"`, `sandbox.env.set.C="d"`}},
		{name: "an MCP server", flags: cli.Flags{Settings: []string{`mcp_servers.s.command="node"`, `mcp_servers.s.args=["a", "$b"]`, `mcp_servers.s.env.A="$b"`, `mcp_servers.s.env_vars=["C"]`, "mcp_servers.s.enabled=true", "mcp_servers.s.startup_timeout_sec=2", "mcp_servers.s.tool_timeout_sec=60"}},
			settings: []string{`mcp.servers.s.command="node"`, `mcp.servers.s.args=["a","$b"]`, `mcp.servers.s.env.A="$$b"`, `mcp.servers.s.sandbox.env=["C"]`, "mcp.servers.s.enabled=true", "mcp.servers.s.startup_timeout_s=2", "mcp.servers.s.tool_timeout_s=60"}},
		{name: "an MCP server as one table", flags: cli.Flags{Settings: []string{`mcp_servers.s={command="node", env={A="b"}}`}},
			settings: []string{`mcp.servers.s.command="node"`, `mcp.servers.s.env={"A" = "b"}`}},
		{name: "an MCP server elsewhere", flags: cli.Flags{Settings: []string{`mcp_servers.s.url="https://h/mcp"`, `mcp_servers.s.http_headers.X-A="$c"`}},
			settings: []string{`mcp.servers.s.url="https://h/mcp"`, `mcp.servers.s.headers.X-A="$$c"`}},
		{name: "an MCP server in codeagent's words", flags: cli.Flags{Settings: []string{`mcp.servers.s.env.A="$B"`}}, settings: []string{`mcp.servers.s.env.A="$B"`}},
		{name: "an MCP server that is off", flags: cli.Flags{Settings: []string{`mcp_servers.s.command="node"`, `mcp_servers.sx.command="node"`, "mcp_servers.s.enabled=false"}},
			settings: []string{`mcp.servers.s.command="node"`, `mcp.servers.sx.command="node"`, "mcp.servers.s.enabled=false"}},
		{name: "what codeagent asks about by itself", flags: cli.Flags{Settings: []string{`mcp_servers.s.tools.t.approval_mode="approve"`}}, warning: "approval_mode"},
		{name: "Codex's own provider", flags: cli.Flags{Settings: []string{`model_provider="openai"`}}, settings: []string{`model_provider=""`}},
		{name: "a profile of one's own", flags: cli.Flags{Settings: []string{`default_permissions="audit"`}}, fails: "no such limit"},
		{name: "what commands may not read", flags: cli.Flags{Settings: []string{`permissions.audit.filesystem={":root"="read","/p/.env"="deny"}`}}, fails: "no such limit"},
		{name: "a limit without a counterpart", flags: cli.Flags{Settings: []string{`shell_environment_policy.include_only=["PATH"]`}}, fails: "no such limit"},
		{name: "a network that is not a boolean", flags: cli.Flags{Settings: []string{`sandbox_workspace_write.network_access="x"`}}, fails: "no such limit"},
		{name: "variables", flags: cli.Flags{Settings: []string{`shell_environment_policy={inherit="all"}`}}, settings: []string{`sandbox.env.inherit="all"`}},
		{name: "codeagent's own setting", flags: cli.Flags{Settings: []string{`sandbox={deny_read=["**/.env"]}`, "retry.patience_s=5"}},
			settings: []string{`sandbox.deny_read=["**/.env"]`, "retry.patience_s=5"}},
		{name: "a string without quotes", flags: cli.Flags{Settings: []string{"approval_policy=on-request"}}, settings: []string{`ask_for_approval="on-request"`}},
		{name: "unknown", flags: cli.Flags{Settings: []string{"show_raw_agent_reasoning=true"}}, warning: `"show_raw_agent_reasoning" has no effect`},
		{name: "no value", flags: cli.Flags{Settings: []string{"x"}}, settings: []string{"x"}}, // config refuses it
		{name: "ignored flags", codex: codexFlags{skipGitCheck: true, threadSource: "user", cyberProgram: "standard"}},
		{name: "a program for access", codex: codexFlags{cyberProgram: "daybreak_red"}, warning: "cyber-access-program"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			stdio := cli.Stdio{Environ: r.environ}
			got, warnings, err := fromCodex(stdio, r.flags, r.codex)
			if r.fails != "" {
				if err == nil || !strings.Contains(err.Error(), r.fails) {
					t.Fatalf("error %v, want one with %q", err, r.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Settings, r.settings) {
				t.Errorf("settings %q, want %q", got.Settings, r.settings)
			}
			if !slices.Equal(got.AddDirs, r.dirs) {
				t.Errorf("folders %q, want %q", got.AddDirs, r.dirs)
			}
			switch {
			case r.warning == "" && len(warnings) > 0:
				t.Errorf("warnings %q, want none", warnings)
			case r.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], r.warning)):
				t.Errorf("warnings %q, want one with %q", warnings, r.warning)
			}
		})
	}
}

// TestAtHome: without HOME it is the account's, and nothing else changes.
func TestAtHome(t *testing.T) {
	for _, given := range [][]string{{"HOME=/h"}, {"CODEAGENT_HOME=/c"}} {
		if got := atHome(t.Context(), cli.Stdio{Environ: given}).Environ; !slices.Equal(got, given) {
			t.Errorf("%q becomes %q", given, got)
		}
	}
	want := []string{"A=b"}
	if account, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		want = append(want, "HOME="+account.HomeDir)
	}
	if got := atHome(t.Context(), cli.Stdio{Environ: []string{"A=b"}}).Environ; !slices.Equal(got, want) {
		t.Errorf("the environment %q, want %q", got, want)
	}
}
