package tui

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
)

const (
	// tailBytes bounds what is shown of a background command's output.
	tailBytes = 64 << 10
	// lookEvery is how many ticks pass between two refreshes of a list or a page:
	// about a second.
	lookEvery = 6
)

// showCommands is /ps: the commands that run in the background.
func showCommands(m *app, _ string) tea.Cmd {
	p := newPicker("Background commands")
	p.none, p.enter = "no command was started in the background", "shows its output"
	p.live = func() tea.Cmd { return listCommands(m, p) }
	p.choose = func(r row) tea.Cmd { return showOutput(m, p, r) }
	p.deeds = []deed{{do: actRemove, key: pickerKey(actRemove), help: "ends it", asks: "End %s and all it started?", fits: func(r row) bool { return !r.over }, run: func(r row, _ string) tea.Cmd {
		return kill(m, p, r)
	}}}
	m.panel = list{p}
	return tea.Batch(p.live(), m.startTicking())
}

func listCommands(m *app, p *picker) tea.Cmd {
	commands, now := m.offers.Background, m.now()
	return m.aside(func(context.Context) then {
		var rows []row
		for _, c := range commands.List() {
			rows = append(rows, row{id: c.ID, text: c.Command, about: commandState(c, now), more: c.Last, over: !c.Running})
		}
		return func(*app) tea.Cmd {
			p.fill(rows, p.problem)
			return nil
		}
	})
}

// commandState says whether a job runs, or how and when it ended.
func commandState(c BackgroundCommand, now time.Time) string {
	switch d := now.Sub(c.Started).Truncate(time.Second); {
	case c.Running && d < time.Second:
		return "just started"
	case c.Running:
		return "running " + short.Duration(d)
	}
	return c.End + " · " + ago(now.Sub(c.Ended))
}

func kill(m *app, p *picker, r row) tea.Cmd {
	commands := m.offers.Background
	return m.aside(func(ctx context.Context) then {
		err := commands.Kill(ctx, r.id)
		return func(m *app) tea.Cmd {
			p.problem = problem(err)
			return p.live()
		}
	})
}

// showOutput shows the end of a job's output, and follows it.
func showOutput(m *app, from *picker, r row) tea.Cmd {
	var output []byte
	// drawn is output in drawnTheme and drawnWidth, nil before the first drawing: a
	// page is drawn far more often than output arrives.
	var drawn []string
	var drawnTheme *theme
	var drawnWidth int
	page := &panel{title: r.text, tails: true, follow: true, under: list{from}}
	page.page = func(t *theme, w int) []string {
		if drawn != nil && t == drawnTheme && w == drawnWidth {
			return drawn
		}
		drawn, drawnTheme, drawnWidth = nil, t, w
		for _, l := range outputLines(string(output)) {
			drawn = append(drawn, wrapper{theme: t, width: w, hard: true}.lines(text.span(l))...)
		}
		if len(drawn) == 0 {
			drawn = []string{t.paint(dim, "no output yet")}
		}
		return drawn
	}
	commands := m.offers.Background
	page.refresh = func() tea.Cmd {
		return m.aside(func(context.Context) then {
			data, err := commands.Output(r.id, tailBytes)
			return func(m *app) tea.Cmd {
				if err != nil {
					data = []byte(err.Error())
				}
				if !bytes.Equal(data, output) {
					output, drawn = data, nil
				}
				return nil
			}
		})
	}
	m.panel = page
	return page.refresh()
}

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
			m.tellEnds(list)
			return nil
		}
	})
}

func (m *app) tellEnds(list []BackgroundCommand) {
	for _, c := range slices.Backward(list) {
		if m.work.running || !c.News || m.shownEnds[c.ID] {
			continue
		}
		m.shownEnds[c.ID] = true
		m.transcript.add(&over{c}, false)
	}
}

// over is the line that reports the end of a job.
type over struct{ command BackgroundCommand }

func (o *over) draw(c canvas) []string {
	b := o.command
	return []string{c.theme.row(c.width-1, dim.span(fmt.Sprintf("· job %s ended: %s · %s  ", b.ID, b.End, short.Duration(b.Ended.Sub(b.Started)))),
		dim.span("$ "+strings.Join(strings.Fields(b.Command), " ")))}
}

// refresh asks for the overlay's content anew; nil where it does not change.
func (m *app) refresh() tea.Cmd {
	if m.panel == nil || m.panel.live() == nil {
		return nil
	}
	return m.panel.live()()
}

// watching reports whether the overlay changes by itself.
func (m *app) watching() bool {
	return m.facts.running > 0 && m.panel != nil && m.panel.live() != nil
}
