package lists

import (
	"context"

	"codeagent/tui/keys"
	"codeagent/tui/page"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Servers are the MCP servers of the session. All texts of a server are bounded, and shown by name
// where a terminal would obey them.
type Servers interface {
	// List describes them as they are now, by their names: About says a server's state in a few
	// words, More what it is in a line. Over: it does not run. It reads memory only.
	List() []picker.Row
	// Page is all that is known about one of them.
	Page(name string) string
	// Restart ends a server and starts it again.
	Restart(ctx context.Context, name string) error
}

// OfServers is /mcp: the servers and their states; Enter shows all about one.
func OfServers(s part.Setting, servers Servers) *picker.Picker {
	p := picker.New(s.Keys, "MCP servers")
	p.None, p.Enter = "no MCP server is configured: codeagent mcp add NAME", "shows it"
	p.Changing = true
	p.List = func(context.Context) ([]picker.Row, error) { return servers.List(), nil }
	p.Choose = func(r picker.Row) part.Intent {
		about := page.Text(s.Keys, "MCP server "+r.Id, func(context.Context) (string, error) { return servers.Page(r.Id), nil }, page.Words)
		about.Under = p
		return part.Show{Overlay: about}
	}
	p.Deeds = []picker.Action{{Do: keys.Rename, Help: "restarts", Run: func(r picker.Row, _ string) part.Intent {
		return part.All{part.Say("restarting " + r.Id + " …"), part.Beside(func(ctx context.Context) func() part.Intent {
			said := r.Id + " was restarted"
			if err := servers.Restart(ctx, r.Id); err != nil {
				said = r.Id + " did not start: " + err.Error()
			}
			return func() part.Intent { return part.All{part.Say(said), p.Load()} }
		})}
	}}}
	return p
}
