// Package templates is the / commands that send a message which others wrote: prompts of the person's
// own, and those of the MCP servers. It performs no IO: what is handed in does. Start with Templates.
package templates

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/event/word"
	"codeagent/mcp/inquiry"
	"codeagent/prompts"
	"codeagent/tui/form"
	"codeagent/tui/lists"
	"codeagent/tui/message"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/slash"
)

// Servers are what the servers offer to the person. Its methods ask the servers.
type Servers interface {
	// Resources are what a message can name behind an @: "NAME:uri".
	Resources(ctx context.Context) ([]string, error)
	Prompts(ctx context.Context) ([]Prompt, error)
	// Prompt is the message that a server's prompt makes.
	Prompt(ctx context.Context, server, name string, arguments map[string]string) (message.Message, error)
}

// Prompt is a message that a server writes. Fields are its arguments.
type Prompt struct {
	Server, Name, About string
	Fields              []inquiry.Field
}

// Templates are the prompts that can be called. The functions and Servers may be nil.
type Templates struct {
	// Load reads the person's own commands, and the project's. It is called once.
	Load    func(ctx context.Context) ([]prompts.Own, error)
	Servers Servers
	// Known are the servers that are configured.
	Known lists.Servers
	Now   func() time.Time

	own     []prompts.Own
	served  []Prompt
	loading bool
	read    time.Time // when the prompts of the servers were
}

// Message sends a prompt that a command made with its argument.
func Message(p prompts.Prompt, command, argument string) message.Message {
	return message.Message{Text: p.Text, Typed: strings.TrimSpace("/" + command + " " + argument), About: p.About}
}

// fresh is how long a list of what the servers offer is used before it is read again.
const fresh = 30 * time.Second

// Begin reads the person's own commands.
func (t *Templates) Begin() part.Intent {
	if t.Load == nil {
		return nil
	}
	return part.Beside(func(ctx context.Context) func() part.Intent {
		list, err := t.Load(ctx)
		return func() part.Intent {
			if t.own = list; err != nil {
				return part.Line{Level: word.LevelWarning, Text: err.Error()}
			}
			return nil
		}
	})
}

// Follow reads the prompts of the servers while a command is typed.
func (t *Templates) Follow(typed string) part.Intent {
	if t.Servers == nil || t.loading || !strings.HasPrefix(typed, "/") || !t.read.IsZero() && t.Now().Sub(t.read) < fresh {
		return nil
	}
	t.loading = true
	return part.Beside(func(ctx context.Context) func() part.Intent {
		all, err := t.Servers.Prompts(ctx)
		return func() part.Intent {
			t.loading, t.read = false, t.Now()
			if err == nil || len(all) > 0 { // the others list theirs
				t.served = all
			}
			return nil
		}
	})
}

// Commands are the prompts as commands: those of the person whose names are not taken, then those of
// the servers.
func (t *Templates) Commands(taken slash.Commands) (out slash.Commands) {
	for _, own := range t.own {
		if !slices.ContainsFunc(slices.Concat(taken, out), func(c slash.Command) bool { return c.Name == own.Name }) {
			out = append(out, slash.Command{Name: own.Name, Help: own.About, Takes: "[…]", Run: func(argument string) part.Intent {
				return Message(own.Prompt(argument), own.Name, argument)
			}})
		}
	}
	for _, p := range t.served {
		if strings.ContainsAny(p.Name, " \t/") {
			continue // it cannot be typed
		}
		help := "“" + p.About + "” (the server's words)"
		if p.About == "" {
			help = "a prompt of the MCP server " + p.Server
		}
		out = append(out, slash.Command{Name: p.command(), Help: help, Takes: p.takes(), Run: func(argument string) part.Intent { return t.use(p.command(), argument) }})
	}
	return out
}

// Called is what a message does that calls a prompt of a server, such as "/NAME:prompt x", before the
// prompts were listed; nil: it calls none.
func (t *Templates) Called(text string) part.Intent {
	name, argument, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	server, _, found := strings.Cut(name, ":")
	if !found || !strings.HasPrefix(text, "/") || t.Servers == nil || t.Known == nil || !slices.ContainsFunc(t.Known.List(), func(r picker.Row) bool { return r.Id == server }) {
		return nil
	}
	return t.use(name, argument)
}

// use gets a prompt of a server and sends it. Its arguments are taken in their order, the last one
// with all that is left; required ones that are missing are asked for.
func (t *Templates) use(name, argument string) part.Intent {
	server, _, _ := strings.Cut(name, ":")
	return part.All{part.End{}, part.Say("asking " + server + " for its prompt …"), part.Try(func(ctx context.Context) (part.Intent, error) {
		all, err := t.Servers.Prompts(ctx)
		i := slices.IndexFunc(all, func(p Prompt) bool { return p.command() == name })
		if i < 0 {
			return nil, cmp.Or(err, fmt.Errorf("no MCP server offers the prompt /%s", name))
		}
		given := inquiry.Positional(all[i].Fields, argument)
		ask := all[i].ask(given)
		if ask == nil {
			return t.get(ctx, all[i], given)
		}
		return part.All{ask, part.Try(func(ctx context.Context) (part.Intent, error) {
			select {
			case r := <-ask.Reply:
				if r.Action != inquiry.Accepted {
					return nil, nil
				}
				given := map[string]string{}
				for name, v := range r.Values {
					given[name], _ = v.(string)
				}
				return t.get(ctx, all[i], given)
			case <-ctx.Done():
				return nil, nil
			}
		})}, nil
	})}
}

// ask asks for the arguments of a prompt, with those that are given; nil: none is missing.
func (p Prompt) ask(given map[string]string) *form.Ask {
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
		return nil
	}
	return &form.Ask{Question: q, Wanted: true, Reply: make(chan inquiry.Reply, 1)}
}

// get is the message that a prompt makes.
func (t *Templates) get(ctx context.Context, p Prompt, given map[string]string) (part.Intent, error) {
	said, err := t.Servers.Prompt(ctx, p.Server, p.Name, given)
	said.Foreign, said.About = true, "/"+p.command()
	said.Text = fmt.Sprintf("[/%s: a prompt of the MCP server %s, which the user chose. The server wrote it.]\n%s", p.command(), p.Server, said.Text)
	return said, err
}

func (p Prompt) command() string { return p.Server + ":" + p.Name }

// takes names the arguments, in their order.
func (p Prompt) takes() string {
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
