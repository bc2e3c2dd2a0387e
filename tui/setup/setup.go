// Package setup sets up a model on the screen, in small steps: a provider or an address, its key, a model
// of its own list, one request to it. What it found is then kept. It performs no IO: Work does all that.
// Start with Setup.Show.
package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// The rows that are no provider and no model.
const (
	tour          = "\x00tour"
	address       = "\x00address"
	otherKey      = "\x00key"
	otherModel    = "\x00model"
	otherProvider = "\x00provider"
	anyway        = "\x00anyway"
)

// mostLocal is how many models of a server on this machine stand beside the providers.
const mostLocal = 3

// step is a list whose rows come from Work. A result that comes after the person left changes nothing.
type step struct {
	*picker.Picker
	load func(ctx context.Context) func() part.Intent
	gone context.Context
	left context.CancelFunc
}

func newStep(s part.Setting, title string, under part.Overlay) *step {
	out := &step{Picker: picker.New(s.Keys, title)}
	out.Under, out.Enter = under, "chooses it"
	out.gone, out.left = context.WithCancel(context.Background())
	return out
}

// Load is part of part.Overlay.
func (s *step) Load() part.Intent {
	return part.Beside(func(ctx context.Context) func() part.Intent {
		ctx, end := context.WithCancel(ctx)
		defer end()
		defer context.AfterFunc(s.gone, end)()
		next := s.load(ctx)
		return func() part.Intent {
			if s.gone.Err() != nil {
				return nil
			}
			return next()
		}
	})
}

// Key takes a key, and notices that the person leaves.
func (s *step) Key(k keys.Key) (part.Intent, bool) {
	intent, handled := s.Picker.Key(k)
	if show, leaves := intent.(part.Show); leaves && show.Overlay == s.Under {
		s.left()
	}
	return intent, handled
}

// fill shows rows, and an error.
func (s *step) fill(rows []picker.Row, err error) part.Intent {
	s.Fill(rows)
	if err != nil {
		s.Problem = err.Error()
	}
	return nil
}

// Show lists the providers.
func (s *Setup) Show() part.Intent {
	p := newStep(s.Setting, "Which model should codeagent use?", s.Under)
	p.Problem = s.Why
	var list []Provider
	p.load = func(ctx context.Context) func() part.Intent {
		found, err := s.Work.Providers(ctx)
		return func() part.Intent {
			list = found
			return p.fill(s.rows(found), err)
		}
	}
	at := func(r picker.Row) (of Provider, model string) {
		name, model, _ := strings.Cut(r.Id, "/")
		if i := slices.IndexFunc(list, func(of Provider) bool { return of.Name == name }); i >= 0 {
			of = list[i]
		}
		return of, model
	}
	p.Choose = func(r picker.Row) part.Intent {
		of, model := at(r)
		switch c := (Choice{Provider: of.Name, Model: model}); {
		case r.Id == tour:
			return s.Tour()
		case r.Id == address:
			return part.Show{Overlay: s.address(p)}
		case model != "":
			return part.Show{Overlay: s.try(p, of, c)}
		case of.Asks:
			return part.Show{Overlay: s.key(p, of, c)}
		default:
			return part.Show{Overlay: s.models(p, of, c)}
		}
	}
	p.Deeds = []picker.Action{
		{Do: keys.Rename, Help: "enters another key", Fits: func(r picker.Row) bool { of, model := at(r); return model == "" && of.Kept && !of.Fixed },
			Run: func(r picker.Row, _ string) part.Intent {
				of, _ := at(r)
				return part.Show{Overlay: s.key(p, of, Choice{Provider: of.Name})}
			}},
		{Do: keys.Remove, Help: "forgets its key", Asks: "Forget the kept key of %s?", Fits: func(r picker.Row) bool { of, model := at(r); return model == "" && of.Kept },
			Run: func(r picker.Row, _ string) part.Intent {
				return part.Beside(func(ctx context.Context) func() part.Intent {
					of, _ := at(r)
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

func (s *Setup) rows(list []Provider) (rows []picker.Row) {
	local := func(of Provider) bool { return len(of.Models) > 0 }
	for _, of := range list {
		for i, model := range of.Models {
			if i < mostLocal {
				rows = append(rows, picker.Row{Id: of.Name + "/" + model, Text: of.Name + "/" + model, About: of.About})
			}
		}
		if len(of.Models) > mostLocal {
			rows = append(rows, picker.Row{Id: of.Name, Text: of.Name, About: fmt.Sprintf("all %d models", len(of.Models))})
		}
	}
	if s.Tour != nil {
		rows = append(rows, picker.Row{Id: tour, Text: "The tour", About: "a scripted model shows the sandbox"})
	}
	for _, of := range list {
		if !local(of) {
			rows = append(rows, picker.Row{Id: of.Name, Text: of.Name, About: of.About})
		}
	}
	return append(rows, picker.Row{Id: address, Text: "Another address …", About: "any server with the OpenAI API"})
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

// models is the provider's own list.
func (s *Setup) models(under part.Overlay, of Provider, c Choice) part.Overlay {
	p := newStep(s.Setting, "Model of "+of.Name, under)
	p.Enter = "tries it, keeps it for later"
	p.load = func(ctx context.Context) func() part.Intent {
		list, err := s.Work.Models(ctx, c)
		rows := append(list, named)
		if err != nil {
			rows = s.ways(of)
		}
		return func() part.Intent { return p.fill(rows, err) }
	}
	s.chooses(p, of, c)
	return p
}

var named = picker.Row{Id: otherModel, Text: "Another model …", About: "by its name"}

// ways are the next steps after an error.
func (s *Setup) ways(of Provider) (rows []picker.Row) {
	if !of.Fixed {
		rows = append(rows, picker.Row{Id: otherKey, Text: "Another key …"})
	}
	return append(rows, named, picker.Row{Id: otherProvider, Text: "Another provider …"})
}

// chooses says what the rows of a list of models do, and those of ways.
func (s *Setup) chooses(p *step, of Provider, c Choice) {
	name := &picker.Action{Label: "model", Saves: "tries it", Writes: func(picker.Row) string { return c.Model }, Run: func(_ picker.Row, model string) part.Intent {
		if c.Model = model; model == "" {
			return nil
		}
		return part.Show{Overlay: s.try(p, of, c)}
	}}
	p.Choose = func(r picker.Row) part.Intent {
		switch r.Id {
		case otherKey:
			return part.Show{Overlay: s.key(p.Under, of, c)}
		case otherModel:
			p.Ask(name, r)
			return nil
		case otherProvider:
			return s.Show()
		case anyway:
			return part.Beside(func(ctx context.Context) func() part.Intent { return s.kept(ctx, p, of, c) })
		}
		c.Model = r.Id
		return part.Show{Overlay: s.try(p, of, c)}
	}
}

// try sends one request, and keeps a choice that works.
func (s *Setup) try(under part.Overlay, of Provider, c Choice) part.Overlay {
	p := newStep(s.Setting, "Trying "+c.Title()+" …", under)
	p.load = func(ctx context.Context) func() part.Intent {
		err := s.Work.Try(ctx, c)
		if err == nil && p.gone.Err() == nil {
			return s.kept(ctx, p, of, c)
		}
		return func() part.Intent {
			p.Title = c.Title() + " did not answer"
			rows := append(s.ways(of), picker.Row{Id: anyway, Text: "Keep it anyway"})
			return p.fill(rows, err)
		}
	}
	s.chooses(p, of, c)
	return p
}

// kept keeps a choice.
func (s *Setup) kept(ctx context.Context, p *step, of Provider, c Choice) func() part.Intent {
	words, err := s.Work.Keep(ctx, c)
	return func() part.Intent {
		if err != nil {
			p.Title = "Cannot keep " + c.Title()
			return p.fill(s.ways(of), err)
		}
		return s.Done(c, words)
	}
}
