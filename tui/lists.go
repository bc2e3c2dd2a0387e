package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
	"codeagent/tui/lists"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/transcript"
	"codeagent/tui/undoing"
)

func showUndo(m *app, _ string) tea.Cmd {
	return m.do(undoing.Show(m.setting(), m.offers.Undo, m.facts.Session.Folder, func() int { return m.facts.Running }))
}

// showModels is /model: it switches to the named model, or lists the models.
func showModels(m *app, name string) tea.Cmd {
	if name, effort := effortOf(name); effort != "" && m.offers.Extras.Effort != nil {
		return use(m, name, effort, nil)
	}
	if name != "" {
		return useModel(m, name, nil)
	}
	p := values(m, "Models", "model", useModel)
	p.None, p.List = "no models found; /model NAME selects one by name", m.offers.Models.List
	return open(m, p)
}

func useModel(m *app, name string, keep lists.Keep) tea.Cmd { return use(m, name, "", keep) }

// showEfforts is /effort: it sets how long the model may think, or lists the words for it.
func showEfforts(m *app, effort string) tea.Cmd {
	if slices.Contains(efforts, effort) {
		return useEffort(m, effort, nil)
	}
	p := values(m, "Reasoning effort", "reasoning_effort", useEffort)
	rows := make([]picker.Row, len(efforts))
	for i, e := range efforts {
		rows[i] = picker.Row{Id: e, Text: e, Mark: e == m.offers.Extras.Thinks}
	}
	p.Fill(rows)
	return open(m, p)
}

func useEffort(m *app, effort string, keep lists.Keep) tea.Cmd { return use(m, "", effort, keep) }

// use switches to another model and sets how long it may think; either may be empty.
func use(m *app, name, effort string, keep lists.Keep) tea.Cmd {
	if hint := m.between("/model"); hint != "" {
		return m.say(hint)
	}
	m.panel = nil
	m.transcript.End()
	models, think := m.offers.Models, m.offers.Extras.Effort
	return m.begin(strings.TrimSpace("Switching to "+cmp.Or(name, effort)), m.run(func(ctx context.Context) (then, error) {
		if name != "" {
			if err := models.Use(ctx, name); err != nil {
				return nil, err
			}
		}
		if effort != "" {
			if err := think(ctx, effort); err != nil {
				return nil, err
			}
		}
		return func(m *app) tea.Cmd {
			m.offers.Extras.Thinks = cmp.Or(effort, m.offers.Extras.Thinks)
			switch {
			case keep != nil:
				return m.do(told(keep))
			case effort != "":
				return m.say("reasoning effort: " + effort)
			}
			return nil
		}, nil
	}))
}

// values is the list of a setting's values.
func values(m *app, title, setting string, use func(m *app, value string, keep lists.Keep) tea.Cmd) *picker.Picker {
	return lists.OfValues(m.setting(), title, setting, m.offers.Extras.Setting, func(value string, keep lists.Keep) part.Intent {
		return then(func(m *app) tea.Cmd {
			m.panel = nil
			return use(m, value, keep)
		})
	})
}

// lookEvery is how many ticks pass between two refreshes of a list or a page:
// about a second.
const lookEvery = 6

// lookForEnds reports which jobs have ended, each once, while no turn runs: a turn
// reports them itself before its next request.
func (m *app) lookForEnds() tea.Cmd {
	commands := m.offers.Background
	if commands == nil || m.work.running {
		return nil
	}
	return m.aside(func(context.Context) then {
		list := commands.List()
		return func(m *app) tea.Cmd {
			for _, c := range slices.Backward(list) {
				if !m.work.running && c.News && !m.work.shownEnds[c.ID] {
					m.work.shownEnds[c.ID] = true
					m.transcript.Add(&over{c})
				}
			}
			return nil
		}
	})
}

// over is the line that reports the end of a job.
type over struct{ command lists.Job }

func (o *over) Draw(c transcript.Canvas) []string {
	b := o.command
	return []string{c.Theme.Row(c.Width-1, paint.Dim.Span(fmt.Sprintf("· job %s ended: %s · %s  ", b.ID, b.End, short.Duration(b.Ended.Sub(b.Started)))),
		paint.Dim.Span("$ "+strings.Join(strings.Fields(b.Command), " ")))}
}
