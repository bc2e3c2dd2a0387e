package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/picker"
)

// showModels is /model: it switches to the named model, or lists the models.
func showModels(m *app, name string) tea.Cmd {
	if name != "" {
		return useModel(m, name)
	}
	p := picker.New("Models")
	p.None, p.Enter = "no models found; /model NAME selects one by name", "uses it"
	p.Choose = func(r picker.Row) tea.Cmd { return useModel(m, r.Id) }
	m.panel = list{p}
	models := m.offers.Models
	return m.aside(func(ctx context.Context) then {
		list, err := models.List(ctx)
		rows := make([]picker.Row, len(list))
		for i, l := range list {
			rows[i] = picker.Row{Id: l.Name, Text: l.Name, About: l.About, Mark: l.Current}
		}
		return func(*app) tea.Cmd {
			p.Fill(rows, problem(err))
			return nil
		}
	})
}

// useModel switches to another model.
func useModel(m *app, name string) tea.Cmd {
	if hint := m.work.between("/model"); hint != "" {
		return m.say(hint)
	}
	m.panel = nil
	m.transcript.End()
	models := m.offers.Models
	return m.begin("Switching to "+name, m.run(func(ctx context.Context) (then, error) { return nil, models.Use(ctx, name) }))
}

// problem is the text of an error in a list.
func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
