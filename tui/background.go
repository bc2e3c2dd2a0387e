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
	"codeagent/tui/paint"
	"codeagent/tui/picker"
	"codeagent/tui/transcript"
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
	p := picker.New("Background commands")
	p.None, p.Enter = "no command was started in the background", "shows its output"
	p.Live = func() tea.Cmd { return listCommands(m, p) }
	p.Choose = func(r picker.Row) tea.Cmd { return showOutput(m, p, r) }
	p.Deeds = []picker.Deed{{Do: actRemove, Key: keyFor(inPicker, actRemove), Help: "ends it", Asks: "End %s and all it started?", Fits: func(r picker.Row) bool { return !r.Over }, Run: func(r picker.Row, _ string) tea.Cmd {
		return kill(m, p, r)
	}}}
	m.panel = list{p}
	return tea.Batch(p.Live(), m.startTicking())
}

func listCommands(m *app, p *picker.Picker) tea.Cmd {
	commands, now := m.offers.Background, m.now()
	return m.aside(func(context.Context) then {
		var rows []picker.Row
		for _, c := range commands.List() {
			rows = append(rows, picker.Row{Id: c.ID, Text: c.Command, About: commandState(c, now), More: c.Last, Over: !c.Running})
		}
		return func(*app) tea.Cmd {
			p.Fill(rows, p.Problem)
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

func kill(m *app, p *picker.Picker, r picker.Row) tea.Cmd {
	commands := m.offers.Background
	return m.aside(func(ctx context.Context) then {
		err := commands.Kill(ctx, r.Id)
		return func(m *app) tea.Cmd {
			p.Problem = problem(err)
			return p.Live()
		}
	})
}

// showOutput shows the end of a job's output, and follows it.
func showOutput(m *app, from *picker.Picker, r picker.Row) tea.Cmd {
	var output []byte
	// drawn is output in drawnTheme and drawnWidth, nil before the first drawing: a
	// page is drawn far more often than output arrives.
	var drawn []string
	var drawnTheme *paint.Theme
	var drawnWidth int
	page := &panel{title: r.Text, tails: true, follow: true, under: list{from}}
	page.page = func(t *paint.Theme, w int) []string {
		if drawn != nil && t == drawnTheme && w == drawnWidth {
			return drawn
		}
		drawn, drawnTheme, drawnWidth = nil, t, w
		for _, l := range paint.OutputLines(string(output)) {
			drawn = append(drawn, paint.Wrapper{Theme: t, Width: w, Hard: true}.Lines(paint.Text.Span(l))...)
		}
		if len(drawn) == 0 {
			drawn = []string{t.Paint(paint.Dim, "no output yet")}
		}
		return drawn
	}
	commands := m.offers.Background
	page.refresh = func() tea.Cmd {
		return m.aside(func(context.Context) then {
			data, err := commands.Output(r.Id, tailBytes)
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
			for _, c := range slices.Backward(list) {
				if !m.work.running && c.News && !m.shownEnds[c.ID] {
					m.shownEnds[c.ID] = true
					m.transcript.Add(&over{c})
				}
			}
			return nil
		}
	})
}

// over is the line that reports the end of a job.
type over struct{ command BackgroundCommand }

func (o *over) Draw(c transcript.Canvas) []string {
	b := o.command
	return []string{c.Theme.Row(c.Width-1, paint.Dim.Span(fmt.Sprintf("· job %s ended: %s · %s  ", b.ID, b.End, short.Duration(b.Ended.Sub(b.Started)))),
		paint.Dim.Span("$ "+strings.Join(strings.Fields(b.Command), " ")))}
}

// live asks for the overlay's content again; nil where it does not change by itself.
func (m *app) live() func() tea.Cmd {
	if m.panel == nil {
		return nil
	}
	return m.panel.live()
}
