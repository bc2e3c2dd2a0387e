package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/event"
	"codeagent/hostfile"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/responses"
	"codeagent/model/wire"
)

// defaultModel is what is asked at OpenAI when no model is named.
const defaultModel = "gpt-5"

// chosen is the model that a session asks.
type chosen struct {
	model    agent.Model // nil: no provider is configured
	provider string      // its name; empty for the top-level settings and the tour
	from     config.Provider
	host     string
	name     string // empty while first does not know it
	unnamed  bool   // nobody named it: it is the default, or what the provider lists first
	limits   config.ModelLimits
	first    *firstServed
	// told says why it is this one, where that is not plain.
	told event.Notice
	// offers are servers on this machine that could be asked instead of the tour.
	offers []string
}

// title is how the model is shown: as --model takes it.
func (c chosen) title(name string) string {
	if c.provider == "" || name == "" {
		return name
	}
	return c.provider + "/" + name
}

// providers are the providers of the settings, with what it takes to ask one.
type providers struct {
	cfg     config.Config
	paths   config.Paths
	env     func(string) string
	environ []string
	// ground is where commands may write: nothing there is run for a key.
	ground func() hostfile.Ground
}

// wish is what the caller of choose needs a model for.
type wish struct {
	// attended: a person can answer questions.
	attended bool
	// needed: there is something to answer that the tour cannot answer.
	needed bool
	// session is the ID of the session to resume, "" for a new one; switched: the person
	// switched to it from another session of this run.
	session  string
	switched bool
}

// choose takes the model that the resumed session asked last, else the configured
// provider. Without a provider it fails if one is needed, and otherwise returns no model.
// A server on this machine is offered and never taken: somebody who starts one for
// another purpose has not chosen it for codeagent.
func (ps providers) choose(ctx context.Context, w wish) (chosen, error) {
	provider, name, ok := ps.cfg.Choose(ps.env)
	last, gone := ps.lastAsked(w)
	again := last.name != "" && (last.provider.Name != provider.Name || last.name != name)
	if again {
		provider, name, ok = last.provider, last.name, true
	}
	if ok {
		c, err := ps.connect(ctx, provider, name, w.attended)
		passed := ps.cfg.Passed(provider, name)
		switch now := cmp.Or(c.title(c.name), "the provider's model"); {
		case gone != nil:
			c.told = event.Notice{Level: event.LevelWarning, Text: fmt.Sprintf("%v; using %s", gone, now)}
		case again:
			c.told = event.Notice{Level: event.LevelInfo, Text: "using " + now + ", as this session did last"}
		case passed != "":
			c.told = event.Notice{Level: event.LevelInfo, Text: fmt.Sprintf("using %s, the base URL, instead of the provider %s", c.host, passed)}
		}
		return c, err
	}
	found := ps.lookForServers(ctx)
	if !w.needed {
		return chosen{offers: found()}, nil
	}
	err := errors.New("no model is configured")
	if prefix, _, cut := strings.Cut(name, "/"); cut {
		err = fmt.Errorf("no provider is configured, and %q is not the name of one", prefix)
	}
	hints := []string{
		"set OPENAI_API_KEY, or OPENAI_BASE_URL for anything that speaks the OpenAI API",
		"or name a provider and its model: --model groq/NAME (docs/config.md lists them)",
	}
	hints = append(hints, found()...)
	if gone != nil {
		hints = append(hints, gone.Error())
	}
	return chosen{}, &cli.HintError{Code: cli.ExitSignIn, Err: err, Hints: append(hints,
		"or start codeagent without a prompt to see the tour",
	)}
}

// connect makes the wire to p and settles the model's name. With a screen a name
// that only the provider knows is asked for with the first message, not before
// the first picture.
func (ps providers) connect(ctx context.Context, p config.Provider, name string, attended bool) (chosen, error) {
	from := p
	client, p, err := ps.client(p, attended)
	if err != nil {
		return chosen{}, err
	}
	if p.Lacks(ps.env) != "" {
		return chosen{}, &cli.HintError{Code: cli.ExitSignIn, Err: fmt.Errorf("no key for the provider %s", p.Name), Hints: ps.keyHints(p)}
	}
	unnamed := name == ""
	if unnamed && strings.HasPrefix(p.BaseURL, "https://api.openai.com/") {
		name = defaultModel
	}
	c := chosen{model: client, provider: p.Name, from: from, host: p.Host(), name: name, unnamed: unnamed, limits: ps.cfg.LimitsOf(p, name)}
	if name != "" {
		return c, nil
	}
	first := &firstServed{client: client, limits: func(name string) config.ModelLimits { return ps.cfg.LimitsOf(p, name) }}
	if attended {
		c.model, c.first = first, first
		return c, nil
	}
	c.name, err = first.ask(ctx)
	switch {
	case notSignedIn(err):
		return chosen{}, err
	case err != nil:
		return chosen{}, &cli.HintError{Code: cli.ExitFailed, Err: err, Hints: []string{nameOne}}
	}
	c.limits = ps.cfg.LimitsOf(p, c.name)
	return c, nil
}

// nameOne is what helps where a provider does not list its models.
const nameOne = "name one with --model, OPENAI_MODEL or the setting model"

// firstServed is the first model that a provider lists. It is asked for once it
// is needed, and again where that failed.
type firstServed struct {
	client client
	// found is told the name before the first answer; nil: nobody is.
	found func(name string)
	// limits is what is known of a model of this provider.
	limits func(name string) config.ModelLimits
	name   string // turns come one after the other: no lock
}

// ask returns the model's name; the provider has a few seconds to answer.
func (f *firstServed) ask(ctx context.Context) (string, error) {
	served, err := f.client.Models(ctx)
	if err == nil && len(served) == 0 {
		err = errors.New("it lists none")
	}
	if err != nil {
		return "", fmt.Errorf("no model is named, and the provider did not say which it serves: %w", err)
	}
	return served[0], nil
}

func (f *firstServed) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if f.name == "" {
			name, err := f.ask(ctx)
			switch {
			case notSignedIn(err):
				yield(nil, err)
				return
			case err != nil:
				yield(nil, fmt.Errorf("%w; %s", err, nameOne))
				return
			}
			f.name = name
			f.found(name)
		}
		r.Model = f.name
		f.client.Stream(ctx, r)(yield)
	}
}

// client is what each wire's client can do.
type client interface {
	agent.Model
	Models(context.Context) ([]string, error)
	// Close lets go of connections that wait to be used again.
	Close()
}

// client is the wire to a provider, and the provider with its variables filled in.
func (ps providers) client(p config.Provider, attended bool) (client, config.Provider, error) {
	p, err := p.Resolve(ps.env)
	if err != nil {
		return nil, p, &cli.UsageError{Err: err}
	}
	o := wire.Options{
		BaseURL: p.BaseURL, Key: p.Key(ps.env).Reveal(), Header: map[string][]string{},
		Retry: wire.Retry{Patience: ps.cfg.Patience(attended)},
	}
	for k, v := range p.Headers {
		o.Header[k] = []string{v}
	}
	if len(p.KeyCommand) > 0 {
		o.Key, o.KeyFrom = "", ps.keyCommand(p.KeyCommand)
	}
	h := hinting{key: ps.keyHints(p), address: p.AddressHints(ps.paths.File), wire: p.WireHint(ps.paths.File)}
	if p.Wire == config.Responses {
		h.client = responses.New(o)
	} else {
		h.client = chat.New(o)
	}
	return h, p, nil
}

// blind reports that the model is known to see no images.
func (c chosen) blind() bool { return c.limits.Vision == "no" }

// seesThem is the error for images that the model cannot see.
func (c chosen) seesThem(images []model.Image) error {
	if len(images) == 0 || !c.blind() {
		return nil
	}
	name := c.title(c.name)
	return &cli.UsageError{Err: fmt.Errorf("the model %s cannot see images", name), Hints: []string{
		"leave -i away, or choose a model that can: --model NAME",
		fmt.Sprintf("if it can: -c 'models.%q.vision=\"yes\"' (docs/config.md)", name),
	}}
}

// providers are the providers of the settings.
func providersOf(b *workspace.Workspace) providers {
	return providers{cfg: b.Config, paths: b.Paths, env: b.Stdio.Env, environ: b.Stdio.Environ, ground: b.Ground}
}
