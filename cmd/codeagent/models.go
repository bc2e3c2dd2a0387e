package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/event"
	"codeagent/model"
	"codeagent/tui"
)

const (
	// listTime bounds the question which models the provider in use serves, and
	// otherTime the same for the others, which hold up the list.
	listTime  = 4 * time.Second
	otherTime = 1500 * time.Millisecond
	// probeTime bounds the question whether a model answers that is not listed.
	probeTime = 30 * time.Second
)

// models are those that the person can switch to in the middle of a session.
type models struct {
	ses  *session
	tell func(event.Event)

	mu     sync.Mutex
	listed map[string]named // by title, of the last list; guarded by mu
}

// named is a provider's model.
type named struct {
	provider config.Provider
	name     string
}

// List asks the provider in use, those with a key and the servers on this
// machine which models they serve. Whoever does not answer in time is passed
// over, but for the one in use.
func (m *models) List(ctx context.Context) ([]tui.Model, error) {
	now := m.ses.asked()
	providers := []config.Provider{now.from}
	for _, p := range m.ses.cfg.Ready(m.ses.s.Env) {
		if p.Name != now.from.Name && p.BaseURL != now.from.BaseURL {
			providers = append(providers, p)
		}
	}
	served := make([][]string, len(providers))
	failed := make([]error, len(providers))
	var all sync.WaitGroup
	for i, p := range providers {
		patience := otherTime
		if i == 0 {
			patience = listTime
		}
		all.Go(func() { served[i], failed[i] = m.ses.serves(ctx, p, patience) }) // ends with its patience
	}
	all.Wait()
	if now.name != "" && !slices.Contains(served[0], now.name) {
		served[0] = append([]string{now.name}, served[0]...)
	}
	out, listed := []tui.Model{}, map[string]named{}
	for i, p := range providers {
		for _, name := range served[i] {
			title := chosen{provider: p.Name}.title(name)
			if _, twice := listed[title]; twice {
				continue
			}
			listed[title] = named{p, name}
			out = append(out, tui.Model{Name: title, About: about(m.ses.cfg.LimitsOf(p, name)), Current: i == 0 && name == now.name})
		}
	}
	m.mu.Lock()
	m.listed = listed
	m.mu.Unlock()
	if err := failed[0]; err != nil {
		return out, fmt.Errorf("the provider in use did not list its models: %w", err)
	}
	return out, nil
}

// serves asks p for its models.
func (ses *session) serves(ctx context.Context, p config.Provider, patience time.Duration) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, _, err := ses.client(p, ses.options.attended)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Models(ctx)
}

// about says what is known of a model.
func about(l config.ModelLimits) string {
	var words []string
	if l.Context > 0 {
		words = append(words, fmt.Sprintf("%dk", l.Context/1000))
	}
	if l.Vision == "yes" {
		words = append(words, "images")
	}
	return strings.Join(words, " · ")
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

// window is how many tokens the model is taken to take, and whether that is only
// assumed.
func (c chosen) window() (tokens int64, assumed bool) {
	if c.limits.Context > 0 {
		return c.limits.Context, false
	}
	return agent.DefaultContext, true
}

// meant is the model that a name stands for: one of the list, or what it would
// be on the command line.
func (m *models) meant(name string) named {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.listed[name]; ok {
		return n
	}
	p, rest := m.ses.cfg.Switch(m.ses.asked().from, name)
	return named{p, rest}
}

// Use asks another model from now on, if it answers.
func (m *models) Use(ctx context.Context, name string) error {
	n := m.meant(name)
	c, err := m.ses.connect(ctx, n.provider, n.name, false)
	if err == nil {
		err = c.answers(ctx)
	}
	if err != nil {
		now := m.ses.asked()
		return fmt.Errorf("%s cannot be asked: %w\n%s is still asked", name, cli.InWords(err), cmp.Or(now.title(now.name), "the provider's model"))
	}
	if err := m.ses.agent.Use(m.ses.choice(c)); err != nil {
		return err
	}
	if r := m.ses.record; r != nil {
		if err := r.log.Asks(c.kept()); err != nil {
			m.tell(event.Notice{Level: "error", Text: "that another model is asked cannot be saved: " + err.Error()})
		}
	}
	m.ses.asks(c, m.tell)
	return nil
}

// choice is c as the agent takes it.
func (ses *session) choice(c chosen) agent.Choice {
	return agent.Choice{
		Model: c.model, ModelName: c.name, Effort: ses.cfg.ReasoningEffort,
		MaxOutputTokens: int(c.limits.Output), ContextLimit: int(c.limits.Context), Blind: c.blind(),
	}
}

// answers reports whether the provider has the model. Where its list does not
// name it, which some do not do for all they have, the model itself is asked.
func (c chosen) answers(ctx context.Context) error {
	list, over := context.WithTimeout(ctx, listTime)
	defer over()
	if from, ok := c.model.(client); ok {
		served, err := from.Models(list)
		switch {
		case notSignedIn(err):
			return err
		case err == nil && slices.Contains(served, c.name):
			return nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	late := fmt.Errorf("%s did not answer within %s", c.name, probeTime)
	probe, end := context.WithTimeoutCause(ctx, probeTime, late)
	defer end()
	for d, err := range c.model.Stream(probe, model.Request{
		Model: c.name, Items: []model.Item{{Kind: model.User, Text: "Say ok."}}, MaxOutputTokens: 16,
	}) {
		if err != nil && probe.Err() != nil {
			return context.Cause(probe)
		}
		if _, again := d.(model.Retrying); err != nil || !again {
			return err
		}
	}
	return nil
}
