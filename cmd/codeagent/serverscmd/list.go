package serverscmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/extensions"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/internal/mask"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp/signin"

	"github.com/spf13/cobra"
)

// serverList is the JSON of `codeagent mcp list --json`, version 1.
type serverList struct {
	Version int     `json:"version"`
	Servers []entry `json:"servers"`
	// LeftOut says what of the project is not used, and why.
	LeftOut []string `json:"left_out"`
}

// entry is one server that a session in this folder would have, if it is used. It names variables and headers,
// and leaves out their values.
type entry struct {
	Name     string   `json:"name"`
	Origin   string   `json:"origin"` // "settings", or ".mcp.json": of a trusted project
	Place    string   `json:"place"`  // file and line, or file
	Command  []string `json:"command,omitempty"`
	URL      string   `json:"url,omitempty"`
	Env      []string `json:"env,omitempty"`
	Headers  []string `json:"headers,omitempty"`
	Used     bool     `json:"enabled"`
	Enabled  []string `json:"enabled_tools,omitempty"`
	Disabled []string `json:"disabled_tools,omitempty"`
	Required bool     `json:"required"`
	SignedIn bool     `json:"signed_in"`
	Sandbox  *box     `json:"sandbox,omitempty"` // null: it has a URL and runs elsewhere
}

// box is the sandbox of a server.
type box struct {
	Workspace    string   `json:"workspace"`
	Read         []string `json:"read,omitempty"`
	Write        []string `json:"write,omitempty"`
	AllowHosts   []string `json:"allow_hosts,omitempty"`
	AllowSockets []string `json:"allow_sockets,omitempty"`
	Env          []string `json:"env,omitempty"`
	Backend      string   `json:"backend,omitempty"`
}

func newList(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the MCP servers that a session here would have", Args: cobra.NoArgs,
		Long: "list shows the servers of the settings, and those of the project's .mcp.json if its folder is trusted.\n" +
			"It starts none of them.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, sandboxes, err := list(cmd.Context(), s, *f)
			if err != nil {
				return err
			}
			if plain {
				return cli.PrintJSON(s.Text, l, "  ")
			}
			_, err = io.WriteString(s.Text, l.text(sandboxes))
			return err
		},
	}
	cmd.Flags().BoolVar(&plain, "json", false, "print JSON")
	return cmd
}

// list returns the servers, and in words what each may do.
func list(ctx context.Context, s cli.Stdio, f cli.Flags) (l serverList, words map[string]string, err error) {
	c, err := workspace.Settings(ctx, s, f)
	if err != nil {
		return l, nil, cli.Usage(err, "codeagent help config lists the settings")
	}
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return l, nil, err
	}
	l, words = serverList{Version: 1, Servers: []entry{}, LeftOut: []string{}}, map[string]string{}
	add := func(name, place string, one server.Settings) {
		e := entryOf(name, one)
		e.Place, e.Used = place, !c.DisabledServers()[name]
		if set, err := c.Resolved(one, s.Env); err == nil && one.URL != "" {
			_, e.SignedIn, _ = signin.Store{Dir: paths.SignIns}.Read(ctx, name, set.URL) // a use says what is wrong
		}
		l.Servers = append(l.Servers, e)
		words[name] = one.Sandbox.Words()
	}
	for _, name := range names(c.MCP.Servers) {
		key := "command"
		if c.MCP.Servers[name].URL != "" {
			key = "url"
		}
		add(name, c.Origin("mcp.servers."+name+"."+key).String(), c.MCP.Servers[name])
	}
	found, err := ofProject(ctx, s, f)
	if err != nil {
		return l, nil, err
	}
	for _, name := range names(found.Servers) {
		add(name, found.ServerFiles[name], found.Servers[name])
	}
	l.LeftOut = append(l.LeftOut, found.Left...)
	if found.Untrusted != "" {
		l.LeftOut = append(l.LeftOut, found.Untrusted)
	}
	return l, words, nil
}

// ofProject reads the servers of the project. Without a .mcp.json it opens no workspace.
func ofProject(ctx context.Context, s cli.Stdio, f cli.Flags) (extensions.Found, error) {
	folder, err := workspace.Enter(s, f)
	if err != nil || len(extensions.ServerFiles(folder)) == 0 {
		return extensions.Found{}, err
	}
	ws, err := workspace.Open(ctx, s, f)
	if err != nil {
		return extensions.Found{}, err
	}
	defer ws.Close()
	return extensions.ReadServers(ctx, ws), nil
}

func entryOf(name string, one server.Settings) entry {
	e := entry{
		Name: name, Origin: one.Origin, URL: hidden(one.URL), Env: names(one.Env), Headers: names(one.Headers),
		Enabled: one.EnabledTools, Disabled: one.DisabledTools, Required: one.Required,
	}
	if one.Origin == server.OfUser {
		e.Origin = "settings"
	}
	if one.URL == "" {
		b := one.Sandbox
		e.Command = append([]string{one.Command}, one.Args...)
		for i, word := range e.Command[1:] {
			if e.Command[i+1] = hidden(word); hidden(e.Command[i]+" "+word) != e.Command[i]+" "+word && e.Command[i] != mask.Mark {
				e.Command[i+1] = mask.Mark // the value of a flag
			}
		}
		e.Sandbox = &box{b.Workspace, b.Read, b.Write, b.AllowHosts, b.AllowSockets, b.Env, b.Backend}
	}
	return e
}

// shown returns what the server is: its command line, or its URL.
func (e entry) shown() (key, value string) {
	if e.URL != "" {
		return "url", e.URL
	}
	for _, word := range e.Command {
		value = strings.TrimSpace(value + " " + short.ShellWord(word))
	}
	return "command", value
}

// hidden hides what has the shape of a key and is not the name of a variable.
func hidden(text string) string {
	if literal := server.WithoutVariables(text); (*mask.Mask)(nil).Text(literal) == literal {
		return text
	}
	return (*mask.Mask)(nil).Text(text)
}

// text is the list for people. sandboxes has each server's in words.
func (l serverList) text(sandboxes map[string]string) string {
	var out strings.Builder
	if len(l.Servers) == 0 {
		fmt.Fprintln(&out, "no MCP servers; codeagent mcp add adds one")
	}
	for _, e := range l.Servers {
		origin := e.Origin
		if e.Origin == server.OfProject {
			origin += ", trusted"
		}
		fmt.Fprintf(&out, "%s  (%s: %s)\n", e.Name, origin, visible.Line(e.Place))
		row := func(key, value string) {
			if value != "" {
				fmt.Fprintf(&out, "  %-8s %s\n", key, visible.Line(short.Cut(value, 300)))
			}
		}
		if !e.Used {
			row("disabled", "no session starts it")
		}
		row(e.shown())
		if e.Sandbox != nil {
			row("sandbox", sandboxes[e.Name])
		} else {
			row("sandbox", "none: it runs elsewhere")
		}
		if e.SignedIn {
			row("sign-in", "yes")
		}
		row("env", strings.Join(e.Env, ", "))
		row("headers", strings.Join(e.Headers, ", "))
		row("tools", strings.Join(e.Enabled, ", "))
		row("without", strings.Join(e.Disabled, ", "))
		if e.Required {
			row("required", "no session starts without it")
		}
	}
	for _, why := range l.LeftOut {
		fmt.Fprintln(&out, visible.Line(why))
	}
	return out.String()
}
