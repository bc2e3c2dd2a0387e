package lists

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"codeagent/tui/keys"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// efforts are the words that /model takes besides a name.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh"}

// Model is which model answers, and how long it may think.
type Model struct {
	part.Setting
	Models Models
	// Think changes how long the model may think, nil: it cannot be changed; Thinks is how long it
	// may now, "" if not known.
	Think  func(ctx context.Context, effort string) error
	Thinks *string
	Write  Write // nil: no choice can be kept
	// SetUp sets up a provider or its key, above the list; nil: it is not offered.
	SetUp func(under part.Overlay) part.Intent
}

// setUp is the row behind the models.
var setUp = picker.Row{Text: "Another provider, or a key …", About: "sets it up", Enter: "sets it up", More: "openai, anthropic, gemini, openrouter, groq, a server on this machine, any address"}

// Show is /model: it switches to the named model, sets how long it may think, or lists the models.
func (m Model) Show(argument string) part.Intent {
	name, effort := effortOf(argument)
	if m.Think == nil {
		name, effort = argument, ""
	}
	if argument != "" {
		return m.use(name, effort, nil)
	}
	p := OfValues(m.Setting, "Models", "model", m.Write, func(name string, keep Keep) part.Intent { return m.use(name, "", keep) })
	p.None, p.List = "no models found; /model NAME selects one by name", m.Models.List
	if m.SetUp != nil {
		begin := part.Idle{Name: "/model", Then: m.SetUp(p)}
		row := setUp
		row.Chosen = func() part.Intent { return begin }
		p.List = func(ctx context.Context) ([]picker.Row, error) {
			rows, err := m.Models.List(ctx)
			return append(rows, row), err
		}
		p.Deeds = append(p.Deeds, picker.Action{Do: keys.All, Help: "another provider", All: true, Run: func(picker.Row, string) part.Intent { return begin }})
	}
	return part.Show{Overlay: p}
}

// ShowEfforts is /effort: it sets how long the model may think, or lists the words for it.
func (m Model) ShowEfforts(effort string) part.Intent {
	if slices.Contains(efforts, effort) {
		return m.use("", effort, nil)
	}
	p := OfValues(m.Setting, "Reasoning effort", "reasoning_effort", m.Write, func(effort string, keep Keep) part.Intent { return m.use("", effort, keep) })
	rows := make([]picker.Row, len(efforts))
	for i, e := range efforts {
		rows[i] = picker.Row{Id: e, Text: e, Mark: e == *m.Thinks}
	}
	p.Fill(rows)
	return part.Show{Overlay: p}
}

// use switches to another model and sets how long it may think; either may be empty.
func (m Model) use(name, effort string, keep Keep) part.Intent {
	return part.Turn{Name: "/model", Doing: strings.TrimSpace("Switching to " + cmp.Or(name, effort)), Work: func(ctx context.Context) (func() part.Intent, error) {
		if name != "" {
			if err := m.Models.Use(ctx, name); err != nil {
				return nil, err
			}
		}
		if effort != "" {
			if err := m.Think(ctx, effort); err != nil {
				return nil, err
			}
		}
		return func() part.Intent {
			*m.Thinks = cmp.Or(effort, *m.Thinks)
			switch {
			case keep != nil:
				return keep.Kept()
			case effort != "":
				return part.Say("reasoning effort: " + effort)
			}
			return nil
		}, nil
	}}
}

// effortOf parts what /model takes: a name, how long to think, or both.
func effortOf(argument string) (name, effort string) {
	words := strings.Fields(argument)
	if n := len(words); n > 0 && slices.Contains(efforts, words[n-1]) {
		return strings.Join(words[:n-1], " "), words[n-1]
	}
	return argument, ""
}
