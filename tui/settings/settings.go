// Package settings is /config: the settings that people change, each with its value and its source. It performs
// no IO: what reads and writes them is handed in. Start with List.Show.
package settings

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/tui/keys"
	"codeagent/tui/lists"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Setting is one of them.
type Setting struct {
	// Key is its name in the file, Value its value, Source where that comes from. About says what it does.
	Key, Value, Source, About string
	// Choices are its values; empty: the person writes one.
	Choices []string
	// Fixed: something that comes before the file sets it in this run.
	Fixed bool
}

// Live is a setting that can be changed for this session.
type Live struct {
	// Now is its value in the session; Use changes it.
	Now func() string
	Use func(value string) part.Intent
	// Show opens the list of its own in place of that; nil: it has none.
	Show func() part.Intent
}

// List is what the list gets of the screen.
type List struct {
	part.Setting
	// Read reads the settings, Write writes one to the person's own file.
	Read  func(ctx context.Context) ([]Setting, error)
	Write lists.Write
	// Live are those that can be changed for this session, by their keys.
	Live map[string]Live
}

// overlay is the list. A row stands for its Setting, with the value that holds now.
type overlay struct {
	*picker.Picker
	of List
}

// Load is part of part.Overlay.
func (o *overlay) Load() part.Intent {
	return part.Beside(func(ctx context.Context) func() part.Intent {
		list, err := o.of.Read(ctx)
		return func() part.Intent {
			o.Fill(o.of.rows(list))
			o.failed(err)
			return nil
		}
	})
}

func (o *overlay) failed(err error) {
	if err != nil {
		o.Problem = err.Error()
	}
}

// here is the source of a value that was changed for the session.
const here = "this session"

func (l List) rows(list []Setting) (rows []picker.Row) {
	wide := 0
	for _, s := range list {
		wide = max(wide, len(s.Key))
	}
	for _, s := range list {
		more := s.About
		if len(s.Choices) > 0 {
			more = "One of " + strings.TrimPrefix(strings.Join(s.Choices, ", "), ", ") + ". " + more
		}
		live, changes := l.Live[s.Key]
		if !changes {
			more = "A change holds from the next start on. " + more
		}
		if s.Fixed {
			more = s.Source + " sets it for this run. " + more
		}
		if live.Now != nil && live.Now() != s.Value {
			s.Value, s.Source = live.Now(), here
		}
		rows = append(rows, picker.Row{Id: s.Key, Text: fmt.Sprintf("%-*s  %s", wide, s.Key, named(s.Value)), About: s.Source, More: more, Of: s})
	}
	return rows
}

// named is a value as it is shown.
func named(value string) string { return cmp.Or(value, "(unset)") }

// Show is /config.
func (l List) Show() part.Intent {
	o := &overlay{Picker: picker.New(l.Setting.Keys, "Settings"), of: l}
	o.Enter = "changes it"
	write := &picker.Action{Label: "value", Saves: "keeps it in the settings, from the next start on", Writes: func(r picker.Row) string { return r.Of.(Setting).Value },
		Run: func(r picker.Row, text string) part.Intent { return o.keep(r.Id, text) }}
	o.Choose = func(r picker.Row) part.Intent {
		s := r.Of.(Setting)
		live, toggles, other := l.Live[s.Key], slices.Equal(s.Choices, []string{"true", "false"}), strconv.FormatBool(s.Value != "true")
		switch {
		case live.Show != nil:
			intent := live.Show()
			if show, ok := intent.(part.Show); ok {
				if own, ok := show.Overlay.(*picker.Picker); ok {
					own.Under = o
				}
			}
			return intent
		case toggles && live.Use != nil:
			return part.All{live.Use(other), o.Load()}
		case toggles:
			return o.keep(s.Key, other)
		case len(s.Choices) > 0:
			return part.Show{Overlay: o.values(s)}
		}
		o.Ask(write, r)
		return nil
	}
	o.Deeds = []picker.Action{{Do: keys.Keep, Help: "keeps its value in the settings", Fits: func(r picker.Row) bool { return r.Of.(Setting).Source == here },
		Run: func(r picker.Row, _ string) part.Intent { return o.keep(r.Id, r.Of.(Setting).Value) }}}
	return part.Show{Overlay: o}
}

// keep writes a value to the person's file, and shows the list again.
func (o *overlay) keep(key, value string) part.Intent {
	o.Problem = ""
	return part.Beside(func(ctx context.Context) func() part.Intent {
		words, err := o.of.Write(ctx, key, value)
		return func() part.Intent {
			if o.failed(err); err != nil {
				return nil
			}
			if _, live := o.of.Live[key]; !live {
				words += "\nit holds from the next start on"
			}
			return part.All{part.Note(words), part.Say("kept in the settings"), o.Load()}
		}
	})
}

// values lists the values of a setting. A live one is used for this session by Enter and kept by another key;
// any other is kept.
func (o *overlay) values(s Setting) part.Overlay {
	p := picker.New(o.of.Keys, s.Key)
	p.Under, p.Enter = o, "keeps it in the settings, from the next start on"
	keep := func(r picker.Row) part.Intent { return part.All{part.Show{Overlay: o}, o.keep(s.Key, r.Id)} }
	p.Choose = keep
	if live := o.of.Live[s.Key]; live.Use != nil {
		p.Enter, p.Choose = "uses it in this session", func(r picker.Row) part.Intent { return part.All{part.Show{}, live.Use(r.Id)} }
		p.Deeds = []picker.Action{{Do: keys.Keep, Help: "keeps it in the settings", Run: func(r picker.Row, _ string) part.Intent { return keep(r) }}}
	}
	rows := make([]picker.Row, len(s.Choices))
	for i, c := range s.Choices {
		rows[i] = picker.Row{Id: c, Text: named(c), Mark: c == s.Value, More: s.About}
	}
	p.Fill(rows)
	return p
}
