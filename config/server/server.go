// Package server holds the settings of an MCP server: what they may be, the servers that a
// project's .mcp.json brings, and the variables that settings name. It performs no IO. Start
// reading at Settings.
package server

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"codeagent/internal/short"
)

// Settings are those of one MCP server: a program that is started in the sandbox, or a URL.
type Settings struct {
	// Command and Args start a server that speaks over its stdin and stdout. Env is added to
	// the core variables, the only other ones that it gets. See Resolve for what a value names.
	Command string            `toml:"command,omitempty"`
	Args    []string          `toml:"args,omitempty"`
	Env     map[string]string `toml:"env,inline,omitempty"`
	// URL is that of a server over streamable HTTP, and Headers are sent with each request. See
	// Resolve.
	URL     string            `toml:"url,omitempty"`
	Headers map[string]string `toml:"headers,inline,omitempty"`
	// EnabledTools, if not empty, are the only tools that are offered; DisabledTools never are.
	EnabledTools  []string `toml:"enabled_tools,omitempty"`
	DisabledTools []string `toml:"disabled_tools,omitempty"`
	// StartupTimeout and ToolTimeout limit the start and a call; 0: the default.
	StartupTimeout time.Duration `toml:"startup_timeout_s,omitempty"`
	ToolTimeout    time.Duration `toml:"tool_timeout_s,omitempty"`
	// Required: a session without this server is an error.
	Required bool `toml:"required,omitempty"`
	// Cwd is "private" or "workspace": the folder that the server starts in. Empty: see InWorkspace.
	Cwd     string  `toml:"cwd,omitempty"`
	Sandbox Sandbox `toml:"sandbox,omitempty"`
	// Needs are programs in PATH that it starts and places that it reads, if no rule hides them.
	Needs []string `toml:"-"`
	// Origin says who configured it: OfUser, OfProject or OfEditor.
	Origin string `toml:"-"`
}

// Sandbox is what a server may access beside its private folder. The zero value is the
// default: the workspace for reading, and no network.
type Sandbox struct {
	// Backend is the name of the backend that confines the server; empty: that of the session, but for modules.
	Backend string `toml:"backend,omitempty"`
	// Workspace is "read", "write" or "none"; empty: "read".
	Workspace string `toml:"workspace,omitempty"`
	// Read and Write are folders and files, absolute or with ~/ in front.
	Read  []string `toml:"read,omitempty"`
	Write []string `toml:"write,omitempty"`
	// AllowHosts and AllowSockets are as in the settings of the sandbox for commands.
	AllowHosts   []string `toml:"allow_hosts,omitempty"`
	AllowSockets []string `toml:"allow_sockets,omitempty"`
	// Env names variables of codeagent's environment that the server gets.
	Env []string `toml:"env,omitempty"`
}

// InWorkspace reports whether the server starts in the workspace and not in its private folder.
//
// Threat: programs such as npx and python -m prefer packages of the folder that they run in. Commands
// may write the workspace, and what they put there would get the server's keys and hosts. So a server
// of the user's starts in its own folder. One of a project or an editor belongs to the workspace.
func (s Settings) InWorkspace() bool {
	return s.Sandbox.Workspace != "none" && (s.Cwd == "workspace" || s.Cwd == "" && s.Origin != OfUser)
}

// Words says in a line what a server with this sandbox may do.
func (b Sandbox) Words() string {
	workspace := map[string]string{"write": "reads and writes the workspace", "none": "no access to the workspace"}[b.Workspace]
	words := []string{cmp.Or(workspace, "reads the workspace")}
	if len(b.Read) > 0 {
		words = append(words, "reads "+short.List(b.Read, mostWords))
	}
	words = append(words, "writes "+short.List(append([]string{"a folder of its own"}, b.Write...), mostWords))
	if len(b.AllowHosts) > 0 {
		words = append(words, "reaches "+short.List(b.AllowHosts, mostWords))
	} else {
		words = append(words, "no network")
	}
	if len(b.AllowSockets) > 0 {
		words = append(words, "connects to "+short.List(b.AllowSockets, mostWords))
	}
	if len(b.Env) > 0 {
		words = append(words, "gets "+short.List(b.Env, mostWords))
	}
	if b.Backend != "" {
		words = append(words, "confined by the backend "+b.Backend)
	}
	return strings.Join(words, "; ")
}

// mostWords bounds each list in Words.
const mostWords = 8

// The values of Settings.Origin.
const (
	OfUser    = "user"
	OfProject = ".mcp.json"
	OfEditor  = "editor"
)

// Seconds that a server may take where the settings say nothing, and the most that they may say.
const (
	StartupSeconds = 30
	ToolSeconds    = 120
	MostSeconds    = 24 * 3600
)

// nameForm is what the name of a server may be: it becomes a part of the names of tools, which are
// at most 64 bytes long, and two underscores end it there.
var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$") })

// mostName is the length of the longest name.
const mostName = 32

// BadName says what is wrong with the name of a server, or "".
func BadName(name string) string {
	if len(name) <= mostName && nameForm().MatchString(name) {
		return ""
	}
	return fmt.Sprintf("the name %s of an MCP server becomes a part of the names of its tools; use letters, digits, - and single _, at most %d", short.Quote(name, 60), mostName)
}

// Complete returns s with its defaults, or says why its settings do not fit each other. table is how
// messages call it.
func (s Settings) Complete(table string) (out Settings, problem string) {
	box := s.Sandbox
	switch {
	case s.Command == "" && s.URL == "":
		return s, table + " has neither a command nor a url: add command = \"PROGRAM\", or url = \"https://…\""
	case s.Command != "" && s.URL != "":
		return s, table + " has a command and a url: a server is started here or runs elsewhere; remove one"
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0):
		return s, table + " has a url, so nothing is started: remove args and env"
	case s.URL != "" && (len(box.Read)+len(box.Write)+len(box.AllowHosts)+len(box.AllowSockets)+len(box.Env) > 0 || box.Workspace+box.Backend != ""):
		return s, table + " has a url: the server runs elsewhere, and no sandbox is around it; remove the table sandbox"
	case s.URL != "" && s.Cwd != "":
		return s, table + " has a url, so nothing is started: remove cwd"
	case s.Cwd == "workspace" && box.Workspace == "none":
		return s, table + " starts in the workspace, which its table sandbox hides: remove cwd or sandbox.workspace"
	case s.URL == "" && len(s.Headers) > 0:
		return s, table + " has headers, which only a server with a url gets: remove them, or use env"
	}
	s.Sandbox.Workspace = cmp.Or(s.Sandbox.Workspace, "read")
	s.StartupTimeout, s.ToolTimeout = cmp.Or(s.StartupTimeout, StartupSeconds*time.Second), cmp.Or(s.ToolTimeout, ToolSeconds*time.Second)
	return s, ""
}
