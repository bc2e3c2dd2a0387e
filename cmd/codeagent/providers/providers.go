// Package providers chooses a session's model, from the settings and from what the session
// used last, and makes the client for it. It reaches providers only through the model
// adapters, and may run the program that the user's settings name for a key. Read
// Providers.Choose first, then connect.
package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/hostfile"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/responses"
	"codeagent/model/wire"
	sessions "codeagent/session"
)

// defaultModel is the model used at OpenAI when none is named.
const defaultModel = "gpt-5"

// Chosen is a session's model.
type Chosen struct {
	Model   agent.Model     // nil: no provider is configured
	from    config.Provider // without a name for the top-level settings and the tour
	host    string
	Name    string // empty until first knows it
	unnamed bool   // nobody named it: it is the default, or the first that the provider lists
	Limits  config.ModelLimits
	kept    int64 // its context by the list that an earlier run of the session has read; 0: not known
	// Rules are the limits that the settings put on the model.
	Rules config.ModelRules
	First *firstModel
	// Notice says why this model was chosen, if that is not obvious.
	Notice event.Notice
	// KeyFrom says where the key comes from; "": it has none.
	KeyFrom string
}

// Managed returns an error if the managed settings decide for another model.
func (c Chosen) Managed(cfg config.Config) error { return cfg.DecidesModel(c.from, c.Name) }

// Title returns the model's name for display, in the form that --model accepts.
func (c Chosen) Title(name string) string {
	if c.from.Name == "" || name == "" {
		return name
	}
	return c.from.Name + "/" + name
}

// Address is where the model is asked.
func (c Chosen) Address() string { return c.from.BaseURL }

// Providers holds the providers of the settings, and what is needed to use one.
type Providers struct {
	cfg     config.Config
	paths   config.Paths
	env     func(string) string
	environ []string
	// ground is where commands may write: no program there is run for a key.
	ground func() hostfile.Ground
}

// Wish is what the caller of Choose needs a model for.
type Wish struct {
	// Attended: a person can answer questions.
	Attended bool
	// Needed: there is a prompt, which the tour cannot answer.
	Needed bool
	// Served: another program holds the conversation. It cannot show the tour.
	Served bool
	// Session is the ID of the session whose model is asked: that to resume, or the one before a new
	// one; "" for none. Switched: another session of this run came before.
	Session  string
	Switched bool
}

// Choose returns the model that w.Session used last, else the configured
// provider's. Without a provider it fails if one is needed, and otherwise returns no model.
// A server on this machine is offered and never chosen: it may have been started for
// another purpose.
func (ps Providers) Choose(ctx context.Context, w Wish) (Chosen, error) {
	provider, name, ok := ps.cfg.Choose(ps.env)
	var kept sessions.Model
	if w.Session != "" {
		kept, _ = sessions.New(ps.paths.Sessions).LastModel(w.Session) // the error is reported where the session is opened
	}
	last, gone := ps.lastAsked(w, kept)
	again := last.name != "" && (last.provider.Name != provider.Name || last.name != name)
	if again {
		provider, name, ok = last.provider, last.name, true
	}
	if ok {
		c, err := ps.connect(ctx, provider, name, w.Attended)
		same := c.Kept()
		if same.Window = kept.Window; same == kept {
			c.kept = kept.Window
		}
		passed := ps.cfg.Passed(provider, name)
		switch now := cmp.Or(c.Title(c.Name), "the provider's model"); {
		case gone != nil:
			c.Notice = event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("%v; using %s", gone, now)}
		case again:
			c.Notice = event.Notice{Level: word.LevelInfo, Text: "using " + now + ", as last used"}
		case passed != "":
			c.Notice = event.Notice{Level: word.LevelInfo, Text: fmt.Sprintf("using %s, the base URL, instead of the provider %s", c.host, passed)}
		}
		return c, err
	}
	if !w.Needed {
		return Chosen{}, nil
	}
	err := errors.New("no model is configured")
	if prefix, _, cut := strings.Cut(name, "/"); cut {
		err = fmt.Errorf("no provider is configured, and %q is not the name of one", prefix)
	}
	hints := []string{
		"set OPENAI_API_KEY, or OPENAI_BASE_URL for anything that speaks the OpenAI API",
		"or name a provider and its model: --model groq/NAME (codeagent help config lists them)",
	}
	for _, o := range ps.Servers(ctx) {
		hints = append(hints, o.String())
	}
	if gone != nil {
		hints = append(hints, gone.Error())
	}
	if !w.Served {
		hints = append(hints, "or start codeagent without a prompt to see the tour")
	}
	return Chosen{}, cli.Hinted(cli.ExitSignIn, err, hints...)
}

// connect makes the client of p and determines the model's name. With a screen, a name that
// only the provider knows is requested with the first message, so that the screen appears at
// once.
func (ps Providers) connect(ctx context.Context, p config.Provider, name string, attended bool) (Chosen, error) {
	from := p
	client, p, err := ps.Client(p, attended)
	if err != nil {
		return Chosen{}, err
	}
	unnamed := name == ""
	if unnamed && strings.HasPrefix(p.BaseURL, "https://api.openai.com/") {
		name = defaultModel
	}
	c := Chosen{Model: client, from: from, host: p.Host(), Name: name, unnamed: unnamed, KeyFrom: p.KeySource(ps.env), Limits: ps.cfg.LimitsOf(p, name), Rules: ps.cfg.RulesOf(p, name)}
	if name != "" {
		return c, nil
	}
	first := &firstModel{client: client, Known: func(name string) (config.ModelLimits, config.ModelRules) {
		return ps.cfg.LimitsOf(p, name), ps.cfg.RulesOf(p, name)
	}}
	if p.Wire == config.Responses {
		first.fallback = defaultModel // a proxy of OpenAI that has this API alone
	}
	if attended {
		c.Model, c.First = first, first
		return c, nil
	}
	c.Name, err = first.ask(ctx)
	switch {
	case notSignedIn(err):
		return Chosen{}, err
	case err != nil:
		return Chosen{}, cli.Hinted(cli.ExitFailed, err, nameOne)
	}
	c.Limits, c.Rules = first.Known(c.Name)
	return c, nil
}

// nameOne is the hint for a provider that does not list its models.
const nameOne = "name one with --model, OPENAI_MODEL or the setting model"

// firstModel is the first model that a provider lists. The list is requested when it is
// needed, and again after a failure.
type firstModel struct {
	client client
	// Found receives the name before the first request. It returns an error if the model cannot be
	// used.
	Found func(name string) error
	// Known returns the known limits of a model of this provider.
	Known func(name string) (config.ModelLimits, config.ModelRules)
	// fallback is used if the server has no list; "": none.
	fallback string
	name     string // turns are sequential, so no lock is needed
}

// ask returns the model's name; the provider has a few seconds to answer.
func (f *firstModel) ask(ctx context.Context) (string, error) {
	served, err := f.client.Models(ctx)
	if f.fallback != "" && notThere(err) {
		return f.fallback, nil
	}
	if err == nil && len(served) == 0 {
		err = errors.New("it lists no models")
	}
	if err != nil {
		return "", fmt.Errorf("no model is named, and the provider did not say which it serves: %w", err)
	}
	return served[0], nil
}

func (f *firstModel) Listing(name string) (model.Listing, bool) { return f.client.Listing(name) }

func (f *firstModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
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
			if err := f.Found(name); err != nil {
				yield(nil, err)
				return
			}
			f.name = name
		}
		r.Model = f.name
		f.client.Stream(ctx, r)(yield)
	}
}

// lister says what a provider's list has of a model; false: the list was not read yet.
type lister interface {
	Listing(name string) (model.Listing, bool)
}

// client is the interface of every adapter's client.
type client interface {
	agent.Model
	lister
	Models(context.Context) ([]string, error)
	Embed(ctx context.Context, name, text string) ([]float32, error)
	// Close closes idle connections.
	Close()
}

// Client returns the client of a provider that has its key, and the provider with its variables filled in.
func (ps Providers) Client(p config.Provider, attended bool) (client, config.Provider, error) {
	p, err := p.Resolve(ps.env)
	if err != nil {
		return nil, p, cli.Usage(err)
	}
	hints := p.KeyHints(ps.env, ps.paths.File)
	if p.Lacks(ps.env) != "" {
		return nil, p, cli.Hinted(cli.ExitSignIn, fmt.Errorf("no key for the provider %s", p.Name), hints...)
	}
	o := wire.Options{
		BaseURL: p.BaseURL, Key: p.Key(ps.env).Reveal(), Header: map[string][]string{}, SearchTool: p.SearchTool,
		Retry: wire.Retry{Patience: ps.cfg.Patience(attended)},
	}
	for k, v := range p.Headers {
		o.Header[k] = []string{v}
	}
	if len(p.KeyCommand) > 0 {
		o.Key, o.KeyFrom = "", ps.keyCommand(p.KeyCommand)
	}
	h := hintClient{key: hints, address: p.AddressHints(ps.paths.File), wire: p.WireHint(ps.paths.File)}
	if p.Wire == config.Responses {
		h.client = responses.New(o)
	} else {
		h.client = chat.New(o)
	}
	h.prices = &prices{client: h.client, asked: make(chan struct{}), own: func(name string) model.Price { return model.Price(ps.cfg.PriceOf(p, name)) }, local: p.Local,
		sized: func(name string) bool { return ps.cfg.LimitsOf(p, name).Context > 0 }}
	return h, p, nil
}

// Embedder returns the function that asks the model of answers.provider for an embedding, and the name of both; nil: none
// is set.
func (ps Providers) Embedder(attended bool) (embed func(ctx context.Context, text string) ([]float32, error), by string, err error) {
	o := ps.cfg.Answers
	if o.Provider == "" && o.Model == "" {
		return nil, "", nil
	}
	p, ok := ps.cfg.Provider(o.Provider, ps.env)
	if !ok || o.Provider == "" || o.Model == "" {
		return nil, "", errors.New("answers.provider and answers.model have to name a provider and its model")
	}
	c, _, err := ps.Client(p, attended)
	if err != nil {
		return nil, "", err
	}
	return func(ctx context.Context, text string) ([]float32, error) {
		defer c.Close()
		return c.Embed(ctx, o.Model, text)
	}, o.Provider + "/" + o.Model + " " + p.BaseURL, nil
}

// Blind reports whether the model is known to see no images.
func (c Chosen) Blind() bool { return c.Limits.Vision == "no" }

// Sees returns an error if the model cannot see these images.
func (c Chosen) Sees(images []model.Image) error {
	if len(images) == 0 || !c.Blind() {
		return nil
	}
	name := c.Title(c.Name)
	return cli.Usage(fmt.Errorf("the model %s cannot see images", name),
		"leave -i away, or choose a model that can: --model NAME",
		fmt.Sprintf("if it can: -c 'models.%q.vision=\"yes\"' (codeagent help config)", name))
}

// Of returns the providers of the settings.
func Of(b *workspace.Workspace) Providers {
	return Providers{cfg: b.Config, paths: b.Paths, env: b.Stdio.Env, environ: b.Stdio.Environ, ground: b.Ground}
}

const (
	// keyTime bounds the run of the program that prints the key: a person may have to touch a
	// security key.
	keyTime = time.Minute
	// keySize bounds its output, in bytes.
	keySize = 16 << 10
)

// keyCommand runs a program that prints the key. It runs with codeagent's own rights and
// environment, because only the user's own settings can name it. None of it may be where
// commands can write: neither the program, nor what its environment or its arguments lead
// to.
func (ps Providers) keyCommand(argv []string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, keyTime)
		defer cancel()
		cmd, err := ps.ground().Command(ctx, ps.environ, argv[0], argv[1:]...)
		if err != nil {
			return "", fmt.Errorf("key_command: %w", err)
		}
		out, err := hostfile.Output(cmd, argv[0], keySize)
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("key_command: %s did not end within %s", argv[0], keyTime)
		case errors.Is(err, hostfile.ErrTooMuch):
			return "", errors.New("key_command: it prints more than a key")
		case err != nil:
			return "", fmt.Errorf("key_command: %w", err)
		}
		return string(out), nil
	}
}
