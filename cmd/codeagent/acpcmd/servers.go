package acpcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"codeagent/acp"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/servers"
	"codeagent/config/server"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// handedIn returns the servers that an editor hands in, as settings: each runs in the sandbox that a
// configured one gets by default. A server of the same name in the user's settings takes its place.
func handedIn(list []acp.ToolServer) (map[string]server.Settings, error) {
	out := map[string]server.Settings{}
	for _, one := range list {
		set := server.Settings{Command: one.Command, Args: one.Args, URL: literal(one.URL), Origin: server.OfEditor}
		values := map[string]string{}
		for name, value := range one.Values {
			values[name] = literal(value)
		}
		var err error
		if one.URL != "" {
			set.Headers = values
			err = errors.Join(server.CheckURL(one.URL), server.CheckHeaders(one.Values))
		} else {
			set.Env = values
			err = errors.Join(server.CheckCommand(one.Command), server.CheckEnv(values))
		}
		table := "the MCP server " + short.Quote(one.Name, 60)
		set, problem := set.Complete(table)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", table, err)
		case problem != "":
			return nil, errors.New(problem)
		}
		name := nameOf(one.Name)
		for n := 2; taken(out, name); n++ {
			name = fmt.Sprintf("%s-%d", short.Head(nameOf(one.Name), 28), n)
		}
		out[name] = set
	}
	return out, nil
}

// replaced says which servers of the editor are not used, because one of the settings or the project has
// the name.
func (o *open) replaced(given map[string]server.Settings) {
	for _, st := range o.ses.Servers.Status() {
		theirs, ok := given[st.Name]
		if !ok || st.Origin == server.OfEditor {
			continue
		}
		whose := "your settings"
		if st.Origin != server.OfUser {
			whose = "this project"
		}
		o.Emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("the MCP server %s is that of %s (%s), in place of the editor's (%s); another name in one of them gives you both",
			st.Name, whose, st.Program, servers.Program(theirs))})
	}
}

// literal writes a value that names no variables in the form of settings, where $ does.
func literal(value string) string { return strings.ReplaceAll(value, "$", "$$") }

func taken(list map[string]server.Settings, name string) bool {
	_, ok := list[name]
	return ok
}

// nameOf makes a name for tools of a name that a person reads.
func nameOf(name string) string {
	if server.BadName(name) == "" {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
			b.WriteByte('-')
		}
	}
	return cmp.Or(strings.Trim(short.Head(b.String(), 32), "-"), "editor")
}

// mcp is /mcp: the servers, all about one, or a restart.
func (o *open) mcp(ctx context.Context, argument string) (reply, error) {
	if o.ses.Servers == nil {
		return page("no MCP servers in this session"), nil
	}
	if name, restart := strings.CutPrefix(argument, "restart "); restart {
		return page(visible.Line(name) + " was restarted"), o.ses.Servers.Restart(ctx, strings.TrimSpace(name))
	}
	if argument != "" {
		return page(commands.ServerPage(o.ses, argument)), nil
	}
	var b strings.Builder
	for _, st := range o.ses.Servers.Status() {
		problem, _, _ := strings.Cut(st.Problem, "\n")
		fmt.Fprintf(&b, "%s  %s\n  %s\n", st.Name, commands.ServerState(st), visible.Line(cmp.Or(problem, st.Program)))
	}
	return page(b.String()), nil
}
