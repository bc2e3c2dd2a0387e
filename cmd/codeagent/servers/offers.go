package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
// own, or not soon, is left out, and the error says so.
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
	return use(ctx, s, name, turnTime, func(c *mcp.Client) (mcp.Result, error) { return c.ReadResource(ctx, uri) })
}

// Prompt gets the text of a prompt of a server.
func (s *Servers) Prompt(ctx context.Context, name, prompt string, arguments map[string]string) (mcp.Result, error) {
	return use(ctx, s, name, turnTime, func(c *mcp.Client) (mcp.Result, error) { return c.Prompt(ctx, prompt, arguments) })
}

// Within bounds what is asked of servers. An error after it names the server and what it was doing.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, mcp.ErrTime)
}

// use does what do does on the connection of a server, which it starts if it has ended. It waits
// for its turn as enterSoon does.
func use[T any](ctx context.Context, s *Servers, name string, patience time.Duration, do func(*mcp.Client) (T, error)) (out T, err error) {
	m := s.member(name)
	if m == nil {
		return out, fmt.Errorf("there is no MCP server %s in this session", name)
	}
	if err := m.enterSoon(ctx, patience); err != nil {
		return out, err
	}
	defer m.leave()
	one, err := m.running(ctx, m.all.options.Ledger.ServerPolicy(m.name, m.box.policy), "")
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
	if out, err = do(one.client); errors.Is(err, mcp.ErrForgotten) {
		m.drop(one) // the next use begins another session
	}
	return out, err
}

// turnTime is how long a person waits for a server that does something else, listsTime where several list
// what they have, there also for each list.
const (
	turnTime  = 30 * time.Second
	listsTime = 5 * time.Second
)

// enterSoon is enter for what a person waits for: it gives up after patience. A first start has a limit of its own.
func (m *member) enterSoon(ctx context.Context, patience time.Duration) error {
	m.mu.Lock()
	starting := m.state == Starting
	m.mu.Unlock()
	if !starting {
		var cancel context.CancelFunc
		ctx, cancel = Within(ctx, patience)
		defer cancel()
	}
	err := m.enter(ctx)
	if !errors.Is(err, mcp.ErrTime) {
		return err
	}
	return fmt.Errorf("MCP server %s, busy with something else: %w", m.name, err)
}

// gather asks all running servers at the same time, and joins their lists by server. None of several
// keeps the others' lists from appearing for long. A start has its own limit: one that is cut off fails.
func gather[T any](ctx context.Context, s *Servers, list func(ctx context.Context, name string, c *mcp.Client) ([]T, error)) (out []T, err error) {
	if s == nil {
		return nil, nil
	}
	patience := turnTime
	if len(s.members) > 1 {
		patience = listsTime
	}
	lists, errs := make([][]T, len(s.members)), make([]error, len(s.members))
	var all sync.WaitGroup
	for i, m := range s.members {
		if m.status().State != Running {
			continue
		}
		all.Go(func() {
			lists[i], errs[i] = use(ctx, s, m.name, patience, func(c *mcp.Client) ([]T, error) {
				limited, cancel := Within(ctx, patience)
				defer cancel()
				return list(limited, m.name, c)
			})
		})
	}
	all.Wait()
	for _, l := range lists {
		out = append(out, l...)
	}
	return out, errors.Join(errs...)
}
