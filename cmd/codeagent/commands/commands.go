// Package commands is what the screen and an editor offer beside talking: the user's own prompts,
// what is open, undo, other models, the conversation as a page. It acts only through a session. A
// face shows what it returns. Read Own first.
package commands

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"codeagent/agent"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/providers"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/event"
	"codeagent/exec"
)

// Compact summarizes the conversation. focus says what the summary must keep; it may be empty. The
// event Compacted reports a failure that is not returned.
func Compact(ctx context.Context, ses *conversation.Session, focus string) error {
	_, err := ses.Agent.Compact(ctx, focus)
	if errors.Is(err, agent.ErrNothing) || errors.Is(err, agent.ErrBusy) {
		return err
	}
	return nil
}

// ErrNoMessage: nothing of the session is on the disk yet.
var ErrNoMessage = errors.New("this session has no message yet")

// Export writes the session as a page and says where. file may be relative to the workspace, or
// empty.
func Export(ses *conversation.Session, file string) (string, error) {
	log := ses.Record.Log
	if !log.Kept() {
		return "", ErrNoMessage
	}
	if file == "" {
		file = "session-" + log.ID() + ".md"
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(ses.Workspace.Folder, file)
	}
	return "this session is written to " + file, sessionscmd.Export(ses.Workspace.Stdio, log.ID(), file, ses.Workspace.Folder)
}

// Models are the models that a session can switch to.
type Models struct {
	Ses *conversation.Session
	// Show takes the events of a switch.
	Show func(event.Event)

	mu     sync.Mutex
	listed []providers.ListedModel // the last list; guarded by mu
}

// Model is one of them. Name is what --model takes, About describes it in a few words.
type Model struct {
	Name, About string
	Current     bool
}

// List returns the known models, the likeliest first. It asks the providers.
func (m *Models) List(ctx context.Context) ([]Model, error) {
	now := m.Ses.Asked()
	list, err := providers.Of(m.Ses.Workspace).List(ctx, now, m.Ses.Options.Attended)
	m.mu.Lock()
	m.listed = list
	m.mu.Unlock()
	return m.Last(), err
}

// Last returns the last list, with the model that is in use now.
func (m *Models) Last() []Model {
	now := m.Ses.Asked()
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []Model{}
	for _, l := range m.listed {
		out = append(out, Model{Name: l.Title, About: l.About, Current: l.Title == now.Title(now.Name)})
	}
	return out
}

// Add makes a model known to Use that its provider need not list.
func (m *Models) Add(l providers.ListedModel) {
	m.mu.Lock()
	m.listed = append([]providers.ListedModel{l}, m.listed...)
	m.mu.Unlock()
}

// Use switches to a model. No turn may run.
func (m *Models) Use(ctx context.Context, name string) error {
	m.mu.Lock()
	list := m.listed
	m.mu.Unlock()
	return m.Ses.Use(ctx, list, name, m.Show)
}

// Ending says in a word or two how a command ended.
func Ending(o exec.Outcome) string {
	switch {
	case o.Interrupted:
		return "killed"
	case o.TimedOut:
		return "out of time"
	case o.Status.Signal != 0:
		return fmt.Sprintf("signal %d", o.Status.Signal)
	}
	return fmt.Sprintf("exit %d", o.Status.Exit)
}
