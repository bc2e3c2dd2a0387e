package tui

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// tailBytes bounds what is shown of a background command's output.
	tailBytes = 64 << 10
	// lookEvery is how many ticks lie between two looks at what moves in a list or
	// a page: about a second.
	lookEvery = 6
)

// ps is /ps: the commands that run beside the conversation.
func (m *app) ps(string) tea.Cmd {
	p := newPicker("Background commands")
	p.none, p.enter = "no command was started in the background", "shows its output"
	p.live = func(m *app) tea.Cmd { return m.listCommands(p) }
	p.choose = func(m *app, r row) tea.Cmd { return m.showOutput(p, r) }
	p.deeds = []deed{{do: actRemove, help: "ends it", asks: "End %s with all it started?", fits: func(r row) bool { return !r.over }, run: func(m *app, r row, _ string) tea.Cmd {
		return m.kill(p, r)
	}}}
	m.panel = p
	return tea.Batch(m.listCommands(p), m.startTicking())
}

func (m *app) listCommands(p *picker) tea.Cmd {
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

// commandState says how a command is doing.
func commandState(c BackgroundCommand, now time.Time) string {
	switch d := now.Sub(c.Started).Truncate(time.Second); {
	case c.Running && d < time.Second:
		return "just started"
	case c.Running:
		return "running " + elapsed(d)
	}
	return c.End + " · " + ago(now.Sub(c.Ended))
}

func (m *app) kill(p *picker, r row) tea.Cmd {
	commands := m.offers.Background
	return m.aside(func(ctx context.Context) then {
		err := commands.Kill(ctx, r.id)
		return func(m *app) tea.Cmd {
			p.problem = problem(err)
			return m.listCommands(p)
		}
	})
}

// showOutput shows the end of a command's output, and follows it.
func (m *app) showOutput(from *picker, r row) tea.Cmd {
	var output []byte
	// drawn is output in drawnTheme and drawnWidth: a page is drawn far more often
	// than there is more output. nil: not yet.
	var drawn []string
	var drawnTheme *theme
	var drawnWidth int
	page := &panel{title: r.text, tails: true, follow: true, under: from}
	page.page = func(t *theme, w int) []string {
		if drawn != nil && t == drawnTheme && w == drawnWidth {
			return drawn
		}
		drawn, drawnTheme, drawnWidth = nil, t, w
		for _, l := range outputLines(string(output)) {
			drawn = append(drawn, wrapper{theme: t, width: w, hard: true}.lines(span{l, text})...)
		}
		if len(drawn) == 0 {
			drawn = []string{t.paint(dim, "it has printed nothing")}
		}
		return drawn
	}
	commands := m.offers.Background
	page.live = func(m *app) tea.Cmd {
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
	return page.live(m)
}

// lookForEnds says which commands have ended, each once, while no turn runs: one
// that does tells it before its next request, with all that the model is told.
func (m *app) lookForEnds() tea.Cmd {
	commands := m.offers.Background
	if commands == nil || m.working {
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
		if m.working || !c.News || m.toldEnds[c.ID] {
			continue
		}
		m.toldEnds[c.ID] = true
		m.transcript.add(&over{c}, false)
	}
}

// over is the one line that says that a background command has ended.
type over struct{ command BackgroundCommand }

func (o *over) foldable() bool { return false }

func (o *over) draw(c canvas) []string {
	b := o.command
	return []string{c.theme.row(c.width-1, span{fmt.Sprintf("· background %s ended: %s · %s  ", b.ID, b.End, elapsed(b.Ended.Sub(b.Started))), dim},
		span{"$ " + strings.Join(strings.Fields(b.Command), " "), dim})}
}

// watching reports whether what stands over the transcript moves by itself.
func (m *app) watching() bool { return m.facts.running > 0 && m.liveOverlay() != nil }

// look has a moving overlay look anew from time to time.
func (m *app) look() tea.Cmd {
	if m.frame%lookEvery != 0 || !m.watching() {
		return nil
	}
	return m.liveOverlay()(m)
}

// liveOverlay is what the overlay does to look anew; nil where nothing moves.
func (m *app) liveOverlay() func(*app) tea.Cmd {
	switch o := m.panel.(type) {
	case *picker:
		return o.live
	case *panel:
		return o.live
	}
	return nil
}
