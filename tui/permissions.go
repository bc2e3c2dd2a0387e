package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"codeagent/event/word"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/picker"
)

// showPermissions is /permissions: what is open, with its origin, and the approval policy. A key
// takes the selected one back at once, another changes the policy; Enter shows the questions of
// the session and their answers. With the name of an approval policy or a sandbox it changes to
// that.
func showPermissions(m *app, name string) tea.Cmd {
	if name != "" && m.offers.Approvals != nil {
		return change(m, name)
	}
	open := m.offers.Permissions
	if open == nil {
		return showAsked(m)
	}
	p := picker.New("What is open beyond the policy")
	p.None, p.Enter = "nothing beyond the policy is open", "shows what was asked"
	p.Choose = func(picker.Row) tea.Cmd { return showAsked(m) }
	load := func() tea.Cmd {
		return m.aside(func(ctx context.Context) then {
			list, err := open.List(ctx)
			rows := make([]picker.Row, len(list))
			for i, one := range list {
				rows[i] = picker.Row{Id: one.ID, Text: one.Text, About: one.About, More: one.More}
			}
			return func(*app) tea.Cmd {
				p.Fill(rows, problem(err))
				return nil
			}
		})
	}
	p.Deeds = []picker.Deed{
		{Do: keys.Remove, Key: m.keys.Name(keys.InPicker, keys.Remove), Help: "revokes", Run: func(r picker.Row, _ string) tea.Cmd {
			return m.aside(func(ctx context.Context) then {
				words, err := open.Revoke(ctx, r.Id)
				return func(m *app) tea.Cmd {
					if err != nil {
						p.Problem = err.Error()
						return nil
					}
					m.transcript.Note(word.LevelInfo, words)
					m.transcript.End()
					return load()
				}
			})
		}},
		{Do: keys.All, Key: m.keys.Name(keys.InPicker, keys.All), Help: "what was asked", All: true, Run: func(picker.Row, string) tea.Cmd { return showAsked(m) }},
	}
	if m.offers.Approvals != nil {
		name := func() { p.Title = "What is open beyond the policy · " + approvalName(modeOf(m)) }
		p.Deeds = append(p.Deeds, picker.Deed{Do: keys.Mode, Key: m.keys.Name(keys.Everywhere, keys.Mode), Help: "approvals", All: true, Run: func(picker.Row, string) tea.Cmd {
			cmd := nextMode(m)
			name()
			return cmd
		}})
		name()
	}
	m.panel = list{p}
	return load()
}

// showAsked shows the questions of the session and their answers.
func showAsked(m *app) tea.Cmd {
	m.panel = &panel{title: "Permissions", page: func(t *paint.Theme, w int) []string { return m.transcript.Permissions(t, w, m.facts.home) }}
	return nil
}
