package acpcmd

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"codeagent/acp"
	"codeagent/config/server"
	"codeagent/internal/short"
)

// mostServers bounds the servers that an editor hands in for one session.
const mostServers = 50

// handedIn returns the servers that an editor hands in, as settings: each runs in the sandbox that a
// configured one gets by default. A server of the same name in the user's settings takes its place.
func handedIn(list []acp.ToolServer) (map[string]server.Settings, error) {
	if len(list) > mostServers {
		return nil, fmt.Errorf("%d MCP servers are too many: at most %d", len(list), mostServers)
	}
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
