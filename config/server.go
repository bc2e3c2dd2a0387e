package config

import "time"

// mcp is the [mcp] table.
type mcp struct {
	// Servers are the [mcp.servers.NAME] tables by name, with the defaults filled in.
	Servers map[string]Server

	// tables are the same as the sources wrote them.
	tables map[string]*Server
}

// Server is one MCP server. It has a Command or a URL.
type Server struct {
	Command string
	Args    []string
	// Env are variables of the server. See Resolve for what a value may name.
	Env map[string]string
	// URL is that of a server of streamable HTTP, and Headers are sent with each request. See Resolve.
	URL     string
	Headers map[string]string
	// EnabledTools are the tools that are offered; empty: all. DisabledTools are not.
	EnabledTools, DisabledTools []string
	StartupTimeout, ToolTimeout time.Duration
	// Required: a session does not start without the server.
	Required bool
	Sandbox  serverSandbox
	// Origin says who configured it: "user", ".mcp.json" or "editor".
	Origin string
}

// serverSandbox is [mcp.servers.NAME.sandbox]: what the process of a server may access beyond its
// own folder. All paths and hosts are as written.
type serverSandbox struct {
	Read, Write              []string
	AllowHosts, AllowSockets []string
	// Workspace is "read", "write" or "none".
	Workspace string
	// Env names variables of codeagent's own environment that the server gets.
	Env []string
}
