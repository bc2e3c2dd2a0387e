package tui

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/picker"
	"codeagent/tui/transcript"
)

// showSessions is /sessions: the saved conversations of this folder, or of all.
func showSessions(m *app, _ string) tea.Cmd {
	p := picker.New("Sessions of this folder")
	p.None, p.Enter = "no sessions in this folder", "resumes it"
	l := &sessionList{Picker: p, m: m, kept: m.offers.Sessions}
	p.Choose = l.open
	p.Deeds = []picker.Deed{
		{Do: keys.All, Key: m.keys.Name(keys.InPicker, keys.All), Help: "all folders", All: true, Run: func(picker.Row, string) tea.Cmd {
			l.all = !l.all
			return l.load()
		}},
		{Do: keys.Rename, Key: m.keys.Name(keys.InPicker, keys.Rename), Help: "renames", Label: "title", Saves: "saves", Writes: func(r picker.Row) string { return r.Text }, Run: func(r picker.Row, title string) tea.Cmd {
			return l.change(func(ctx context.Context) error { return l.kept.Rename(ctx, r.Id, title) })
		}},
		{Do: keys.Remove, Key: m.keys.Name(keys.InPicker, keys.Remove), Help: "deletes", Asks: "Delete %s permanently?", Fits: func(r picker.Row) bool { return !r.Mark }, Run: func(r picker.Row, _ string) tea.Cmd {
			return l.change(func(ctx context.Context) error { return l.kept.Delete(ctx, r.Id) })
		}},
	}
	m.panel = list{p}
	return l.load()
}

// sessionList is the picker of /sessions.
type sessionList struct {
	*picker.Picker
	m    *app
	kept Sessions
	all  bool
}

func (l *sessionList) load() tea.Cmd {
	l.Title, l.Deeds[0].Help = "Sessions of this folder", "all folders"
	if l.all {
		l.Title, l.Deeds[0].Help = "Sessions of all folders", "this folder"
	}
	all, now, home := l.all, l.m.now(), l.m.facts.home
	return l.m.aside(func(ctx context.Context) then {
		list, err := l.kept.List(ctx, all)
		rows := make([]picker.Row, len(list))
		for i, s := range list {
			rows[i] = picker.Row{Id: s.ID, Text: cmp.Or(s.Name, "(no message)"), About: ago(now.Sub(s.Used)) + " · " + short.Size(s.Size), Mark: s.Current}
			rows[i].More = s.Used.Format("2006-01-02 15:04") + "  " + paint.Tilde(s.Folder, home)
		}
		return func(*app) tea.Cmd {
			if all == l.all {
				l.Fill(rows, problem(err))
			}
			return nil
		}
	})
}

// change changes a session and lists them again.
func (l *sessionList) change(deed func(context.Context) error) tea.Cmd {
	return l.m.aside(func(ctx context.Context) then {
		err := deed(ctx)
		return func(*app) tea.Cmd {
			if err != nil {
				l.Problem = err.Error()
				return nil
			}
			return l.load()
		}
	})
}

// open ends the screen; the program then resumes the session.
func (l *sessionList) open(r picker.Row) tea.Cmd {
	m := l.m
	if r.Mark {
		m.panel = nil
		return nil
	}
	if hint := m.between("/sessions"); hint != "" {
		return m.say(hint)
	}
	return m.aside(func(ctx context.Context) then {
		err := l.kept.Open(ctx, r.Id)
		return func(*app) tea.Cmd {
			if err != nil {
				l.Problem = err.Error()
				return nil
			}
			return tea.Quit
		}
	})
}

// ago says roughly how long ago something was.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		length, below time.Duration
		name          string
	}{{time.Minute, time.Hour, "min"}, {time.Hour, 2 * day, "h"}, {day, 60 * day, "days"}, {30 * day, 2 * 365 * day, "months"}, {365 * day, 1<<63 - 1, "years"}} {
		if d >= time.Minute && d < unit.below {
			return fmt.Sprintf("%d %s ago", d/unit.length, unit.name)
		}
	}
	return "just now"
}

// showPlaces lists where or with what a session can work; chosen gets the answer.
func showPlaces(m *app, title, why, does string, places []Place, chosen func(string)) tea.Cmd {
	p := picker.New(title)
	p.Enter = does
	other := &picker.Deed{Label: "folder", Saves: "works there", Writes: func(picker.Row) string { return "~/" }, Run: func(_ picker.Row, folder string) tea.Cmd {
		if rest, ok := strings.CutPrefix(folder, "~/"); ok {
			folder = m.facts.home + "/" + rest
		}
		chosen(folder)
		return tea.Quit
	}}
	rows := make([]picker.Row, len(places))
	for i, place := range places {
		rows[i] = picker.Row{Id: place.Name, Text: cmp.Or(place.Text, paint.Tilde(place.Name, m.facts.home)), About: place.About}
	}
	p.Choose = func(r picker.Row) tea.Cmd {
		if i := slices.IndexFunc(places, func(at Place) bool { return at.Name == r.Id }); places[i].Write {
			p.Ask(other, r)
			return nil
		}
		chosen(r.Id)
		return tea.Quit
	}
	p.Fill(rows, why)
	m.panel = list{p}
	return nil
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
	p.None = "no models found; /model NAME selects one by name"
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

func useModel(m *app, name string, keep keeping) tea.Cmd { return use(m, name, "", keep) }

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
	p.Fill(rows, "")
	return nil
}

func useEffort(m *app, effort string, keep keeping) tea.Cmd { return use(m, "", effort, keep) }

// use switches to another model and sets how long it may think; either may be empty.
func use(m *app, name, effort string, keep keeping) tea.Cmd {
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
				return told(m, keep)
			case effort != "":
				return m.say("reasoning effort: " + effort)
			}
			return nil
		}, nil
	}))
}

// keeping writes a value to the person's settings, and says where; nil: it is for this run.
type keeping func(context.Context) (words string, err error)

// values is the list of a setting's values. Enter uses the selected one until codeagent ends, and
// another key keeps it in the settings too.
func values(m *app, title, setting string, use func(m *app, value string, keep keeping) tea.Cmd) *picker.Picker {
	p := picker.New(title)
	p.Enter = "uses it"
	choose := func(r picker.Row, keep keeping) tea.Cmd {
		m.panel = nil
		return use(m, r.Id, keep)
	}
	p.Choose = func(r picker.Row) tea.Cmd { return choose(r, nil) }
	if write := m.offers.Extras.Setting; write != nil {
		p.Deeds = []picker.Deed{{Do: keys.Keep, Key: m.keys.Name(keys.InPicker, keys.Keep), Help: "uses and keeps it", Run: func(r picker.Row, _ string) tea.Cmd {
			return choose(r, func(ctx context.Context) (string, error) { return write(ctx, setting, r.Id) })
		}}}
	}
	m.panel = list{p}
	return p
}

func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

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
	p.Deeds = []picker.Deed{{Do: keys.Remove, Key: m.keys.Name(keys.InPicker, keys.Remove), Help: "ends it", Asks: "End %s and all it started?", Fits: func(r picker.Row) bool { return !r.Over }, Run: func(r picker.Row, _ string) tea.Cmd {
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

// printedPage is a page of output, and the function that sets the output: a page is drawn
// far more often than output arrives.
func printedPage(title string, under overlay) (page *panel, set func(output []byte)) {
	var output []byte
	// drawn is output in drawnTheme and drawnWidth, nil before the first drawing.
	var drawn []string
	var drawnTheme *paint.Theme
	var drawnWidth int
	page = &panel{title: title, under: under}
	page.page = func(t *paint.Theme, w int) []string {
		if drawn != nil && t == drawnTheme && w == drawnWidth {
			return drawn
		}
		drawn, drawnTheme, drawnWidth = nil, t, w
		for _, l := range paint.Printed(string(output), paint.Text) {
			drawn = append(drawn, paint.Wrapper{Theme: t, Width: w, Hard: true}.Lines(l...)...)
		}
		if len(drawn) == 0 {
			drawn = []string{t.Paint(paint.Dim, "no output yet")}
		}
		return drawn
	}
	return page, func(data []byte) {
		if !bytes.Equal(data, output) {
			output, drawn = data, nil
		}
	}
}

// showOutput shows the end of a job's output, and follows it.
func showOutput(m *app, from *picker.Picker, r picker.Row) tea.Cmd {
	page, set := printedPage(r.Text, list{from})
	page.tails, page.follow = true, true
	commands := m.offers.Background
	page.refresh = func() tea.Cmd {
		return m.aside(func(context.Context) then {
			data, err := commands.Output(r.Id, tailBytes)
			return func(m *app) tea.Cmd {
				if err != nil {
					data = []byte(err.Error())
				}
				set(data)
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
