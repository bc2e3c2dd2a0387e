package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/config"
	"codeagent/internal/visible"
	"codeagent/model"
	"codeagent/model/chat"
	sessions "codeagent/session"
)

const (
	// listTime bounds the request for the model list of the provider in use, and otherTime the
	// same for the others, which delay the list.
	listTime  = 4 * time.Second
	otherTime = 1500 * time.Millisecond
	// probeTime bounds the request to a model that is not listed.
	probeTime = 30 * time.Second
)

// modelName is a provider's model.
type modelName struct {
	provider config.Provider
	name     string
}

// ListedModel is a model that a provider lists.
type ListedModel struct {
	modelName
	Title, About string
}

// List returns the models of the provider in use, of those with a key and of the servers
// on this machine, the one in use first. A provider that does not answer in time is left
// out; for the one in use an error is returned as well.
func (ps Providers) List(ctx context.Context, now Chosen, attended bool) ([]ListedModel, error) {
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
	var out []ListedModel
	for i, p := range from {
		for _, name := range served[i] {
			one := ps.Listed(p, name)
			if !slices.ContainsFunc(out, func(l ListedModel) bool { return l.Title == one.Title }) {
				out = append(out, one)
			}
		}
	}
	if err := failed[0]; err != nil && now.from.BaseURL == "" {
		return out, errors.New("no model is configured: set one up, or set OPENAI_API_KEY or OPENAI_BASE_URL")
	} else if err != nil {
		return out, fmt.Errorf("the provider in use did not list its models: %w", err)
	}
	return out, nil
}

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
func (ps Providers) Switch(ctx context.Context, now Chosen, list []ListedModel, name string) (Chosen, error) {
	var n modelName
	if i := slices.IndexFunc(list, func(l ListedModel) bool { return l.Title == name }); i >= 0 {
		n = list[i].modelName
	} else {
		n.provider, n.name = ps.cfg.Switch(now.from, name)
	}
	c, err := ps.connect(ctx, n.provider, n.name, false)
	if err == nil {
		err = c.answers(ctx)
	}
	return c, err
}

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

// Context returns the model's context in tokens, by the settings or else by the provider's list; 0: not known.
func (c Chosen) Context() int64 { return cmp.Or(c.Limits.Context, c.window()) }

// window is the context by the provider's list, as it was last read.
func (c Chosen) window() int64 {
	if from, ok := c.Model.(lister); ok {
		if l, read := from.Listing(c.Name); read {
			return int64(l.Window)
		}
	}
	return c.kept
}

// Price returns what the model costs by the settings, or else by the provider's list.
func (c Chosen) Price(ctx context.Context) (price model.Price) {
	if h, ok := c.Model.(hintClient); ok {
		h.prices.ask(ctx, c.Name)
		price, _ = h.prices.of(ctx, c.Name, listTime)
	}
	return price
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
	return c.probe(ctx, probeTime)
}

// probe sends a small request.
func (c Chosen) probe(ctx context.Context, patience time.Duration) error {
	late := fmt.Errorf("%s did not answer within %s", c.Name, patience)
	probe, end := context.WithTimeoutCause(ctx, patience, late)
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

// Servers asks the usual loopback ports which models are served there, without a key: an offer
// for each server that answers, in the order of the list of providers.
func (ps Providers) Servers(ctx context.Context) []Offer {
	ctx, cancel := context.WithTimeout(ctx, otherTime)
	defer cancel()
	servers := ps.cfg.LocalServers()
	offers := make([]Offer, len(servers))
	var all sync.WaitGroup
	for i, p := range servers {
		all.Go(func() { offers[i] = offer(ctx, p) }) // ends with ctx
	}
	all.Wait()
	return slices.DeleteFunc(offers, func(o Offer) bool { return len(o.models) == 0 })
}

// Offer is a server on this machine that could be used.
type Offer struct {
	title, provider string
	models          []string
}

// String says how to use it.
func (o Offer) String() string {
	return fmt.Sprintf("%s runs on this machine: --model %s asks it", o.title, visible.Line(o.provider+"/"+o.models[0]))
}

// offer returns what the server of p offers; nothing if it does not answer.
func offer(ctx context.Context, p config.Provider) Offer {
	client := chat.New(chat.Options{BaseURL: p.BaseURL})
	defer client.Close()
	models, err := client.Models(ctx)
	if err != nil {
		return Offer{}
	}
	return Offer{p.Title, p.Name, models}
}

// Kept returns the model as the session's record stores it.
func (c Chosen) Kept() sessions.Model {
	m := sessions.Model{Name: c.Title(c.Name), Window: c.window()}
	if !c.unnamed {
		m.Provider, m.Host = c.from.Name, c.host
	}
	return m
}

// lastAsked returns the model that the resumed session used last, with its present settings;
// none if nobody chose it, or the command line names another. The error says why it is not
// used any more. A conversation continues only at the same provider and address: an entry
// with the same name and another address does not count.
func (ps Providers) lastAsked(w Wish, last sessions.Model) (modelName, error) {
	if last.Host == "" || ps.cfg.Asked() && !w.Switched {
		return modelName{}, nil
	}
	p, known := ps.cfg.Provider(last.Provider, ps.env)
	there, err := p.Resolve(ps.env)
	lacks := p.Lacks(ps.env)
	switch {
	case !known:
		err = errors.New("its provider is not configured any more")
	case err != nil:
	case there.Host() != last.Host:
		err = fmt.Errorf("its provider is at %s now, and was at %s", there.Host(), last.Host)
	case lacks != "":
		err = fmt.Errorf("%s is not set", lacks)
	}
	if err != nil {
		return modelName{}, fmt.Errorf("cannot use %s, the model this session used last: %w", last.Name, err)
	}
	name := last.Name
	if last.Provider != "" {
		name = strings.TrimPrefix(name, last.Provider+"/")
	}
	return modelName{p, name}, nil
}
