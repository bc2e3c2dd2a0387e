// Package config merges files, environment and flags into one Config in which every
// value knows its source, and derives the sandbox policy of commands from it. It reads
// settings files and file metadata through hostfile; it writes only codeagent's own
// folders. Start reading at the table in settings.go, from which parsing, checks, -c and
// docs/config.md are derived.
package config

import (
	"fmt"
	"slices"
	"time"
)

// Config holds all settings. A field has the default of the table unless a source sets it.
type Config struct {
	Model         string `toml:"model"`
	ModelProvider string `toml:"model_provider"`
	BaseURL       string `toml:"base_url"`
	APIKeyEnv     string `toml:"api_key_env"`
	// Wire is the top level's Chat or Responses; empty: chosen by the base URL.
	Wire            string `toml:"wire"`
	ReasoningEffort string `toml:"reasoning_effort"`
	// AskForApproval is "untrusted", "on-request", "on-failure", "granular" or "never". Refuse is
	// granular.refuse: the topics of questions that granular refuses.
	AskForApproval string     `toml:"ask_for_approval"`
	Refuse         []string   `toml:"granular.refuse"`
	Sandbox        Sandbox    `toml:"sandbox"`
	TUI            TUI        `toml:"tui"`
	Context        compaction `toml:"context"`
	// PatienceSeconds is retry.patience_s; 0: unset, see Patience.
	PatienceSeconds int64 `toml:"retry.patience_s"`
	// Streams is exec.streams, "together" or Apart.
	Streams string `toml:"exec.streams"`
	// Speculation is speculation.mode, "off" or Decoding.
	Speculation string `toml:"speculation.mode"`
	// Patterns is speculation.patterns, "off", PatternReads or "drafts".
	Patterns string `toml:"speculation.patterns"`
	// Answers is the [answers] table.
	Answers Answers `toml:"answers"`
	// Unkept is undo.unkept, "ask" or "allow".
	Unkept string `toml:"undo.unkept"`
	// WebSearch lets the provider search the web; see MaySearch.
	WebSearch bool `toml:"web_search"`
	// Tools says by tool name whether it is enabled; absent means enabled.
	Tools map[string]*bool `toml:"tools.NAME.enabled"`
	// Providers holds the [providers.NAME] tables.
	Providers map[string]*Provider `toml:"providers.NAME"`
	// Backends holds the [backends.NAME] tables.
	Backends map[string]*Backend `toml:"backends.NAME"`
	// Models holds the [models.NAME] tables.
	Models map[string]*ModelSettings `toml:"models.NAME"`
	// Bound is the [keys] table: the keys of each action that it names.
	Bound map[string]*[]string `toml:"keys.NAME"`
	// Themes is the [themes] table: colours by role.
	Themes     map[string]*map[string]string `toml:"themes.NAME"`
	Extensions Extensions
	// MCP is the [mcp] table.
	MCP mcp `toml:"mcp"`
	// Diagnostics is the [diagnostics] table; see LanguageServers.
	Diagnostics diagnostics `toml:"diagnostics"`
	// ProjectFile is the path of a .codeagent/config.toml in the workspace. It
	// is not read; a notice says so. Empty: no such file.
	ProjectFile string

	sources
}

// sources are where the values come from.
type sources struct {
	origins map[string]Origin
	// fileDirs are the folders of sandbox.add_dirs that the file names.
	fileDirs []string
	profiles profiles
	// managed are the values of the managed settings, most the Config of these alone; nil: root manages nothing.
	managed []value
	most    *Config
	// keys are the kept keys by the names of providers; unread is why their file is not used.
	keys   map[string]*keptKey
	unread error
}

// Sandbox is the [sandbox] table.
type Sandbox struct {
	// Mode is one of the preset names ReadOnly, WorkspaceWrite, FullAccess, Strict.
	Mode string `toml:"mode"`
	// AllowedPrograms are names in PATH or absolute paths, AllowedWorkdirs folders; nil: all are allowed.
	AllowedPrograms []string `toml:"allowed_programs"`
	AllowedWorkdirs []string `toml:"allowed_workdirs"`
	// AddDirs, AddFiles, DenyRead and Protected are as written: not yet absolute.
	AddDirs   []string `toml:"add_dirs"`
	AddFiles  []string `toml:"add_files"`
	DenyRead  []string `toml:"deny_read"`
	Protected []string `toml:"protected"`
	// DenySecrets adds the usual paths of keys to DenyRead.
	DenySecrets bool `toml:"deny_secrets"`
	// Temp is "private" or "shared".
	Temp string `toml:"tmp"`
	// Backend is the name of the backend that confines commands; see BackendKind.
	Backend string `toml:"backend"`
	// Fallback is "refuse" or "warn": run unconfined if no backend works.
	Fallback string `toml:"fallback"`
	// RequiredLayers must be active, or no command runs.
	RequiredLayers []string `toml:"required_layers"`
	// AllowHome allows a workspace that is the home folder or contains codeagent's own files.
	AllowHome bool `toml:"allow_home"`
	// Network is "deny" or "full".
	Network string `toml:"network"`
	// AllowHosts and DenyHosts are hosts (sandbox.ParsePattern), AllowSockets paths, as written.
	AllowHosts   []string `toml:"allow_hosts"`
	DenyHosts    []string `toml:"deny_hosts"`
	AllowSockets []string `toml:"allow_sockets"`
	// AllowFetch are hosts, as written; see FetchHosts.
	AllowFetch []string `toml:"allow_fetch"`
	// Publish are ports, as written; see Ports.
	Publish []string `toml:"publish"`
	// Evidence is "full", "network" or "off".
	Evidence string `toml:"evidence"`
	// Hold allows refused calls of a running command to be held for an answer.
	Hold bool `toml:"hold"`
	// Experiments runs failed commands again on drafts, to find out why.
	Experiments bool   `toml:"experiments"`
	Limits      Limits `toml:"limits"`
	Env         Env    `toml:"env"`
}

// Answers is the [answers] table.
type Answers struct {
	Enabled bool `toml:"enabled"`
	// Provider and Model make embeddings, both or neither. Threshold is in percent.
	Provider  string `toml:"provider"`
	Model     string `toml:"model"`
	Threshold int64  `toml:"threshold"`
	TopK      int64  `toml:"top_k"`
}

// Apart is a value of exec.streams.
const Apart = "apart"

// Decoding is a value of speculation.mode.
const Decoding = "decoding"

// PatternReads is a value of speculation.patterns.
const PatternReads = "reads"

// The values of sandbox.mode.
const (
	ReadOnly       = "read-only"
	WorkspaceWrite = "workspace-write"
	FullAccess     = "danger-full-access"
	Strict         = "strict"
)

// Limits is [sandbox.limits]; zero means unset.
type Limits struct {
	WallSeconds int64 `toml:"wall_s"`
	CPUSeconds  int64 `toml:"cpu_s"`
	CPUPercent  int64 `toml:"cpu_percent"`
	MemoryMB    int64 `toml:"memory_mb"`
	Processes   int64 `toml:"processes"`
	OpenFiles   int64 `toml:"open_files"`
	FileSizeMB  int64 `toml:"file_size_mb"`
	OutputMB    int64 `toml:"output_mb"`
	OutputAllMB int64 `toml:"output_all_mb"`
}

// Env is [sandbox.env].
type Env struct {
	// Inherit is "core", "all" or "none".
	Inherit string            `toml:"inherit"`
	Include []string          `toml:"include"`
	Exclude []string          `toml:"exclude"`
	Set     map[string]string `toml:"set"`
}

// TUI is the [tui] table.
type TUI struct {
	// Mouse captures the wheel and dragging.
	Mouse bool `toml:"mouse"`
	// ScreenReader writes lines instead of a screen.
	ScreenReader bool `toml:"screen_reader"`
	// Vim edits messages with the keys of vi.
	Vim bool `toml:"vim"`
	// Theme names the colours.
	Theme string `toml:"theme"`
	// Notify and Progress are how the person is called back; Title sets the terminal's.
	Notify   string `toml:"notify"`
	Progress string `toml:"progress"`
	Title    bool   `toml:"title"`
	// StatusCommand prints the footer; empty: codeagent's own.
	StatusCommand string `toml:"status_command"`
}

// compaction is the [context] table.
type compaction struct {
	// At is compact_at, in percent; 0: only on request.
	At int64 `toml:"compact_at"`
}

// Patience returns how long a request is retried: retry.patience_s, or a default that is
// longer if no person watches who could retry it.
func (c Config) Patience(attended bool) time.Duration {
	switch {
	case c.PatienceSeconds > 0:
		return time.Duration(c.PatienceSeconds) * time.Second
	case attended:
		return time.Minute
	}
	return 2 * time.Minute
}

// Origin is the source of a value.
type Origin struct {
	// Kind is "default", "file", "environment", "profile", "-c", "flag", "managed" or "session".
	Kind string
	// Name is the path of the file, also for a profile, the variable's or the flag's name.
	Name string
	// Line and Column are set for files and profiles, from 1.
	Line, Column int
}

// typed reports whether the value was given on the command line.
func (o Origin) typed() bool { return o.Kind == "flag" || o.Kind == "-c" }

// InFile reports whether nothing comes before the person's file for the value.
func (o Origin) InFile() bool { return o.Kind == "default" || o.Kind == "file" }

// String names the origin for a person: "~/x/config.toml:3:1", "--model".
func (o Origin) String() string {
	switch o.Kind {
	case "file", "profile", managedKind:
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	case "environment":
		return "$" + o.Name
	case "flag":
		return o.Name
	}
	return o.Kind
}

// Origin returns the source of the value of key ("sandbox.mode", "tools.shell.enabled").
// A key that nothing set has the origin "default".
func (c Config) Origin(key string) Origin {
	if o, ok := c.origins[key]; ok {
		return o
	}
	return Origin{Kind: "default"}
}

// DisabledTools returns the tools that [tools.NAME] enabled = false removes.
func (c Config) DisabledTools() map[string]bool { return disabled(c.Tools) }

// MaySearch reports whether the provider may search the web: web_search is on, and nothing refuses pages or
// the network by itself.
func (c Config) MaySearch() bool {
	refused := c.AskForApproval == "granular" && (slices.Contains(c.Refuse, "fetch") || slices.Contains(c.Refuse, "network"))
	return c.WebSearch && !refused && c.Sandbox.Mode != Strict && !c.DisabledTools()["fetch_url"]
}

// DisabledServers returns the MCP servers that [mcp.servers.NAME] enabled = false leaves out.
func (c Config) DisabledServers() map[string]bool { return disabled(c.MCP.Enabled) }

func disabled(entries map[string]*bool) map[string]bool {
	out := map[string]bool{}
	for name, enabled := range entries {
		if !*enabled {
			out[name] = true
		}
	}
	return out
}
