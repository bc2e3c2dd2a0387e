package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/providers"
	"codeagent/event"
	"codeagent/tui"
)

// models are those that the person can switch to in the middle of a session.
type models struct {
	ses    *session
	show   func(event.Event)
	mu     sync.Mutex
	listed []providers.Listed // the last list; guarded by mu
}

// List implements tui.Models.
func (m *models) List(ctx context.Context) ([]tui.Model, error) {
	now := m.ses.asked()
	list, err := providers.Of(m.ses.Workspace).List(ctx, now, m.ses.options.attended)
	m.mu.Lock()
	m.listed = list
	m.mu.Unlock()
	out := []tui.Model{}
	for _, l := range list {
		out = append(out, tui.Model{Name: l.Title, About: l.About, Current: l.Title == now.Title(now.Name)})
	}
	return out, err
}

// Use implements tui.Models.
func (m *models) Use(ctx context.Context, name string) error {
	m.mu.Lock()
	list := m.listed
	m.mu.Unlock()
	return m.ses.use(ctx, list, name, m.show)
}

// use switches to another model, if it answers.
func (ses *session) use(ctx context.Context, list []providers.Listed, name string, show func(event.Event)) error {
	now := ses.asked()
	c, err := providers.Of(ses.Workspace).Switch(ctx, now, list, name)
	if err != nil {
		return fmt.Errorf("cannot use %s: %w\nstill using %s", name, cli.InWords(err), cmp.Or(now.Title(now.Name), "the provider's model"))
	}
	if err := ses.agent.Use(ses.choice(c)); err != nil {
		return err
	}
	if r := ses.record; r != nil {
		if err := r.log.Asks(c.Kept()); err != nil {
			show(event.Notice{Level: event.LevelError, Text: "cannot save the model change: " + err.Error()})
		}
	}
	ses.asks(c, show)
	return nil
}

// choice is c as the agent takes it.
func (ses *session) choice(c providers.Chosen) agent.Choice {
	return agent.Choice{
		Model: c.Model, ModelName: c.Name, Effort: ses.Config.ReasoningEffort,
		MaxOutputTokens: int(c.Limits.Output), ContextLimit: int(c.Limits.Context), Blind: c.Blind(),
	}
}

// asked is what is asked now.
func (ses *session) asked() providers.Chosen {
	ses.choosing.Lock()
	defer ses.choosing.Unlock()
	return ses.chosen
}

// asks has c be what is asked, and tells it. Only a turn calls it, or what runs
// between turns.
func (ses *session) asks(c providers.Chosen, tell func(event.Event)) {
	ses.choosing.Lock()
	ses.chosen = c
	ses.choosing.Unlock()
	ses.start.Model = c.Title(c.Name)
	ses.start.Window, ses.start.Assumed = c.Window()
	tell(ses.start)
}
