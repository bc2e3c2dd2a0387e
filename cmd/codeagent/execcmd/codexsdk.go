package execcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/internal/short"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

// The dialect of @openai/codex-sdk 0.163.0, which starts `codeagent exec --experimental-json` if
// codexPathOverride names codeagent. The names come from the package's dist/index.js
// (CodexExec.run: flags, --config keys, CODEX_API_KEY) and, for `config` and `configOverrides`,
// from the Codex configuration reference. Lines on stdout: headless/plain.go.

// codexKey is the variable in which the SDK passes the option apiKey.
const codexKey = "CODEX_API_KEY"

// leftover bounds the wait for the codeagent of the turn before, which the SDK ends with SIGTERM
// and does not wait for.
const leftover = 30 * time.Second

// atHome returns s with the account's home folder if the environment names none: programs give the
// SDK an environment of their own, and Codex looks the folder up.
func atHome(ctx context.Context, s cli.Stdio) cli.Stdio {
	if s.Env("HOME") != "" || s.Env("CODEAGENT_HOME") != "" {
		return s
	}
	data, err := hostfile.Read(ctx, "/etc/passwd", 1<<20)
	if err != nil {
		return s // without a home folder codeagent says what to set
	}
	for account := range strings.Lines(string(data)) {
		fields := strings.Split(account, ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(os.Getuid()) && path.IsAbs(fields[5]) {
			s.Environ = append(slices.Clone(s.Environ), "HOME="+fields[5])
			break
		}
	}
	return s
}

// codexFlags are flags of the SDK that no flag of ours stands for.
type codexFlags struct {
	skipGitCheck               bool // codeagent works without a repository too
	threadSource, cyberProgram string
}

func (c *codexFlags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&c.skipGitCheck, "skip-git-repo-check", false, "accepted for the Codex SDK; no effect")
	fl.StringVar(&c.threadSource, "thread-source", "", "accepted for the Codex SDK; no effect")
	fl.StringVar(&c.cyberProgram, "cyber-access-program", "", "accepted for the Codex SDK; no effect")
	for _, name := range []string{"skip-git-repo-check", "thread-source", "cyber-access-program"} {
		fl.Lookup(name).Hidden = true
	}
}

// codexNames are the settings of Codex that have another name here and the same values.
var codexNames = []struct{ theirs, ours string }{
	{"openai_base_url", "base_url"},
	{"approval_policy", "ask_for_approval"},
	{"sandbox_mode", "sandbox.mode"},
	{"sandbox_workspace_write.writable_roots", "sandbox.add_dirs"},
	{"shell_environment_policy.inherit", "sandbox.env.inherit"},
	{"shell_environment_policy.exclude", "sandbox.env.exclude"},
	{"shell_environment_policy.set", "sandbox.env.set"},
	{"model_providers.NAME.base_url", "providers.NAME.base_url"},
	{"model_providers.NAME.env_key", "providers.NAME.key_env"},
	{"model_providers.NAME.http_headers", "providers.NAME.headers"},
	{"model_providers.NAME.wire_api", "providers.NAME.wire"},
	{"mcp_servers.NAME.command", "mcp.servers.NAME.command"},
	{"mcp_servers.NAME.args", "mcp.servers.NAME.args"},
	{"mcp_servers.NAME.env", "mcp.servers.NAME.env"},
	{"mcp_servers.NAME.env_vars", "mcp.servers.NAME.sandbox.env"},
	{"mcp_servers.NAME.url", "mcp.servers.NAME.url"},
	{"mcp_servers.NAME.http_headers", "mcp.servers.NAME.headers"},
	{"mcp_servers.NAME.enabled", "mcp.servers.NAME.enabled"},
	{"mcp_servers.NAME.enabled_tools", "mcp.servers.NAME.enabled_tools"},
	{"mcp_servers.NAME.disabled_tools", "mcp.servers.NAME.disabled_tools"},
	{"mcp_servers.NAME.required", "mcp.servers.NAME.required"},
	{"mcp_servers.NAME.startup_timeout_sec", "mcp.servers.NAME.startup_timeout_s"},
	{"mcp_servers.NAME.tool_timeout_sec", "mcp.servers.NAME.tool_timeout_s"},
}

// codexLimits are tables and settings of Codex that limit commands. One that cannot be translated
// is an error: the run would be less confined than its program asked for.
var codexLimits = []string{"approval_policy", "default_permissions", "permissions", "sandbox_mode", "sandbox_workspace_write", "shell_environment_policy"}

// openNetwork is network_access = true.
const openNetwork = "sandbox.network=full"

// dialect translates the settings of one run.
type dialect struct {
	// first has the lowest priority; then come the settings in their order.
	first, settings []string
	mode            string // the last sandbox mode named
	warnings        []string
}

// fromCodex translates the flags and settings of the SDK to ours. What has no effect here is a warning.
func fromCodex(s cli.Stdio, f cli.Flags, c codexFlags) (cli.Flags, []string, error) {
	var d dialect
	if s.Env(codexKey) != "" {
		d.first = append(d.first, "api_key_env="+codexKey)
	}
	for _, o := range f.Settings {
		key, text, ok := strings.Cut(o, "=")
		if !ok {
			d.settings = append(d.settings, o) // config reports it
			continue
		}
		if err := d.translate(strings.TrimSpace(key), tomlValue(text)); err != nil {
			return f, nil, cli.Usage(fmt.Errorf("--config %s: %w", short.Quote(o, 200), err))
		}
	}
	if c.cyberProgram != "" && c.cyberProgram != "standard" {
		d.warn("--cyber-access-program %s has no effect: codeagent does not know it", short.Quote(c.cyberProgram, 60))
	}
	if f.Sandbox != "" {
		d.mode = f.Sandbox
	}
	if d.mode == config.ReadOnly {
		// In Codex the network and further directories belong to the mode workspace-write.
		if len(f.AddDirs) > 0 {
			f.AddDirs = nil
			d.warn("additional directories have no effect: the sandbox mode is %s", d.mode)
		}
		d.settings = slices.DeleteFunc(d.settings, func(o string) bool {
			return o == openNetwork || strings.HasPrefix(o, "sandbox.add_dirs=")
		})
	}
	f.Settings = append(d.first, d.settings...)
	return f, d.warnings, nil
}

func (d *dialect) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

func (d *dialect) set(key string, v any) { d.settings = append(d.settings, key+"="+inTOML(v)) }

// translate translates one setting; a table that is not a setting, each entry of it.
func (d *dialect) translate(key string, v any) error {
	if d.special(key, v) {
		return nil
	}
	parent, entry := key, ""
	if last := strings.LastIndexByte(key, '.'); last > 0 {
		parent, entry = key[:last], key[last:]
	}
	for _, n := range codexNames {
		if ours, ok := renamed(key, n.theirs, n.ours); ok {
			d.set(ours, literally(n.ours, v))
			return nil
		}
		// The SDK passes each entry of an object as a setting of its own.
		if ours, ok := renamed(parent, n.theirs, n.ours); ok && config.Known(ours+entry) {
			d.set(ours+entry, literally(n.ours, v))
			return nil
		}
	}
	if key == "sandbox.mode" {
		d.mode, _ = v.(string)
	}
	if config.Known(key) {
		d.set(key, v)
		return nil
	}
	if table, ok := v.(map[string]any); ok && len(table) > 0 {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if err := d.translate(key+"."+name, table[name]); err != nil {
				return err
			}
		}
		return nil
	}
	if first, _, _ := strings.Cut(key, "."); slices.Contains(codexLimits, first) {
		return errors.New("codeagent has no such limit for commands, so it does not start without it. Remove the setting, or use one of codeagent's (codeagent help config)")
	}
	d.warn("the setting %s has no effect: codeagent does not know it", short.Quote(key, 60))
	return nil
}

// special translates the settings that need more than another name.
func (d *dialect) special(key string, v any) bool {
	text, _ := v.(string)
	on, isBool := v.(bool)
	switch key {
	case "openai_base_url":
		// Codex asks this address over the Responses API, whatever provider a file names.
		d.first = append(d.first, "model_provider=", "wire="+config.Responses)
		return false
	case "model_provider":
		if text != "openai" {
			return false
		}
		d.set(key, "") // the provider of openai_base_url and CODEX_API_KEY
	case "model_reasoning_effort":
		switch text {
		case "max", "ultra", "persistent":
			d.warn("the reasoning effort %s is not known; using xhigh", text)
			text = "xhigh"
		}
		d.set("reasoning_effort", text)
	case "web_search", "features.web_search_request", "tools.web_search":
		if text != "disabled" && (on || !isBool) {
			d.warn("web_search has no effect: codeagent does not search the web")
		}
	case "sandbox_mode":
		d.mode = text
		return false
	case "sandbox_workspace_write.network_access":
		if !isBool {
			return false
		}
		if on {
			d.settings = append(d.settings, openNetwork)
		} else {
			d.set("sandbox.network", "deny")
		}
	default:
		parts := strings.Split(key, ".")
		// Codex asks each provider over the Responses API, and shows its name only.
		if len(parts) != 3 || parts[0] != "model_providers" {
			return false
		}
		if parts[2] == "base_url" {
			d.first = append(d.first, "providers."+parts[1]+".wire="+config.Responses)
		}
		return parts[2] == "name"
	}
	return true
}

// literally returns a value of Codex for the setting ours, which may take $NAME as a variable.
func literally(ours string, v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasSuffix(ours, ".headers") || strings.HasSuffix(ours, ".url") || strings.HasPrefix(ours, "mcp.servers.NAME.env") {
			return strings.ReplaceAll(v, "$", "$$")
		}
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			out[name] = literally(ours, value)
		}
		return out
	}
	return v
}

// renamed returns the name here of a key that fits the pattern theirs; NAME in it stands for any
// name.
func renamed(key, theirs, ours string) (string, bool) {
	if key == theirs {
		return ours, true
	}
	before, after, ok := strings.Cut(theirs, "NAME")
	if !ok || !strings.HasPrefix(key, before) || !strings.HasSuffix(key, after) || len(key) <= len(theirs)-len("NAME") {
		return "", false
	}
	name := key[len(before) : len(key)-len(after)]
	return strings.Replace(ours, "NAME", name, 1), !strings.Contains(name, ".")
}

// tomlValue returns the value of a setting: as Codex does, a text that is not TOML is a string.
func tomlValue(text string) any {
	var holder map[string]any
	if err := toml.Unmarshal([]byte("v = "+text), &holder); err != nil || len(holder) != 1 {
		return strings.TrimSpace(text)
	}
	return holder["v"]
}

// inTOML writes a value as TOML.
func inTOML(v any) string {
	if table, ok := v.(map[string]any); ok {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(table)) {
			parts = append(parts, inTOML(name)+" = "+inTOML(table[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	data, err := json.Marshal(v) // of strings, numbers, booleans and lists it is TOML too
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
