// Package server holds the settings of an MCP server.
package server

import "time"

// Settings are those of one MCP server: a program that is started in the sandbox, or a URL.
type Settings struct {
	// Command and Args start a server that speaks over its stdin and stdout. Env is added to
	// the core variables, the only other ones that it gets.
	Command string
	Args    []string
	Env     map[string]string
	// URL is that of a server over streamable HTTP. Headers are sent to it: by header, the name
	// of the variable that holds the value.
	URL     string
	Headers map[string]string
	// EnabledTools, if not empty, are the only tools that are offered; DisabledTools never are.
	EnabledTools, DisabledTools []string
	// StartupTimeout and ToolTimeout limit the start and a call; 0: the default.
	StartupTimeout, ToolTimeout time.Duration
	// Required: a session without this server is an error.
	Required bool
	Sandbox  Sandbox
	// Origin says who configured it: OfUser, OfProject or OfEditor.
	Origin string
}

// Sandbox is what a server may access beside its private folder. The zero value is the
// default: the workspace for reading, and no network.
type Sandbox struct {
	// Read and Write are folders.
	Read, Write []string
	// AllowHosts and AllowSockets are as in the settings of the sandbox for commands.
	AllowHosts, AllowSockets []string
	// Workspace is "read", "write" or "none"; empty: "read".
	Workspace string
	// Env names variables of codeagent's environment that the server gets.
	Env []string
}

// The values of Settings.Origin.
const (
	OfUser    = "user"
	OfProject = ".mcp.json"
	OfEditor  = "editor"
)
