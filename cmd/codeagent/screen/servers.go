package screen

import (
	"cmp"
	"context"
	"strings"

	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/servers"
	"codeagent/internal/visible"
	"codeagent/tui/message"
	"codeagent/tui/picker"
	"codeagent/tui/templates"
)

// serverList implements lists.Servers and templates.Servers.
type serverList struct{ ses *conversation.Session }

func (l serverList) List() (out []picker.Row) {
	for _, st := range l.ses.Servers.Status() {
		problem, _, _ := strings.Cut(st.Problem, "\n")
		out = append(out, picker.Row{
			Id: st.Name, Text: st.Name, About: commands.ServerState(st), More: visible.Line(cmp.Or(problem, st.Program)), Over: st.State == servers.Failed || st.State == servers.Ended,
		})
	}
	return out
}

func (l serverList) Page(name string) string { return commands.ServerPage(l.ses, name) }

func (l serverList) Restart(ctx context.Context, name string) error {
	return l.ses.Servers.Restart(ctx, name)
}

func (l serverList) Resources(ctx context.Context) (names []string, err error) {
	all, err := l.ses.Servers.Resources(ctx)
	for _, r := range all {
		names = append(names, r.Server+":"+r.URI)
	}
	return names, err
}

func (l serverList) Prompts(ctx context.Context) (out []templates.Prompt, err error) {
	all, err := l.ses.Servers.Prompts(ctx)
	for _, p := range all {
		out = append(out, templates.Prompt{Server: p.Server, Name: p.Name, About: cmp.Or(p.Description, p.Title), Fields: p.Fields()})
	}
	return out, err
}

func (l serverList) Prompt(ctx context.Context, server, name string, arguments map[string]string) (message.Message, error) {
	in, err := commands.ServerPrompt(ctx, l.ses, server, name, arguments)
	return screenMessage(in), err
}
