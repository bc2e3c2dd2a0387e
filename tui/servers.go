package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/mcp/inquiry"
	"codeagent/tui/form"
	"codeagent/tui/mention"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/slash"
)

// servedFresh is how long a list of what the servers offer is used before it is read again.
const servedFresh = 30 * time.Second

// lookForPrompts reads the prompts of the servers while a command is typed.
func lookForPrompts(m *app) tea.Cmd {
	offers, f := m.offers.Extras.ServerOffers, &m.menu.served
	if offers == nil || f.loading || !strings.HasPrefix(m.composer.Text, "/") || !f.read.IsZero() && m.now().Sub(f.read) < servedFresh {
		return nil
	}
	f.loading = true
	return m.aside(func(ctx context.Context) then {
		all, err := offers.Prompts(ctx)
		return func(m *app) tea.Cmd {
			m.menu.served = served{read: m.now()}
			if err == nil || len(all) > 0 { // the others list theirs
				m.offers.Extras.served = all
			}
			return nil
		}
	})
}

// menu is the list of choices above the message: commands, or files.
type menu struct {
	commands slash.Menu
	files    mention.Menu
	served   served
}

// menuRows is how many choices are shown at most; the others scroll.
const menuRows = 10

// served is when the prompts were read last.
type served struct {
	loading bool
	read    time.Time
}

func (p ServerPrompt) command() string { return p.Server + ":" + p.Name }

// takes names the arguments, in their order.
func (p ServerPrompt) takes() string {
	var words []string
	for _, f := range p.Fields {
		word := "[" + f.Name + "]"
		if f.Required {
			word = strings.ToUpper(f.Name)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// servedCommands are the prompts of the servers as commands.
func (e Extras) servedCommands() (out slash.Commands) {
	for _, p := range e.served {
		if strings.ContainsAny(p.Name, " \t/") {
			continue // it cannot be typed
		}
		help := "“" + p.About + "” (the server's words)"
		if p.About == "" {
			help = "a prompt of the MCP server " + p.Server
		}
		out = append(out, slash.Command{Name: p.command(), Help: help, Takes: p.takes(), Run: func(argument string) part.Intent {
			return then(func(m *app) tea.Cmd { return usePrompt(m, p.command(), argument) })
		}})
	}
	return out
}

// usePrompt gets a prompt of a server and sends it. Its arguments are taken in their order, the last
// one with all that is left; required ones that are missing are asked for.
func usePrompt(m *app, name, argument string) tea.Cmd {
	offers := m.offers.Extras.ServerOffers
	server, _, _ := strings.Cut(name, ":")
	m.transcript.End()
	fail := func(text string) then {
		return func(m *app) tea.Cmd { return m.do(part.Fail(text)) }
	}
	ask := m.aside(func(ctx context.Context) then {
		all, err := offers.PromptsOf(ctx, server)
		i := slices.IndexFunc(all, func(p ServerPrompt) bool { return p.command() == name })
		switch {
		case i < 0 && err != nil:
			return fail(err.Error())
		case i < 0:
			return fail("no MCP server offers the prompt /" + name)
		}
		p := all[i]
		given, ok := arguments(ctx, m, p, argument)
		if !ok {
			return nil
		}
		said, err := offers.Prompt(ctx, p.Server, p.Name, given)
		if err != nil {
			return fail(err.Error())
		}
		said.Foreign = true
		said.Text = fmt.Sprintf("[/%s: a prompt of the MCP server %s, which the user chose. The server wrote it.]\n%s", name, p.Server, said.Text)
		return func(m *app) tea.Cmd { return m.submit(m.images.Numbered(said)) }
	})
	return tea.Batch(m.say("asking "+server+" for its prompt …"), ask)
}

// arguments are those of a prompt: what was written behind its name, or what the person fills in.
// ok is false if the person does not want to.
func arguments(ctx context.Context, m *app, p ServerPrompt, written string) (given map[string]string, ok bool) {
	given = inquiry.Positional(p.Fields, written)
	q := inquiry.Question{Server: p.Server, Message: "For its prompt " + p.Name + ": " + p.About}
	missing := false
	for _, f := range p.Fields {
		one := given[f.Name]
		if one != "" {
			f.Default = one
		}
		missing = missing || f.Required && one == ""
		q.Fields = append(q.Fields, f)
	}
	if !missing {
		return given, true
	}
	a := &form.Ask{Question: q, Wanted: true, Reply: make(chan inquiry.Reply, 1)}
	if !m.box.post(a) {
		return nil, false
	}
	select {
	case r := <-a.Reply:
		if r.Action != inquiry.Accepted {
			return nil, false
		}
		given = map[string]string{}
		for name, v := range r.Values {
			given[name], _ = v.(string)
		}
		return given, true
	case <-ctx.Done():
		return nil, false
	}
}

// servedName returns the prompt that a message calls, such as "NAME:prompt" of "/NAME:prompt x".
func servedName(m *app, text string) (name, argument string, ok bool) {
	name, argument, _ = strings.Cut(strings.TrimPrefix(text, "/"), " ")
	server, _, found := strings.Cut(name, ":")
	if !found || !strings.HasPrefix(text, "/") || m.offers.Extras.ServerOffers == nil || m.offers.Extras.Servers == nil {
		return "", "", false
	}
	known := slices.ContainsFunc(m.offers.Extras.Servers.List(), func(s picker.Row) bool { return s.Id == server })
	return name, argument, known
}
