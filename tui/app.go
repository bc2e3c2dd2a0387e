package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
	"codeagent/tui/attention"
	"codeagent/tui/clipboard"
	"codeagent/tui/composer"
	"codeagent/tui/footer"
	"codeagent/tui/keys"
	"codeagent/tui/mark"
	"codeagent/tui/message"
	"codeagent/tui/modes"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/question"
	"codeagent/tui/rewind"
	"codeagent/tui/templates"
	"codeagent/tui/transcript"
)

// app is the one tea.Model. It is a switch: each part of the screen owns its
// state, and app hands messages to the part they are for. Update performs no IO;
// what must happen outside is a tea.Cmd.
type app struct {
	box *mailbox
	host
	clock
	offers Options // what a Screen was given; a nil member is not offered
	// alone opens the only overlay there is: the screen ends with it.
	alone then

	keyboard
	theme      *paint.Theme
	facts      footer.Footer
	transcript transcript.Transcript
	composer   composer.Composer
	rewind     rewind.Rewind
	docks      part.Docks
	modes      modes.Modes
	panel      part.Overlay // nil: none
	left       time.Time    // when a panel was closed last
	menu       menu
	work       work
	recalled   recalled
	images     message.Count
	clipboard  clipboard.Clipboard
	templates  templates.Templates
	notices
	selection selection
	picture
}

// host is what the screen does outside of app.
type host struct {
	turn      func(message.Message) tea.Cmd
	run       func(func(context.Context) (then, error)) tea.Cmd
	aside     func(func(context.Context) then) tea.Cmd
	interrupt func()
	suspend   func() tea.Cmd
	// away does work while another program has the terminal.
	away func(work func()) tea.Cmd
}

// timer returns the command that waits and then sends a message.
type timer func(time.Duration, func(time.Time) tea.Msg) tea.Cmd

// clock is the time, and the tick that moves the spinner.
type clock struct {
	now     func() time.Time
	after   timer
	frame   int
	ticking bool
}

// keyboard is the table of keys, and what was pressed when.
type keyboard struct {
	keys   *keys.Table
	stirs  int       // counts what restarts the wait of a question (grace.go)
	quitAt time.Time // of the last key that would have quit
	burst  burst
	answer answering
}

// notices are messages to the person beside the conversation: on the screen, and while
// looking elsewhere.
type notices struct {
	hint  notification
	calls attention.Attention
}

// notification is a hint that is shown above the message for a while.
type notification struct {
	text   string
	number int
}

// picture is the last drawing of the screen.
type picture struct {
	width, height int
	rows          []string // a selection is of these
	drawn         tea.View
	fresh         bool
	seq           int
	drained       time.Time // of the events in it
}

func newApp(box *mailbox, now func() time.Time) *app {
	m := &app{
		box: box, clock: clock{now: now, after: tea.Tick},
		theme: paint.New(true), keyboard: keyboard{keys: keys.Standard()}, composer: composer.New(),
		transcript: transcript.New(now),
		host:       host{turn: func(message.Message) tea.Cmd { return nil }, interrupt: func() {}, suspend: func() tea.Cmd { return nil }},
	}
	m.composer.Hint = "Ask codeagent"
	m.offer(Options{Grace: grace})
	return m
}

// Init waits for events.
func (m *app) Init() tea.Cmd {
	cmds := []tea.Cmd{m.box.wait(0), loadHistory(m), m.do(m.templates.Begin())}
	if text := m.offers.InitialPrompt; strings.TrimSpace(text) != "" {
		cmds = append(cmds, func() tea.Msg { return submitMsg{message.Message{Text: text}} })
	}
	if m.alone != nil {
		cmds = append(cmds, func() tea.Msg { return m.alone })
	}
	return tea.Batch(cmds...)
}

// View draws the screen, or returns the last drawing if nothing changed.
func (m *app) View() tea.View {
	if m.width == 0 || m.height == 0 {
		return tea.View{AltScreen: true}
	}
	if !m.fresh {
		m.drawn, m.fresh = m.draw(), true
	}
	return m.drawn
}

func (m *app) canvas() transcript.Canvas {
	frame := m.frame
	if m.offers.Still {
		frame = -1
	}
	return transcript.Canvas{Theme: m.theme, Width: m.width, Home: m.facts.Home, Folder: m.facts.Session.Folder, Now: m.now(), Frame: frame, Seq: m.seq}
}

// draw puts the parts where arrange says.
func (m *app) draw() tea.View {
	m.seq++
	w, t := m.width, m.theme
	if m.alone != nil {
		return drawAlone(m.panel, t, w, m.height)
	}
	choices, chosen := m.menu.files.View(t, w), m.menu.files.At
	if choices == nil {
		choices, chosen = m.menu.commands.View(t, w, m.composer.Text, m.callable)
	}
	need := wants{menu: min(len(choices), menuRows), composer: len(m.composer.Rows(m.composerWidth()))}
	cx, cy := -1, -1
	dock := func(h int) (d part.Drawn) {
		if m.panel == nil {
			d = m.docks.View(part.Canvas{Theme: t, Width: w, Home: m.facts.Home, Now: m.now(), Typed: !m.composer.Empty()}, h)
		}
		return d
	}
	asked := dock(questionRoom(m.height))
	need.question = len(asked.Lines)
	waiting := waitingLines(t, w, m.box.waiting(), m.work.queued)
	var plan []string
	if m.panel == nil {
		plan = m.facts.PlanLines(t, w)
	}
	need.queued = len(plan) + len(waiting)
	_, need.full = m.panel.(*question.Page)
	a := arrange(m.height, need)
	if a.question.height < len(asked.Lines) {
		asked = dock(a.question.height)
	}
	if asked.Seen != nil {
		cx, cy = asked.X, asked.Y
		asked.Seen()
	}
	lines := make([]string, 0, m.height)
	if m.panel != nil {
		lines, cx, cy = m.over(lines, a.transcript.height)
	} else {
		lines = append(lines, m.transcript.View(m.canvas(), a.transcript.height)...)
	}
	lines = append(lines, asked.Lines...)
	if a.status.height > 0 {
		lines = append(lines, m.status(t, w))
	}
	plan = plan[:max(min(len(plan), a.queued.height-len(waiting)), 0)] // messages that wait come first
	lines = append(append(lines, plan...), waiting[:a.queued.height-len(plan)]...)
	below := ""
	if a.menu.height > 0 {
		top := max(min(chosen-a.menu.height/2, len(choices)-a.menu.height), 0)
		lines = append(lines, choices[top:top+a.menu.height]...)
		if more := len(choices) - top - a.menu.height; more > 0 {
			below = fmt.Sprintf("── … %d more ", more)
		}
	}
	if a.rule.height > 0 {
		lines = append(lines, t.Paint(paint.Faint, below+strings.Repeat("─", max(w-paint.Width(below), 0))))
	}
	text, x, y := m.composer.View(t, m.composerWidth(), a.composer.height)
	for i, l := range text {
		prompt := "  "
		if i == 0 && m.composer.Top == 0 {
			prompt = t.Paint(paint.Accent, "›") + " "
			if strings.HasPrefix(m.composer.Text, "!") && m.offers.Writing.Run != nil {
				prompt = t.Paint(paint.Warn.With(paint.Bold), "$") + " "
			}
			if m.composer.Normal() {
				prompt = t.Paint(paint.Accent, "N") + " "
			}
		}
		lines = append(lines, prompt+l)
	}
	if a.footer.height > 0 {
		lines = append(lines, m.facts.View(t, w, m.standing()))
	}
	m.rows = lines[:min(len(lines), m.height)]
	v := tea.View{Content: strings.Join(mark.Lines(m.selection.mark(m.rows)), "\n"), AltScreen: true}
	v.WindowTitle, v.ReportFocus = m.calls.TitleText(), m.calls.Notify != "" && m.calls.Notify != attention.Off
	if shown, stopped := m.calls.Bar(); shown {
		v.ProgressBar = tea.NewProgressBar(tea.ProgressBarIndeterminate, 0)
		if stopped {
			v.ProgressBar = tea.NewProgressBar(tea.ProgressBarWarning, 100)
		}
	}
	if m.offers.Mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	switch {
	case m.panel != nil && cy >= 0:
		v.Cursor = tea.NewCursor(cx, a.transcript.top+cy)
	case cy >= 0:
		v.Cursor = tea.NewCursor(cx, a.question.top+cy)
	case m.panel == nil && (m.docks.Front() == nil || !m.docks.Front().Armed()):
		v.Cursor = tea.NewCursor(x+paint.Gutter, a.composer.top+y)
	}
	return v
}

// standing is what applies now.
func (m *app) standing() footer.Now {
	return footer.Now{Preset: m.modes.Policy(), Mode: m.modes.Approvals(), Word: m.modes.Word(), Effort: m.offers.Extras.Thinks}
}

// over adds h rows to lines: the overlay, below the end of the transcript where it is lower. The cursor is
// counted from the first of lines; y is -1 without one.
func (m *app) over(lines []string, h int) (all []string, x, y int) {
	own := overlayHeight(m.panel, m.theme, m.width, h)
	if own < h {
		lines = append(lines, m.transcript.View(m.canvas(), h-own)...)
	}
	over, x, y := m.panel.View(m.theme, m.width, own)
	if y >= 0 {
		y += len(lines)
	}
	return append(lines, over...), x, y
}

// overlayHeight is how many of at most h rows an overlay takes: a list has its own height, and the transcript
// stays in view above it.
func overlayHeight(o part.Overlay, t *paint.Theme, w, h int) int {
	if list, ok := o.(interface {
		Height(t *paint.Theme, w int) int
	}); ok {
		return min(h, list.Height(t, w))
	}
	return h
}

func drawAlone(panel part.Overlay, t *paint.Theme, w, h int) tea.View {
	v := tea.View{AltScreen: true}
	if panel != nil {
		lines, x, y := panel.View(t, w, overlayHeight(panel, t, w, h))
		lines = append(lines, make([]string, h-len(lines))...)
		if v.Content = strings.Join(mark.Lines(lines), "\n"); y >= 0 {
			v.Cursor = tea.NewCursor(x, y)
		}
	}
	return v
}

// composerWidth leaves room for the gutter and for the cursor behind a full row.
func (p *picture) composerWidth() int { return max(p.width-paint.Gutter-1, 4) }

// status is the line above the message: what is happening, and which keys apply.
func (m *app) status(t *paint.Theme, w int) string {
	var left, right []paint.Span
	if !m.transcript.Follow && m.panel == nil {
		right = []paint.Span{paint.Accent.Span("↓ "), paint.Dim.Span(m.keys.Name(keys.Everywhere, keys.End) + " follows ")}
	}
	switch {
	case m.hint.text != "":
		left = []paint.Span{paint.Warn.Span("  " + paint.Tildes(m.hint.text, m.facts.Home))}
	case m.docks.Front() != nil && m.panel == nil:
		// The question above says it.
	case m.docks.Front() != nil:
		left = []paint.Span{paint.Warn.Span("?"), paint.Text.Span(" question pending: " + m.keys.Name(keys.Everywhere, keys.Back) + " to answer it")}
		if _, ok := m.panel.(*question.Page); ok {
			left = []paint.Span{paint.Accent.Span("  " + m.keys.Name(keys.Everywhere, keys.Back)), paint.Dim.Span(" closes the full view")}
		}
	case m.transcript.Chosen() && m.composer.Empty() && m.panel == nil:
		right = nil
		left = paint.Fitting(w, nil, blockHints(m)...)
	case m.clipboard.Reading():
		left = []paint.Span{paint.Text.Span("  Reading the clipboard"), paint.Accent.Span("   " + m.keys.Name(keys.Everywhere, keys.Back)), paint.Dim.Span(" cancels")}
	case m.work.running:
		left = []paint.Span{paint.Accent.Span(paint.Spinner(m.canvas().Frame)), paint.Text.Span(" " + cmp.Or(m.work.doing, "Working"))}
		if d := m.now().Sub(m.work.since); d >= time.Second {
			left = append(left, paint.Dim.Span(" "+short.Duration(d.Truncate(time.Second))))
		}
		hints := [][]paint.Span{{paint.Accent.Span("   " + m.keys.Name(keys.Everywhere, keys.Back)), paint.Dim.Span(" interrupts")}}
		if !m.composer.Empty() {
			hints = append(hints, []paint.Span{paint.Accent.Span("  " + m.keys.Name(keys.InComposer, keys.Send)), paint.Dim.Span(" steers")},
				[]paint.Span{paint.Accent.Span("  " + m.keys.Name(keys.InComposer, keys.Queue)), paint.Dim.Span(" queues")})
		}
		if m.offers.Background != nil && m.transcript.Commands() {
			hints = append(hints, []paint.Span{paint.Accent.Span("  " + m.keys.Name(keys.Everywhere, keys.SendBack)), paint.Dim.Span(" to the background")})
		}
		left = paint.Fitting(w-paint.WidthOf(right), left, hints...)
	}
	return t.Justify(w, left, right)
}

// blockHints are the keys of the chosen block that do something there.
func blockHints(m *app) (hints [][]paint.Span) {
	hint := func(key, does string) {
		hints = append(hints, []paint.Span{paint.Accent.Span("  " + key), paint.Dim.Span(" " + does)})
	}
	if does := m.transcript.Deed(m.canvas()); does != "" {
		hint(m.keys.Name(keys.InBlock, keys.Open), does)
	}
	hint(m.keys.Name(keys.InBlock, keys.Copy), "copies")
	hint(m.keys.Name(keys.Everywhere, keys.Back), "goes back")
	return hints
}

func waitingLines(t *paint.Theme, w int, steers, queued []message.Message) []string {
	const most = 3
	var out []string
	line := func(s message.Message, when string) {
		out = append(out, t.Row(w-1, paint.Faint.Span("  ↳ "), paint.Dim.Span(when+"  "), paint.Text.Span(strings.TrimSpace(s.Shown()))))
	}
	for _, s := range steers {
		line(s, "next")
	}
	for _, s := range queued {
		line(s, "after the turn")
	}
	if len(out) > most {
		rest := len(out) - most + 1
		out = append(out[:most-1], t.Row(w-1, paint.Dim.Span("  ↳ … and "+paint.Count(rest)+" more")))
	}
	return out
}
