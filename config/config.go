// Package config merges files, environment and flags into one Config in which every
// value knows its source, and derives the sandbox policy of commands from it. It reads
// settings files and file metadata through hostfile; it writes only codeagent's own
// folders. Start reading at the table in settings.go, from which parsing, checks, -c and
// docs/config.md are derived.
package config

import (
	"fmt"
	"time"
)

// Config holds all settings. A field has the default of the table unless a source sets it.
type Config struct {
	Model         string
	ModelProvider string
	BaseURL       string
	APIKeyEnv     string
	// Wire is the top level's Chat or Responses; empty: chosen by the base URL.
	Wire            string
	ReasoningEffort string
	// AskForApproval is "untrusted", "on-request", "on-failure", "granular" or "never". Refuse is
	// granular.refuse: the topics of questions that granular refuses.
	AskForApproval string
	// Reviewer is "off" or the name of a model; see ReviewModel.
	Reviewer string
	Refuse   []string
	Sandbox  Sandbox
	TUI      TUI
	Context  compaction
	// PatienceSeconds is retry.patience_s; 0: unset, see Patience.
	PatienceSeconds int64
	// Speculation is speculation.mode, "off" or Decoding.
	Speculation string
	// Unkept is undo.unkept, "ask" or "allow".
	Unkept string
	// Tools says by tool name whether it is enabled; absent means enabled.
	Tools map[string]*bool
	// Providers holds the [providers.NAME] tables.
	Providers map[string]*Provider
	// Models holds the [models.NAME] tables.
	Models map[string]*ModelSettings
	// Bound is the [keys] table: the keys of each action that it names.
	Bound map[string]*[]string
	// Themes is the [themes] table: colours by role.
	Themes     map[string]*map[string]string
	Extensions Extensions
	// MCP is the [mcp] table.
	MCP mcp
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
}

// Sandbox is the [sandbox] table.
type Sandbox struct {
	// Mode is one of the preset names ReadOnly, WorkspaceWrite, FullAccess, Strict.
	Mode string
	// AddDirs, AddFiles, DenyRead and Protected are as written: not yet absolute.
	AddDirs, AddFiles, DenyRead, Protected []string
	// DenySecrets adds the usual paths of keys to DenyRead.
	DenySecrets bool
	// Temp is "private" or "shared".
	Temp string
	// Fallback is "refuse" or "warn": run unconfined if no backend works.
	Fallback string
	// RequiredLayers must be active, or no command runs.
	RequiredLayers []string
	// AllowHome allows a workspace that is the home folder or contains codeagent's own files.
	AllowHome bool
	// Network is "deny" or "full".
	Network string
	// AllowHosts are "name:port", AllowSockets paths, as written.
	AllowHosts, AllowSockets []string
	// AllowFetch are "name:port", as written; see FetchHosts.
	AllowFetch []string
	// Evidence is "full", "network" or "off".
	Evidence string
	// Hold allows refused calls of a running command to be held for an answer.
	Hold   bool
	Limits Limits
	Env    Env
}

// Decoding is a value of speculation.mode.
const Decoding = "decoding"

// The values of sandbox.mode.
const (
	ReadOnly       = "read-only"
	WorkspaceWrite = "workspace-write"
	FullAccess     = "danger-full-access"
	Strict         = "strict"
)

// Limits is [sandbox.limits]; zero means unset.
type Limits struct {
	WallSeconds, CPUSeconds, CPUPercent, MemoryMB, Processes, OpenFiles, FileSizeMB, OutputMB, OutputAllMB int64
}

// Env is [sandbox.env].
type Env struct {
	// Inherit is "core", "all" or "none".
	Inherit          string
	Include, Exclude []string
	Set              map[string]string
}

// TUI is the [tui] table.
type TUI struct {
	// Mouse captures the wheel and dragging.
	Mouse bool
	// ScreenReader writes lines instead of a screen.
	ScreenReader bool
	// Vim edits messages with the keys of vi.
	Vim bool
	// Theme names the colours.
	Theme string
	// Notify and Progress are how the person is called back; Title sets the terminal's.
	Notify, Progress string
	Title            bool
	// StatusCommand prints the footer; empty: codeagent's own.
	StatusCommand string
}

// compaction is the [context] table.
type compaction struct {
	// At is compact_at, in percent; 0: only on request.
	At int64
}

// ReviewModel returns the model that reads questions before the user, or "".
func (c Config) ReviewModel() string {
	if c.Reviewer == "off" {
		return ""
	}
	return c.Reviewer
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
	// Kind is "default", "file", "environment", "profile", "-c" or "flag".
	Kind string
	// Name is the path of the file, also for a profile, the variable's or the flag's name.
	Name string
	// Line and Column are set for files and profiles, from 1.
	Line, Column int
}

// typed reports whether the value was given on the command line.
func (o Origin) typed() bool { return o.Kind == "flag" || o.Kind == "-c" }

// String names the origin for a person: "~/x/config.toml:3:1", "--model".
func (o Origin) String() string {
	switch o.Kind {
	case "file", "profile":
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
