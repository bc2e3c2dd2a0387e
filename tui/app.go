package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// app is the one tea.Model: it owns all state of the screen. Update changes it
// and performs no IO; what must happen outside is a tea.Cmd.
type app struct {
	// What the screen hands in.
	box       *mailbox
	turn      func(Message) tea.Cmd
	run       func(func(context.Context) (then, error)) tea.Cmd
	aside     func(func(context.Context) then) tea.Cmd
	interrupt func()
	suspend   func() tea.Cmd
	offers    Options // what is handed in beside; nil is not offered
	now       func() time.Time
	after     func(time.Duration, func(time.Time) tea.Msg) tea.Cmd
	grace     time.Duration
	still     bool
	mouse     bool
	home      string
	// initial is sent as the first message.
	initial string
	// alone opens the only overlay there is: the screen ends with it.
	alone then

	width, height int
	theme         *theme
	keys          keymap
	facts         facts
	transcript    transcript
	composer      composer
	questions     questions
	panel         overlay // nil: none
	menu          menu

	// working: a turn runs, or what doing names and runs like one, since then;
	// echo is its message, shown already; nil once the turn has told it.
	working bool
	doing   string
	since   time.Time
	echo    *entry
	outcome string
	// queued are messages for after the turn.
	queued []Message
	images int // numbers the images of the session
	// unread leaves the clipboard that is being read; nil: none is.
	unread context.CancelFunc

	// What events refer to.
	tools    map[string]*entry
	asked    []*asked
	answer   *entry
	thought  *entry
	request  int    // index of the first entry of the current request
	retrying *entry // the try that is waited for
	// compacting is the summary that is being written.
	compacting *entry
	// toldEnds are the background commands whose end was said between turns.
	toldEnds map[string]bool

	stirs   int
	frame   int
	ticking bool
	quitAt  time.Time
	escAt   time.Time // of an Esc that had nothing to do
	hint    string
	hints   int

	// rows are what was drawn last; what is selected is selected of them.
	rows      []string
	selection selection

	drawn tea.View
	fresh bool
	seq   int
	pulse pulse
}

func newApp(box *mailbox, now func() time.Time) *app {
	return &app{
		box: box, now: now, after: tea.Tick, grace: grace, theme: newTheme(true), keys: newKeymap(), composer: newComposer(),
		transcript: transcript{follow: true}, tools: map[string]*entry{}, toldEnds: map[string]bool{},
		turn: func(Message) tea.Cmd { return nil }, interrupt: func() {}, suspend: func() tea.Cmd { return tea.Suspend },
	}
}

// Init asks the terminal for its background and waits for events.
func (m *app) Init() tea.Cmd {
	cmds := []tea.Cmd{tea.RequestBackgroundColor, m.box.wait(0)}
	if text := m.initial; strings.TrimSpace(text) != "" {
		cmds = append(cmds, func() tea.Msg { return submitMsg{Message{Text: text}} })
	}
	if m.alone != nil {
		cmds = append(cmds, func() tea.Msg { return m.alone })
	}
	return tea.Batch(cmds...)
}

// View draws the screen; what did not change since the last time is not drawn.
func (m *app) View() tea.View {
	if m.width == 0 || m.height == 0 {
		return tea.View{AltScreen: true}
	}
	if !m.fresh {
		m.drawn, m.fresh = m.draw(), true
	}
	return m.drawn
}

func (m *app) canvas() canvas {
	frame := m.frame
	if m.still {
		frame = -1
	}
	return canvas{theme: m.theme, width: m.width, home: m.home, now: m.now(), frame: frame, seq: m.seq}
}

// draw puts the parts where arrange says.
func (m *app) draw() tea.View {
	m.seq++
	w, t := m.width, m.theme
	if m.alone != nil {
		return m.drawAlone(t, w)
	}
	q := m.questions.front()
	need := wants{menu: len(m.matching()), composer: len(m.composer.rows(m.composerWidth()))}
	var asked drawnQuestion
	cx, cy := -1, -1
	if q != nil && m.panel == nil {
		asked = q.view(t, w, questionRoom(m.height), m.home, m.now(), len(m.questions.queue)-1)
		need.question = len(asked.lines)
	}
	waiting := m.waitingLines(t, w)
	need.queued = len(waiting)
	_, need.full = m.panel.(*questionPage)
	a := arrange(m.height, need)
	if q != nil && m.panel == nil {
		if a.question.height < len(asked.lines) {
			asked = q.view(t, w, a.question.height, m.home, m.now(), len(m.questions.queue)-1)
		}
		cx, cy = asked.x, asked.y
		q.onScreen(asked)
	}
	lines := make([]string, 0, m.height)
	if m.panel != nil {
		var over []string
		over, cx, cy = m.panel.view(t, w, a.transcript.height)
		lines = append(lines, over...)
	} else {
		lines = append(lines, m.transcript.view(m.canvas(), a.transcript.height)...)
	}
	lines = append(lines, asked.lines...)
	if a.status.height > 0 {
		lines = append(lines, m.status(t, w))
	}
	lines = append(lines, waiting[:a.queued.height]...)
	if a.menu.height > 0 {
		lines = append(lines, m.menu.view(t, w, m.matching())[:a.menu.height]...)
	}
	if a.rule.height > 0 {
		lines = append(lines, t.paint(faint, strings.Repeat("─", w)))
	}
	text, x, y := m.composer.view(t, m.composerWidth(), a.composer.height)
	for i, l := range text {
		prompt := "  "
		if i == 0 && m.composer.top == 0 {
			prompt = t.paint(accent, "›") + " "
		}
		lines = append(lines, prompt+l)
	}
	if a.footer.height > 0 {
		lines = append(lines, m.facts.footer(t, w))
	}
	m.rows = lines[:min(len(lines), m.height)]
	v := tea.View{Content: strings.Join(m.selection.mark(m.rows), "\n"), AltScreen: true}
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	switch {
	case m.panel != nil && cy >= 0:
		v.Cursor = tea.NewCursor(cx, a.transcript.top+cy)
	case cy >= 0:
		v.Cursor = tea.NewCursor(cx, a.question.top+cy)
	case m.panel == nil && (q == nil || !q.armed):
		v.Cursor = tea.NewCursor(x+gutter, a.composer.top+y)
	}
	return v
}

// drawAlone draws the overlay and nothing else.
func (m *app) drawAlone(t *theme, w int) tea.View {
	v := tea.View{AltScreen: true}
	if m.panel != nil {
		lines, x, y := m.panel.view(t, w, m.height)
		if v.Content = strings.Join(lines, "\n"); y >= 0 {
			v.Cursor = tea.NewCursor(x, y)
		}
	}
	return v
}

// composerWidth leaves the gutter and the column the cursor stands in behind a
// full row.
func (m *app) composerWidth() int { return max(m.width-gutter-1, 4) }

// status is the line above the message: what goes on, and what one can do.
func (m *app) status(t *theme, w int) string {
	var left, right []span
	if !m.transcript.follow && m.panel == nil {
		right = []span{{"↓ ", accent}, {"Ctrl+End follows ", dim}}
	}
	switch {
	case m.hint != "":
		left = []span{{"  " + m.hint, warn}}
	case m.questions.front() != nil && m.panel == nil:
		// The question above says all there is to say.
	case m.questions.front() != nil:
		left = []span{{"?", warn}, {" question pending: " + keyName(keyFor(everywhere, actBack)) + " to answer it", text}}
		if _, ok := m.panel.(*questionPage); ok {
			left = []span{{"  " + keyName(keyFor(everywhere, actBack)), accent}, {" closes the full view", dim}}
		}
	case m.unread != nil:
		left = []span{{"  Reading the clipboard", text}, {"   " + keyName(keyFor(everywhere, actBack)), accent}, {" leaves it", dim}}
	case m.working:
		left = []span{{spinner(m.canvas().frame), accent}, {" " + firstOf(m.doing, "Working"), text}}
		if d := m.now().Sub(m.since); d >= time.Second {
			left = append(left, span{" " + elapsed(d.Truncate(time.Second)), dim})
		}
		hints := [][]span{{{"   " + keyName(keyFor(everywhere, actBack)), accent}, {" interrupts", dim}}}
		if !m.composer.empty() {
			hints = append(hints, []span{{"  " + keyName(keyFor(inComposer, actSend)), accent}, {" steers", dim}},
				[]span{{"  " + keyName(keyFor(inComposer, actQueue)), accent}, {" queues", dim}})
		}
		for _, h := range hints { // whole, or not at all
			if spansWidth(left)+spansWidth(h)+spansWidth(right) >= w {
				break
			}
			left = append(left, h...)
		}
	}
	return t.justify(w, left, right)
}

// waitingLines are the messages that were not delivered yet.
func (m *app) waitingLines(t *theme, w int) []string {
	const most = 3
	var out []string
	line := func(s Message, when string) {
		out = append(out, t.row(w-1, span{"  ↳ ", faint}, span{when + "  ", dim}, span{strings.TrimSpace(s.Text), text}))
	}
	for _, s := range m.box.waiting() {
		line(s, "next")
	}
	for _, s := range m.queued {
		line(s, "after the turn")
	}
	if len(out) > most {
		rest := len(out) - most + 1
		out = append(out[:most-1], t.row(w-1, span{"  ↳ … and " + count(rest) + " more", dim}))
	}
	return out
}
