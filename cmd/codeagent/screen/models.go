package screen

import (
	"context"
	"sync"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/providers"
	"codeagent/event"
	"codeagent/tui"
)

// models are the models that the person can switch to during a session.
type models struct {
	ses    *conversation.Session
	show   func(event.Event)
	mu     sync.Mutex
	listed []providers.Listed // the last list; guarded by mu
}

// List implements tui.Models.
func (m *models) List(ctx context.Context) ([]tui.Model, error) {
	now := m.ses.Asked()
	list, err := providers.Of(m.ses.Workspace).List(ctx, now, m.ses.Options.Attended)
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
	return m.ses.Use(ctx, list, name, m.show)
}
