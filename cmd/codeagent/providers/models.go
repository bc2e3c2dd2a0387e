package providers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/agent"
	"codeagent/config"
	"codeagent/model"
)

const (
	// listTime bounds the request for the model list of the provider in use, and otherTime the
	// same for the others, which delay the list.
	listTime  = 4 * time.Second
	otherTime = 1500 * time.Millisecond
	// probeTime bounds the request to a model that is not listed.
	probeTime = 30 * time.Second
)

// named is a provider's model.
type named struct {
	provider config.Provider
	name     string
}

// Listed is a model that a provider lists.
type Listed struct {
	named
	Title, About string
}

// List returns the models of the provider in use, of those with a key and of the servers
// on this machine, the one in use first. A provider that does not answer in time is left
// out; for the one in use an error is returned as well.
func (ps Providers) List(ctx context.Context, now Chosen, attended bool) ([]Listed, error) {
	from := []config.Provider{now.from}
	for _, p := range ps.cfg.Ready(ps.env) {
		if p.Name != now.from.Name && p.BaseURL != now.from.BaseURL {
			from = append(from, p)
		}
	}
	served := make([][]string, len(from))
	failed := make([]error, len(from))
	var all sync.WaitGroup
	for i, p := range from {
		patience := otherTime
		if i == 0 {
			patience = listTime
		}
		all.Go(func() { served[i], failed[i] = ps.serves(ctx, p, patience, attended) }) // bounded by patience
	}
	all.Wait()
	if now.Name != "" && !slices.Contains(served[0], now.Name) {
		served[0] = append([]string{now.Name}, served[0]...)
	}
	var out []Listed
	for i, p := range from {
		for _, name := range served[i] {
			title := Chosen{provider: p.Name}.Title(name)
			if !slices.ContainsFunc(out, func(l Listed) bool { return l.Title == title }) {
				out = append(out, Listed{named{p, name}, title, about(ps.cfg.LimitsOf(p, name))})
			}
		}
	}
	if err := failed[0]; err != nil {
		return out, fmt.Errorf("the provider in use did not list its models: %w", err)
	}
	return out, nil
}

// serves returns the models that p lists.
func (ps Providers) serves(ctx context.Context, p config.Provider, patience time.Duration, attended bool) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, _, err := ps.Client(p, attended)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Models(ctx)
}

// Switch connects to the model of that name, from the list or as on the command line, and
// fails if the model does not answer.
func (ps Providers) Switch(ctx context.Context, now Chosen, list []Listed, name string) (Chosen, error) {
	var n named
	if i := slices.IndexFunc(list, func(l Listed) bool { return l.Title == name }); i >= 0 {
		n = list[i].named
	} else {
		n.provider, n.name = ps.cfg.Switch(now.from, name)
	}
	c, err := ps.connect(ctx, n.provider, n.name, false)
	if err == nil {
		err = c.answers(ctx)
	}
	return c, err
}

// about describes what is known about a model.
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

// Window returns the model's context in tokens, and whether that is only assumed.
func (c Chosen) Window() (tokens int64, assumed bool) {
	if c.Limits.Context > 0 {
		return c.Limits.Context, false
	}
	return agent.DefaultContext, true
}

// answers checks that the provider has the model. Some lists are incomplete, so a model that
// is not listed gets a request.
func (c Chosen) answers(ctx context.Context) error {
	list, over := context.WithTimeout(ctx, listTime)
	defer over()
	if from, ok := c.Model.(client); ok {
		served, err := from.Models(list)
		switch {
		case notSignedIn(err):
			return err
		case err == nil && slices.Contains(served, c.Name):
			return nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	late := fmt.Errorf("%s did not answer within %s", c.Name, probeTime)
	probe, end := context.WithTimeoutCause(ctx, probeTime, late)
	defer end()
	for d, err := range c.Model.Stream(probe, model.Request{
		Model: c.Name, Items: []model.Item{{Kind: model.User, Text: "Say ok."}}, MaxOutputTokens: 16,
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
