// Package setup sets up a model on the screen, in small steps: a provider or an address, its key, a model
// of its own list, one request to it. What it found is then kept. It performs no IO: Work does all that.
// Start with Setup.Show.
package setup

import (
	"context"
	"fmt"

	"codeagent/tui/keys"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Key is an API key. Nothing that is drawn or formatted shows it.
type Key string

func (Key) String() string   { return "(hidden)" }
func (Key) GoString() string { return "(hidden)" }

// Provider is one to choose.
type Provider struct {
	// Name is that of the settings. About says in a few words where it is, or where its key comes from.
	Name, About string
	// Host is whose key is asked for; Asks: it needs one, and has none.
	Host string
	Asks bool
	// Fixed: its key does not come from codeagent, so none can be entered. Kept: codeagent keeps one.
	Fixed, Kept bool
	// Models are those that a server on this machine serves now.
	Models []string
	// Warning is what the person should know before a key is sent there.
	Warning string
}

// Choice is what the person chose. Key is empty where the provider has one or needs none.
type Choice struct {
	Provider string
	// Address is that of a new provider, up to and with /v1; "": the settings know it.
	Address string
	Key     Key
	Model   string
}

// Title is the model's name as --model takes it.
func (c Choice) Title() string { return c.Provider + "/" + c.Model }

// Work is done beside the screen.
type Work interface {
	// Place says where a key is kept, and who can read it.
	Place() string
	// Providers lists those to choose from, the likeliest first.
	Providers(ctx context.Context) ([]Provider, error)
	// At is the provider at an address that the person wrote.
	At(address string) (Provider, error)
	// CheckKey says why a text cannot be a key, without repeating it.
	CheckKey(key Key) error
	// Models lists the provider's models: Id is the name, About what is known.
	Models(ctx context.Context, c Choice) ([]picker.Row, error)
	// Try sends one small request. Its error is the provider's, in plain words.
	Try(ctx context.Context, c Choice) error
	// Keep writes the choice to the person's settings and its key to the file of keys, and says where.
	Keep(ctx context.Context, c Choice) (words string, err error)
	// Forget removes the kept key of a provider.
	Forget(ctx context.Context, provider string) error
}

// Setup is the way from no model to one that answers.
type Setup struct {
	part.Setting
	Work Work
	// Under is the overlay that is shown again when the person leaves.
	Under part.Overlay
	// Why is said above the providers. Tour plays the tour; nil: it is not offered.
	Why  string
	Tour func() part.Intent
	// Done is called with a choice that was kept, and the words about that.
	Done func(c Choice, words string) part.Intent
}

// mostLocal is how many models of a server on this machine stand beside the providers.
const mostLocal = 3

// Show lists the providers.
func (s *Setup) Show() part.Intent {
	p := picker.New(s.Keys, "Which model should codeagent use?")
	p.Under, p.Enter, p.Problem = s.Under, "chooses it", s.Why
	p.List = func(ctx context.Context) ([]picker.Row, error) {
		list, err := s.Work.Providers(ctx)
		return s.providers(p, list), err
	}
	p.Choose = func(r picker.Row) part.Intent {
		of := r.Of.(Provider)
		c := Choice{Provider: of.Name}
		if of.Asks {
			return part.Show{Overlay: s.key(p, of, c)}
		}
		return part.Show{Overlay: s.models(p, of, c)}
	}
	p.Deeds = []picker.Action{
		{Do: keys.Rename, Help: "enters another key", Fits: func(r picker.Row) bool { of := r.Of.(Provider); return of.Kept && !of.Fixed },
			Run: func(r picker.Row, _ string) part.Intent {
				of := r.Of.(Provider)
				return part.Show{Overlay: s.key(p, of, Choice{Provider: of.Name})}
			}},
		{Do: keys.Remove, Help: "forgets its key", Asks: "Forget the kept key of %s?", Fits: func(r picker.Row) bool { return r.Of.(Provider).Kept },
			Run: func(r picker.Row, _ string) part.Intent {
				return part.Beside(func(ctx context.Context) func() part.Intent {
					of := r.Of.(Provider)
					err := s.Work.Forget(ctx, of.Name)
					return func() part.Intent {
						if p.Problem = "the key of " + of.Name + " is forgotten; the provider still accepts it until you delete it there"; err != nil {
							p.Problem = err.Error()
						}
						return p.Load()
					}
				})
			}},
	}
	return part.Show{Overlay: p}
}

// providers are the rows of the first list.
func (s *Setup) providers(under *picker.Picker, list []Provider) (rows []picker.Row) {
	add := func(text, about string, of any, chosen func() part.Intent) {
		rows = append(rows, picker.Row{Id: text, Text: text, About: about, Of: of, Chosen: chosen})
	}
	for _, of := range list {
		for _, model := range of.Models[:min(len(of.Models), mostLocal)] {
			c := Choice{Provider: of.Name, Model: model}
			add(c.Title(), of.About, nil, func() part.Intent { return part.Show{Overlay: s.try(under, of, c)} })
		}
		if len(of.Models) > mostLocal {
			add(of.Name, fmt.Sprintf("all %d models", len(of.Models)), of, nil)
		}
	}
	if s.Tour != nil {
		add("The tour", "a scripted model shows the sandbox", nil, s.Tour)
	}
	for _, of := range list {
		if len(of.Models) == 0 {
			add(of.Name, of.About, of, nil)
		}
	}
	add("Another address …", "any server with the OpenAI API", nil, func() part.Intent { return part.Show{Overlay: s.address(under)} })
	return rows
}

// address is the step in which the person writes where a server is.
func (s *Setup) address(under part.Overlay) part.Overlay {
	return &entry{
		keys: s.Keys, title: "Another address", label: "address", enter: "continues", under: under,
		about: []string{"The address of a server that speaks the OpenAI API, up to and with /v1: https://llm.example.com/v1"},
		done: func(e *entry, text string) part.Intent {
			of, err := s.Work.At(text)
			if err != nil {
				e.problem = err.Error()
				return nil
			}
			return part.Show{Overlay: s.key(e, of, Choice{Provider: of.Name, Address: text})}
		},
	}
}

// key is the step in which the person enters a key.
func (s *Setup) key(under part.Overlay, of Provider, c Choice) part.Overlay {
	e := &entry{
		keys: s.Keys, title: "Key of " + of.Name, label: "key", enter: "lists models", secret: true, under: under,
		about: []string{"Paste the API key for " + of.Host + ". It is not shown.", s.Work.Place()},
	}
	if e.warning = of.Warning; c.Address != "" {
		e.about = append(e.about, "Leave it empty where the server needs no key. The settings call this provider "+of.Name+".")
	}
	e.done = func(e *entry, text string) part.Intent {
		if err := s.Work.CheckKey(Key(text)); err != nil && (text != "" || c.Address == "") {
			e.problem = err.Error()
			return nil
		}
		c.Key = Key(text)
		return part.Show{Overlay: s.models(e, of, c)}
	}
	return e
}

// choice is a list that leads to c: a model, by its Id.
func (s *Setup) choice(title string, under part.Overlay, of Provider, c Choice) *picker.Picker {
	p := picker.New(s.Keys, title)
	p.Under, p.Enter = under, "chooses it"
	p.Choose = func(r picker.Row) part.Intent { return part.Show{Overlay: s.try(p, of, c.with(r.Id))} }
	return p
}

func (c Choice) with(model string) Choice {
	c.Model = model
	return c
}

// models is the provider's own list.
func (s *Setup) models(under part.Overlay, of Provider, c Choice) part.Overlay {
	p := s.choice("Model of "+of.Name, under, of, c)
	p.Enter = "tries it, keeps it for later"
	p.List = func(ctx context.Context) ([]picker.Row, error) {
		list, err := s.Work.Models(ctx, c)
		if err != nil {
			return s.ways(p, of, c), err
		}
		return append(list, s.named(p, of, c)), nil
	}
	return p
}

// named is the row for a model that no list has.
func (s *Setup) named(p *picker.Picker, of Provider, c Choice) picker.Row {
	name := &picker.Action{Label: "model", Saves: "tries it", Writes: func(picker.Row) string { return c.Model }, Run: func(_ picker.Row, model string) part.Intent {
		if model == "" {
			return nil
		}
		return part.Show{Overlay: s.try(p, of, c.with(model))}
	}}
	r := picker.Row{Id: "\x00model", Text: "Another model …", About: "by its name"}
	r.Chosen = func() part.Intent { p.Ask(name, r); return nil }
	return r
}

// ways are the next steps after an error.
func (s *Setup) ways(p *picker.Picker, of Provider, c Choice) (rows []picker.Row) {
	if !of.Fixed {
		rows = append(rows, picker.Row{Id: "\x00key", Text: "Another key …", Chosen: func() part.Intent { return part.Show{Overlay: s.key(p.Under, of, c)} }})
	}
	return append(rows, s.named(p, of, c), picker.Row{Id: "\x00provider", Text: "Another provider …", Chosen: s.Show})
}

// trial sends one request, and keeps a choice that works; else it lists what can be done. An answer that comes after
// the person left changes nothing.
type trial struct {
	*picker.Picker
	load func(ctx context.Context) func() part.Intent
	gone context.Context
	left context.CancelFunc
}

// Load is part of part.Overlay.
func (t *trial) Load() part.Intent {
	return part.Beside(func(ctx context.Context) func() part.Intent {
		ctx, end := context.WithCancel(ctx)
		defer end()
		defer context.AfterFunc(t.gone, end)()
		next := t.load(ctx)
		return func() part.Intent {
			if t.gone.Err() != nil {
				return nil
			}
			return next()
		}
	})
}

// Key takes a key, and notices that the person leaves.
func (t *trial) Key(k keys.Key) (part.Intent, bool) {
	intent, handled := t.Picker.Key(k)
	if show, leaves := intent.(part.Show); leaves && show.Overlay == t.Under {
		t.left()
	}
	return intent, handled
}

func (s *Setup) try(under part.Overlay, of Provider, c Choice) part.Overlay {
	t := &trial{Picker: s.choice("Trying "+c.Title()+" …", under, of, c)}
	t.gone, t.left = context.WithCancel(context.Background())
	failed := func(title string, err error, more ...picker.Row) part.Intent {
		t.Fill(append(s.ways(t.Picker, of, c), more...))
		t.Title, t.Problem = title, err.Error()
		return nil
	}
	keep := func(ctx context.Context) func() part.Intent {
		words, err := s.Work.Keep(ctx, c)
		return func() part.Intent {
			if err != nil {
				return failed("Cannot keep "+c.Title(), err)
			}
			return s.Done(c, words)
		}
	}
	t.load = func(ctx context.Context) func() part.Intent {
		err := s.Work.Try(ctx, c)
		if err == nil && t.gone.Err() == nil {
			return keep(ctx)
		}
		return func() part.Intent {
			anyway := picker.Row{Id: "\x00anyway", Text: "Keep it anyway", Chosen: func() part.Intent { return part.Beside(keep) }}
			return failed(c.Title()+" did not answer", err, anyway)
		}
	}
	return t
}
