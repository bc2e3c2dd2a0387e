package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/tui"
)

// models are those that the person can switch to in the middle of a session.
type models struct {
	ses    *session
	show   func(event.Event)
	mu     sync.Mutex
	listed []listed // the last list; guarded by mu
}

// List implements tui.Models.
func (m *models) List(ctx context.Context) ([]tui.Model, error) {
	now := m.ses.asked()
	list, err := providersOf(m.ses.Workspace).list(ctx, now, m.ses.options.attended)
	m.mu.Lock()
	m.listed = list
	m.mu.Unlock()
	out := []tui.Model{}
	for _, l := range list {
		out = append(out, tui.Model{Name: l.title, About: l.about, Current: l.title == now.title(now.name)})
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
func (ses *session) use(ctx context.Context, list []listed, name string, show func(event.Event)) error {
	now := ses.asked()
	c, err := providersOf(ses.Workspace).switchTo(ctx, now, list, name)
	if err != nil {
		return fmt.Errorf("cannot use %s: %w\nstill using %s", name, cli.InWords(err), cmp.Or(now.title(now.name), "the provider's model"))
	}
	if err := ses.agent.Use(ses.choice(c)); err != nil {
		return err
	}
	if r := ses.record; r != nil {
		if err := r.log.Asks(c.kept()); err != nil {
			show(event.Notice{Level: event.LevelError, Text: "cannot save the model change: " + err.Error()})
		}
	}
	ses.asks(c, show)
	return nil
}

// choice is c as the agent takes it.
func (ses *session) choice(c chosen) agent.Choice {
	return agent.Choice{
		Model: c.model, ModelName: c.name, Effort: ses.Config.ReasoningEffort,
		MaxOutputTokens: int(c.limits.Output), ContextLimit: int(c.limits.Context), Blind: c.blind(),
	}
}

// asked is what is asked now.
func (ses *session) asked() chosen {
	ses.choosing.Lock()
	defer ses.choosing.Unlock()
	return ses.chosen
}

// asks has c be what is asked, and tells it. Only a turn calls it, or what runs
// between turns.
func (ses *session) asks(c chosen, tell func(event.Event)) {
	ses.choosing.Lock()
	ses.chosen = c
	ses.choosing.Unlock()
	ses.start.Model = c.title(c.name)
	ses.start.Window, ses.start.Assumed = c.window()
	tell(ses.start)
}
