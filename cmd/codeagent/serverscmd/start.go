package serverscmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/extensions"
	"codeagent/cmd/codeagent/servers"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
)

// chosen is one server that a session in this folder would have.
type chosen struct {
	ws       *workspace.Workspace
	name     string
	settings server.Settings

	mu    sync.Mutex
	words []string // warnings while it runs, in order; guarded by mu
}

// choose opens the workspace and finds the server called name. The caller closes the workspace.
func choose(ctx context.Context, s cli.Stdio, f cli.Flags, name string) (*chosen, error) {
	ws, err := workspace.Open(ctx, s, f)
	if err != nil {
		return nil, err
	}
	found := extensions.ReadServers(ctx, ws)
	all := maps.Clone(found.Servers)
	if all == nil {
		all = map[string]server.Settings{}
	}
	maps.Copy(all, ws.Config.MCP.Servers)
	settings, ok := all[name]
	if !ok {
		ws.Close()
		for _, why := range append(found.Left, found.Untrusted) {
			if why != "" {
				fmt.Fprintf(s.Err, "codeagent: %s\n", visible.Log(visible.Line(why)))
			}
		}
		return nil, unknown(name, names(all))
	}
	return &chosen{ws: ws, name: name, settings: settings}, nil
}

// options are those with which a session starts the server, without answers of a person.
func (c *chosen) options(ctx context.Context) servers.Options {
	gate := approvals.NewGate(approvals.Options{Mode: approvals.Mode(c.ws.Config.AskForApproval), Base: c.ws.Policy, Files: c.ws.Files, Home: c.ws.Stdio.Env("HOME"), Workspace: c.ws.Folder})
	return servers.Options{
		Workspace: c.ws, Configured: map[string]server.Settings{c.name: c.settings}, Ledger: gate.Ledger(), Trusted: c.ws.Trust(ctx).Protect,
	}
}

// start starts the server alone and waits until it has started or failed. The caller closes it.
func (c *chosen) start(ctx context.Context, o servers.Options) (*servers.Servers, error) {
	list := servers.Open(ctx, o)
	list.Attach(c)
	if err := list.Ready(ctx); err != nil {
		list.Close()
		return nil, err
	}
	return list, nil
}

// Emit keeps warnings, and shows on a terminal what a start waits for.
func (c *chosen) Emit(e event.Event) {
	n, ok := e.(event.Notice)
	switch {
	case ok && n.Level == word.LevelWarning:
		c.warn(n.Text)
	case ok && cli.IsTerminal(c.ws.Stdio.Err):
		fmt.Fprintf(c.ws.Stdio.Err, "codeagent: %s\n", visible.Log(n.Text))
	}
}

func (c *chosen) warn(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words = append(c.words, text)
}

func (c *chosen) warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.words)
}

// Inquire declines: a test asks nobody.
func (c *chosen) Inquire(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return inquiry.Reply{Action: inquiry.Declined}, nil
}
