package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// showModels is /model: it switches to the named model, or lists the models.
func showModels(m *app, name string) tea.Cmd {
	if name != "" {
		return useModel(m, name)
	}
	p := newPicker("Models")
	p.none, p.enter = "no models found; /model NAME selects one by name", "uses it"
	p.choose = func(r row) tea.Cmd { return useModel(m, r.id) }
	m.panel = list{p}
	models := m.offers.Models
	return m.aside(func(ctx context.Context) then {
		list, err := models.List(ctx)
		rows := make([]row, len(list))
		for i, l := range list {
			rows[i] = row{id: l.Name, text: l.Name, about: l.About, mark: l.Current}
		}
		return func(*app) tea.Cmd {
			p.fill(rows, problem(err))
			return nil
		}
	})
}

// useModel switches to another model.
func useModel(m *app, name string) tea.Cmd {
	if no, ok := m.between("/model"); !ok {
		return no
	}
	m.panel = nil
	m.transcript.end()
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
