package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/event"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/responses"
	"codeagent/model/tour"
	"codeagent/model/wire"
	"codeagent/sandbox"
)

// defaultModel is what is asked at OpenAI when no model is named.
const defaultModel = "gpt-5"

// chosen is the model of a session: a provider's, or the tour's.
type chosen struct {
	model    agent.Model
	provider string // its name; empty for the top-level settings and the tour
	from     config.Provider
	host     string
	name     string // empty while first does not know it
	unnamed  bool   // nobody named it: it is the default, or what the provider lists first
	limits   config.ModelLimits
	tour     *tour.Tour
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

// chooseModel takes what the session that is gone on with asked last, else the
// configured provider; without one it plays the tour, unless there is something to
// answer that the tour could not. What runs on this machine is offered and not
// asked: whoever starts a server for one purpose has not chosen it for another.
func (b *box) chooseModel(ctx context.Context, o sessionOptions) (chosen, error) {
	provider, name, ok := b.cfg.Choose(b.s.Env)
	last, gone := b.lastAsked(o.from)
	again := last.name != "" && (last.provider.Name != provider.Name || last.name != name)
	if again {
		provider, name, ok = last.provider, last.name, true
	}
	if ok {
		c, err := b.connect(ctx, provider, name, o.attended)
		passed := b.cfg.Passed(provider, name)
		switch now := cmp.Or(c.title(c.name), "the provider's model"); {
		case gone != nil:
			c.told = event.Notice{Level: "warning", Text: fmt.Sprintf("%v; %s is asked", gone, now)}
		case again:
			c.told = event.Notice{Level: "info", Text: now + " is asked, as it was last in this session"}
		case passed != "":
			c.told = event.Notice{Level: "info", Text: fmt.Sprintf("%s is asked, as the base URL says, and not the provider %s", c.host, passed)}
		}
		return c, err
	}
	found := b.lookForServers(ctx)
	if o.hasPrompt || o.from != nil || len(o.images) > 0 {
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
	t, err := startTour(ctx, b, o.attended)
	if err != nil {
		return chosen{}, err
	}
	return chosen{model: chat.New(chat.Options{BaseURL: t.BaseURL}), name: tour.Model, tour: t, offers: found()}, nil
}

// connect makes the wire to p and settles the model's name. With a screen a name
// that only the provider knows is asked for with the first message, not before
// the first picture.
func (b *box) connect(ctx context.Context, p config.Provider, name string, attended bool) (chosen, error) {
	from := p
	client, p, err := b.client(p, attended)
	if err != nil {
		return chosen{}, err
	}
	if p.Lacks(b.s.Env) != "" {
		return chosen{}, &cli.HintError{Code: cli.ExitSignIn, Err: fmt.Errorf("no key for the provider %s", p.Name), Hints: b.keyHints(p)}
	}
	unnamed := name == ""
	if unnamed && strings.HasPrefix(p.BaseURL, "https://api.openai.com/") {
		name = defaultModel
	}
	c := chosen{model: client, provider: p.Name, from: from, host: p.Host(), name: name, unnamed: unnamed, limits: b.cfg.LimitsOf(p, name)}
	if name != "" {
		return c, nil
	}
	first := &firstServed{client: client, limits: func(name string) config.ModelLimits { return b.cfg.LimitsOf(p, name) }}
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
	c.limits = b.cfg.LimitsOf(p, c.name)
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
func (b *box) client(p config.Provider, attended bool) (client, config.Provider, error) {
	p, err := p.Resolve(b.s.Env)
	if err != nil {
		return nil, p, &cli.UsageError{Err: err}
	}
	o := wire.Options{
		BaseURL: p.BaseURL, Key: p.Key(b.s.Env).Reveal(), Header: map[string][]string{},
		Retry: wire.Retry{Patience: b.cfg.Patience(attended)},
	}
	for k, v := range p.Headers {
		o.Header[k] = []string{v}
	}
	if len(p.KeyCommand) > 0 {
		o.Key, o.KeyFrom = "", b.keyCommand(p.KeyCommand)
	}
	h := hinting{key: b.keyHints(p), address: p.AddressHints(b.paths.File), wire: p.WireHint(b.paths.File)}
	if p.Wire == config.Responses {
		h.client = responses.New(o)
	} else {
		h.client = chat.New(o)
	}
	return h, p, nil
}

// outsideName is the file that the tour tries to write outside the workspace.
const outsideName = "codeagent-tour-outside.txt"

// startTour plays the built-in tour in this workspace. The file outside lies in
// the home folder, else in the system's folder for temporary files, whichever
// commands may not write; one that was opened by its own name stays the file.
func startTour(ctx context.Context, b *box, attended bool) (*tour.Tour, error) {
	outside := filepath.Join(os.TempDir(), outsideName)
	if home := b.s.Env("HOME"); home != "" && !b.policy.JudgeWrite(home).Allowed {
		outside = filepath.Join(home, outsideName)
	}
	if folder, err := sandbox.Canonical(b.files, "/", filepath.Dir(outside)); err == nil {
		outside = filepath.Join(folder, outsideName)
	}
	o := tour.Options{Workspace: b.workspace, Outside: outside, Path: b.s.Env("PATH"), Attended: attended}
	if attended {
		o.Held, o.NotHeld = b.notHeld() == "", b.networkNotHeld()
	}
	return tour.Start(ctx, o)
}
