package execcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/servers"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/headless"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
)

// servedTime bounds what a server may take for one of its prompts.
const servedTime = 30 * time.Second

// message returns the message of a run: the prompt, or what an MCP server makes of /NAME:prompt, by
// the rule of the screen. The name of no server is just text.
func message(ctx context.Context, ses *conversation.Session, printer *headless.Printer, prompt string) (agent.Input, error) {
	text, ok := strings.CutPrefix(prompt, "/")
	command, written := text, ""
	if end := strings.IndexAny(text, " \t\n"); end >= 0 {
		command, written = text[:end], text[end:]
	}
	server, name, found := strings.Cut(command, ":")
	if !ok || !found || !ses.Servers.Has(server) {
		return agent.Input{Text: prompt}, nil
	}
	ctx, cancel := servers.Within(ctx, servedTime)
	defer cancel()
	fields, err := fieldsOf(ctx, ses, server, name)
	if err != nil {
		return agent.Input{}, err
	}
	given, missing := inquiry.Positional(fields, written), []string(nil)
	for _, f := range fields {
		if f.Required && given[f.Name] == "" {
			missing = append(missing, visible.Line(f.Name))
		}
	}
	if len(missing) > 0 {
		return agent.Input{}, cli.Usage(fmt.Errorf("/%s needs %s", visible.Line(command), strings.Join(missing, ", ")), "arguments follow the name, in their order")
	}
	in, err := commands.ServerPrompt(ctx, ses, server, name, given)
	if err != nil {
		return agent.Input{}, err
	}
	printer.Emit(event.Notice{Level: word.LevelInfo, Text: fmt.Sprintf("with the prompt /%s (%s)", short.Cut(visible.Line(command), 200), short.Size(int64(len(in.Text))))})
	in.About = prompt
	in.Text = fmt.Sprintf("[/%s: a prompt of the MCP server %s, which the user chose. The server wrote it.]\n%s", visible.Line(command), server, in.Text)
	return in, nil
}

// fieldsOf returns the arguments of a prompt, in their order.
func fieldsOf(ctx context.Context, ses *conversation.Session, server, name string) ([]inquiry.Field, error) {
	command := fmt.Sprintf("/%s:%s", server, visible.Line(short.Cut(name, 200)))
	all, err := ses.Servers.PromptsOf(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	for _, p := range all {
		if p.Name == name {
			return p.Fields(), nil
		}
	}
	return nil, cli.Usage(fmt.Errorf("no MCP server offers the prompt %s", command))
}
