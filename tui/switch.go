package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// model is /model: with a name it switches at once, else the models are listed.
func (m *app) model(name string) tea.Cmd {
	if name != "" {
		return m.use(name)
	}
	p := newPicker("Models")
	p.none, p.enter = "no model is known; /model NAME asks for one by its name", "asks it from now on"
	p.choose = func(m *app, r row) tea.Cmd { return m.use(r.id) }
	m.panel = p
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

// use asks another model from now on.
func (m *app) use(name string) tea.Cmd {
	if no, ok := m.between("/model"); !ok {
		return no
	}
	m.panel = nil
	m.transcript.end()
	models := m.offers.Models
	return m.begin("Switching to "+name, m.run(func(ctx context.Context) (then, error) { return nil, models.Use(ctx, name) }))
}

// problem is what a list says of an error.
func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
