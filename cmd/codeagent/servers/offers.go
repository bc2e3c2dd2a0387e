package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"codeagent/mcp"
	"codeagent/mcp/inquiry"
)

// Resource is a resource of one server.
type Resource struct {
	Server string
	mcp.Resource
}

// Prompt is a prompt of one server.
type Prompt struct {
	Server string
	mcp.Prompt
}

// Fields are its arguments, in their order.
func (p Prompt) Fields() (out []inquiry.Field) {
	for _, a := range p.Arguments {
		out = append(out, inquiry.Field{Name: a.Name, Description: a.Description, Kind: inquiry.String, Required: a.Required})
	}
	return out
}

// Resources lists the resources of the running servers, by server. A server that does not list its
// own is left out, and the error says so.
func (s *Servers) Resources(ctx context.Context) (out []Resource, err error) {
	return gather(ctx, s, func(ctx context.Context, name string, c *mcp.Client) (list []Resource, err error) {
		all, err := c.Resources(ctx)
		for _, r := range all {
			list = append(list, Resource{name, r})
		}
		return list, err
	})
}

// Prompts lists the prompts of the running servers, as Resources does.
func (s *Servers) Prompts(ctx context.Context) (out []Prompt, err error) {
	return gather(ctx, s, func(ctx context.Context, name string, c *mcp.Client) (list []Prompt, err error) {
		all, err := c.Prompts(ctx)
		for _, p := range all {
			list = append(list, Prompt{name, p})
		}
		return list, err
	})
}

// Read reads a resource of a server. What the person names is read without a question: the server
// is confined as in a call.
func (s *Servers) Read(ctx context.Context, name, uri string) (mcp.Result, error) {
	return use(ctx, s, name, func(c *mcp.Client) (mcp.Result, error) { return c.ReadResource(ctx, uri) })
}

// Prompt gets the text of a prompt of a server.
func (s *Servers) Prompt(ctx context.Context, name, prompt string, arguments map[string]string) (mcp.Result, error) {
	return use(ctx, s, name, func(c *mcp.Client) (mcp.Result, error) { return c.Prompt(ctx, prompt, arguments) })
}

// use does what do does on the connection of a server, which it starts if it has ended.
func use[T any](ctx context.Context, s *Servers, name string, do func(*mcp.Client) (T, error)) (out T, err error) {
	m := s.member(name)
	if m == nil {
		return out, fmt.Errorf("there is no MCP server %s in this session", name)
	}
	if err := m.enter(ctx); err != nil {
		return out, err
	}
	defer m.leave()
	one, err := m.running(ctx, m.all.options.Ledger.ServerPolicy(m.name, m.box.policy))
	if err != nil {
		return out, err
	}
	if one.service != nil {
		m.note(one, one.service.Begin(ctx, nil, nil), false)
		defer func() {
			during, _ := one.service.End()
			m.note(one, during, err != nil)
		}()
	}
	return do(one.client)
}

// gather asks all running servers at the same time, and joins their lists by server.
func gather[T any](ctx context.Context, s *Servers, list func(ctx context.Context, name string, c *mcp.Client) ([]T, error)) (out []T, err error) {
	if s == nil {
		return nil, nil
	}
	lists, errs := make([][]T, len(s.members)), make([]error, len(s.members))
	var all sync.WaitGroup
	for i, m := range s.members {
		if m.status().State != Running {
			continue
		}
		all.Go(func() {
			lists[i], errs[i] = use(ctx, s, m.name, func(c *mcp.Client) ([]T, error) { return list(ctx, m.name, c) })
		})
	}
	all.Wait()
	for _, l := range lists {
		out = append(out, l...)
	}
	return out, errors.Join(errs...)
}
