package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
	"codeagent/tui/lists"
	"codeagent/tui/paint"
	"codeagent/tui/transcript"
)

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
				if !m.work.running && c.News {
					m.transcript.JobEnded(c.ID, &over{c}, c.Killed)
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
