package mcp

import (
	"context"
	"iter"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codeagent/internal/visible"
)

// maxOffers bounds the resources, and the prompts, of a server.
const maxOffers = 500

// Resource is something that can be read from a server. All texts are the server's: bounded and
// safe to show.
type Resource struct {
	URI, Name, Title, Description, MediaType string
}

// Prompt is a message that a server writes for the person. All texts are the server's: bounded
// and safe to show.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// listed reads a list of what the server offers, at most 500 entries; of a capability that the server
// does not have it is empty.
func listed[T any](ctx context.Context, c *Client, doing string, has func(*sdk.ServerCapabilities) bool,
	list func(context.Context, *sdk.ClientSession) iter.Seq2[*T, error]) (all []*T, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, listTime, ErrTime)
	defer cancel()
	s := c.current()
	if r := s.InitializeResult(); r != nil && (r.Capabilities == nil || !has(r.Capabilities)) {
		return nil, nil
	}
	if all, err = first(list(limited, s), maxOffers, c.log); err != nil {
		return nil, c.words(limited, doing, err)
	}
	return all, nil
}

// Resources lists the resources of the server, at most 500. One whose URI is long or holds
// characters that cannot be seen is left out.
func (c *Client) Resources(ctx context.Context) (list []Resource, err error) {
	all, err := listed(ctx, c, "listing its resources", func(has *sdk.ServerCapabilities) bool { return has.Resources != nil },
		func(ctx context.Context, s *sdk.ClientSession) iter.Seq2[*sdk.Resource, error] {
			return s.Resources(ctx, nil)
		})
	for _, r := range all {
		if nameable(r.URI, maxURI) {
			list = append(list, Resource{r.URI, line(r.Name, maxTitle), line(r.Title, maxTitle), line(r.Description, maxTitle), line(r.MIMEType, maxName)})
		}
	}
	return list, err
}

// maxURI bounds the URI of a resource, in bytes.
const maxURI = 1024

// nameable reports a name of the server's that people and models can repeat.
func nameable(name string, most int) bool {
	return name != "" && len(name) <= most && visible.Line(name) == name
}

// ReadResource reads a resource of the server.
func (c *Client) ReadResource(ctx context.Context, uri string) (Result, error) {
	limited, stop := c.limit(ctx)
	defer stop()
	answer, err := c.current().ReadResource(limited, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return Result{}, c.words(limited, "reading "+line(uri, maxTitle), err)
	}
	var g contentCollector
	for _, r := range answer.Contents[:min(len(answer.Contents), maxParts)] {
		g.resource(ctx, r)
	}
	return Result{Text: g.b.String(), Images: g.images}, nil
}

// Prompts lists the prompts of the server, at most 500, without those that cannot be named.
func (c *Client) Prompts(ctx context.Context) (list []Prompt, err error) {
	all, err := listed(ctx, c, "listing its prompts", func(has *sdk.ServerCapabilities) bool { return has.Prompts != nil },
		func(ctx context.Context, s *sdk.ClientSession) iter.Seq2[*sdk.Prompt, error] {
			return s.Prompts(ctx, nil)
		})
	for _, p := range all {
		if !nameable(p.Name, maxName) || len(p.Arguments) > maxFields ||
			slices.ContainsFunc(p.Arguments, func(a *sdk.PromptArgument) bool { return a == nil || !nameable(a.Name, maxName) }) {
			continue
		}
		one := Prompt{Name: p.Name, Title: line(p.Title, maxTitle), Description: line(p.Description, maxTitle)}
		for _, a := range p.Arguments {
			one.Arguments = append(one.Arguments, PromptArgument{a.Name, line(a.Description, maxTitle), a.Required})
		}
		list = append(list, one)
	}
	return list, err
}

// Prompt gets the text of a prompt. What the server wrote for an assistant is marked so.
func (c *Client) Prompt(ctx context.Context, name string, arguments map[string]string) (Result, error) {
	limited, stop := c.limit(ctx)
	defer stop()
	answer, err := c.current().GetPrompt(limited, &sdk.GetPromptParams{Name: name, Arguments: arguments})
	if err != nil {
		return Result{}, c.words(limited, "getting the prompt "+line(name, maxName), err)
	}
	var g contentCollector
	for _, m := range answer.Messages[:min(len(answer.Messages), maxParts)] {
		if m == nil {
			continue
		}
		if m.Role != "user" {
			g.say("[" + line(string(m.Role), maxName) + "]")
		}
		g.add(ctx, m.Content)
	}
	return Result{Text: g.b.String(), Images: g.images}, nil
}
