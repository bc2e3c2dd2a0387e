package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/internal/environ"
	"codeagent/tui/form"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/question"
	"codeagent/tui/terminal"
	"codeagent/tui/transcript"
)

// Input is what a person types where no screen is drawn.
type Input struct {
	// Lines are whole messages, commands and answers; closed at the end of the input.
	Lines <-chan string
	// Interrupts has one value for each Ctrl+C.
	Interrupts <-chan os.Signal
}

// RunLines is Run without a screen, for screen readers and for terminals that cannot move their
// cursor: what happens is written in lines, each once, and none is drawn again. It is the same
// app: only its drawing and its keys are replaced.
func (s *Screen) RunLines(ctx context.Context, in Input) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s.mu.Lock()
	s.ctx, s.release = ctx, func() {}
	s.mu.Unlock()
	m := s.newApp(nil)
	m.offers.Still = true
	m.width, m.height = linesWidth(s.opt.Out), tallest
	m.suspend, m.away = func() tea.Cmd { return nil }, nil
	m.offers.Writing.Edit = nil
	spoken := &inLines{app: m, out: s.opt.Out, in: in}
	program := tea.NewProgram(spoken, tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithEnvironment(environ.Inert(s.opt.Environ)),
		tea.WithoutSignalHandler(), tea.WithoutRenderer(), tea.WithFPS(1), tea.WithWindowSize(m.width, m.height))
	stay := context.AfterFunc(ctx, program.Quit)
	_, err := program.Run()
	ended := !stay()
	s.finish(m, leave)
	spoken.write()
	return s.ending(ctx, err, ended)
}

// tallest is the height of a page that is written as a whole.
const tallest = 4000

func linesWidth(out *os.File) int {
	if w, _ := terminal.SizeOf(out); w > 0 {
		return w
	}
	return 80
}

type (
	lineMsg      string
	interruptMsg struct{}
	// openMsg opens a question for answers.
	openMsg struct{ q part.Dock }
	// announceMsg names the calls that have run for a while.
	announceMsg struct{}
)

// announceAfter is how long a call runs before it is named: others are named by their end.
const announceAfter = time.Second

// inLines is the app in lines: after each message it writes what is new.
type inLines struct {
	*app
	out io.Writer
	in  Input
	// shown is how many entries of the transcript were written, named how many were named as running.
	shown, named int
	hinted       int                // the number of the last hint
	asked        *question.Question // the question that was written
	part         any                // its note or rule that was written
	open         part.Dock          // the question that takes an answer, and until its invitation
	asking       asking             // the question of a server that was written
	until        string
	page         part.Overlay // the page that was written and takes a line
	prompted     bool         // the prompt is the last thing that was written
	announcing   bool
}

const (
	// mostTyped bounds a message, in bytes.
	mostTyped = 1 << 20
	// together is how soon the next line of a paste follows.
	together = 30 * time.Millisecond
)

// next waits for what the person types.
func (d *inLines) next() tea.Msg {
	select {
	case line, ok := <-d.in.Lines:
		if !ok {
			return tea.Quit()
		}
		return lineMsg(d.in.joined(line))
	case <-d.in.Interrupts:
		return interruptMsg{}
	case <-d.box.done:
		return nil
	}
}

// joined is a line with those that belong to it. Lines of a paste are one message, and so are those
// that end in a backslash with the next; a command is a line.
func (in Input) joined(text string) string {
	for len(text) < mostTyped && text != "" && !strings.HasPrefix(text, "/") {
		wait := time.Hour
		if rest, ok := strings.CutSuffix(text, "\\"); ok {
			text = rest
		} else {
			wait = together
		}
		select {
		case line, ok := <-in.Lines:
			if !ok {
				return text
			}
			text += "\n" + line
		case <-in.Interrupts:
			return ""
		case <-time.After(wait):
			return text
		}
	}
	return text
}

// Init waits for events, and for lines.
func (d *inLines) Init() tea.Cmd { return tea.Batch(d.app.Init(), d.next) }

// View draws nothing.
func (d *inLines) View() tea.View { return tea.View{} }

// Update takes one message.
func (d *inLines) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	d.width = linesWidth(fileOf(d.out))
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return d, nil
	case lineMsg:
		d.prompted = false
		cmd = tea.Batch(d.line(strings.TrimSpace(string(msg))), d.next)
	case interruptMsg:
		d.prompted = false
		d.print("")
		if cmd = tea.Quit; d.work.running {
			d.interrupt()
			cmd = d.next
		}
	case openMsg:
		if msg.q == d.docks.Front() {
			d.open = msg.q
			d.print(d.until)
		}
	case announceMsg:
		d.announcing = false
		d.announce()
	default:
		_, cmd = d.app.Update(msg)
	}
	cmd = tea.Batch(cmd, d.write())
	if d.work.running && !d.announcing {
		d.announcing = true
		cmd = tea.Batch(cmd, d.after(announceAfter, func(time.Time) tea.Msg { return announceMsg{} }))
	}
	return d, cmd
}

func fileOf(w io.Writer) *os.File {
	f, _ := w.(*os.File)
	return f
}

// line takes what the person wrote: an answer, a choice, a command or a message.
func (d *inLines) line(text string) tea.Cmd {
	m, front := d.app, d.app.docks.Front()
	q, _ := front.(*question.Question)
	f, _ := front.(*form.Form)
	if over := d.page; over != nil {
		d.page, m.panel = nil, nil
		p, chooses := over.(*picker.Picker)
		if n, err := strconv.Atoi(text); chooses && err == nil {
			return m.do(p.Pick(n))
		}
		if p, ok := over.(*page.Page); ok && text == "" {
			return m.do(p.Accept())
		}
	}
	switch {
	case f != nil && d.open == front:
		if cmd, handled := d.formLine(text); handled {
			return cmd
		}
	case q != nil && q.Field != nil:
		q.Field.Typed(text)
		return writeDock(m, q, tea.Key{Code: tea.KeyEnter})
	case q != nil && q.Rule != nil:
		return d.rule(q, text)
	case q != nil && q.Has(text) && front == d.open:
		intent, _ := q.Key(tea.Key{Code: []rune(text)[0], Text: text})
		return m.do(intent)
	}
	switch {
	case text == "":
		return nil
	case text == "/more":
		for _, l := range m.transcript.Opened(d.canvas()) {
			d.print(spokenLine(l))
		}
		return nil
	}
	m.composer.Set(text)
	cmd := m.send()
	if left := m.composer.Value(); left != "" {
		m.composer.Set("") // a hint says why it was not sent
	}
	if m.docks.Front() != nil {
		d.print("That is a message for the model. The question still waits for one of its answers.")
	}
	return cmd
}

// rule takes a line while the rule of the answer "always" is shown.
func (d *inLines) rule(q *question.Question, text string) tea.Cmd {
	switch text {
	case "":
		return d.do(q.SaveRule())
	case "scope":
		q.Rule.ToggleScope()
		d.part = nil
	default:
		q.Rule = nil
	}
	return nil
}

// write writes what is new since the last time.
func (d *inLines) write() tea.Cmd {
	m := d.app
	m.seq++
	d.shown = min(d.shown, m.transcript.Size())
	lines, shown := m.transcript.Settled(d.canvas(), d.shown)
	for _, l := range lines {
		d.print(spokenLine(l))
	}
	d.shown, d.named = shown, max(d.named, shown)
	if m.hint.number != d.hinted {
		if d.hinted = m.hint.number; m.hint.text != "" {
			d.print(m.hint.text)
		}
	}
	d.writePanel()
	cmd := tea.Batch(d.writeQuestion(), d.writeForm())
	if !m.work.running && m.docks.Front() == nil && m.panel == nil && !d.prompted && m.facts.Started && !m.box.left {
		fmt.Fprint(d.out, "> ")
		d.prompted = true
	}
	return cmd
}

// announce names the calls that run.
func (d *inLines) announce() {
	for _, l := range d.transcript.Running(d.canvas(), d.named) {
		d.print(spokenLine(l))
	}
	d.named = d.transcript.Size()
}

func (d *inLines) writeQuestion() (cmd tea.Cmd) {
	q, ok := d.docks.Front().(*question.Question)
	if !ok {
		if d.asked = nil; d.docks.Front() == nil {
			d.open, d.asking = nil, asking{}
		}
		return nil
	}
	var written any
	switch {
	case q.Field != nil:
		written = q.Field
	case q.Rule != nil:
		written = q.Rule
	}
	if q == d.asked && written == d.part {
		return nil
	}
	if q != d.asked { // what is being typed is not about it
		d.open, d.asking = nil, asking{} // a form is asked again afterwards, with what was given
		cmd = d.after(d.offers.Grace, func(time.Time) tea.Msg { return openMsg{q} })
	}
	d.asked, d.part = q, written
	switch {
	case q.Field != nil:
		d.print("reason (optional), then Enter:")
	case q.Rule != nil:
		drawn := q.View(part.Canvas{Theme: d.theme, Width: d.width, Home: d.facts.Home, Now: d.now()}, tallest)
		drawn.Seen()
		for _, l := range drawn.Lines {
			d.print(spokenLine(l))
		}
		d.print("Enter saves this rule; the word scope changes where it holds; anything else goes back")
	default:
		q.Arm(false) // for what its drawing offers
		lines, _, _ := question.NewPage(q, d.facts.Home, d.now).View(d.theme, d.width, tallest)
		lines = withoutTail(lines)
		for i, l := range lines[:max(len(lines)-1, 0)] {
			if l = spokenLine(l); i == 0 {
				l = "question: " + strings.TrimPrefix(l, "denied: ")
			}
			d.print(l)
		}
		// The last line is about keys, and about the time that is left.
		until := ""
		if _, left, held := strings.Cut(ansi.Strip(lines[len(lines)-1]), "auto-deny"); held {
			until = " Auto-deny" + left + "."
		}
		d.until = "Answer with one of these, then Enter." + until
	}
	return cmd
}

func (d *inLines) writePanel() {
	m := d.app
	if m.panel == nil || m.panel == d.page {
		return
	}
	switch p := m.panel.(type) {
	case *picker.Picker:
		rows, ready := p.Rows()
		if !ready {
			return
		}
		d.print(p.Title)
		for _, l := range []string{p.Problem, p.None} {
			if l != "" && (len(rows) == 0 || l == p.Problem) {
				d.print(l)
			}
		}
		for i, r := range rows {
			words := []string{strconv.Itoa(i+1) + ":", r.Text, r.About, r.More}
			if r.Mark {
				words = append(words, "(in use)")
			}
			d.print(strings.Join(strings.Fields(strings.Join(words, " ")), " "))
		}
		if m.panel = nil; len(rows) > 0 {
			d.page, m.panel = p, p
			d.print("A number " + p.Enter + "; an empty line closes the list.")
		}
	case *page.Page:
		if !p.Ready() {
			return // it is being read
		}
		lines := withoutTail(p.Draw(d.theme, d.width-1))
		d.print(p.Title)
		for _, l := range lines {
			d.print(spokenLine(l))
		}
		if m.panel = nil; p.Accept != nil {
			d.page, m.panel = p, p
			d.print("Enter " + p.Enter + "; any other line closes this.")
		}
	default:
		m.panel = nil
		d.print("this needs a screen")
	}
}

// print writes a line of shown text.
func (d *inLines) print(text string) {
	if d.prompted {
		fmt.Fprintln(d.out)
		d.prompted = false
	}
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(d.out, strings.TrimRight(paint.Show(l), " "))
	}
}

func (d *inLines) canvas() transcript.Canvas {
	c := d.app.canvas()
	c.Lines, c.Width = true, max(c.Width-9, 20) // a mark in words is wider
	return c
}

func withoutTail(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(ansi.Strip(lines[len(lines)-1])) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// spokenLine is a drawn line as it is read aloud: no styles, no frames, words for the mark in the gutter.
func spokenLine(l string) string {
	l = strings.TrimLeft(strings.TrimRight(ansi.Strip(l), " ─│"), "─")
	for _, m := range [][2]string{
		{"✓", "done:"}, {"✗", "failed:"}, {"⊘", "denied:"}, {"?", "asked:"}, {"▲", "warning:"}, {"■", "stopped:"}, {"●", "running:"}, {"┃", "message:"},
		{"·", ""}, {"◆", ""}, {"≡", ""}, {"↶", ""},
	} {
		if rest, ok := strings.CutPrefix(l, m[0]+" "); ok {
			return strings.TrimLeft(m[1]+" "+rest, " ")
		}
	}
	return l
}
