package tui

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/environ"
	"codeagent/tui/lines"
	"codeagent/tui/paint"
	"codeagent/tui/terminal"
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
	m.width, m.height = linesWidth(s.opt.Out), lines.Tallest
	m.suspend, m.away = func() tea.Cmd { return nil }, nil
	m.offers.Writing.Edit, m.offers.Setup = nil, nil // a key that is typed would be seen
	spoken := inLines{app: m, face: lines.New(s.opt.Out, m.scene, m.offers.Grace), in: in, width: func() int { return linesWidth(s.opt.Out) }}
	program := tea.NewProgram(spoken, tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithEnvironment(environ.Inert(s.opt.Environ)),
		tea.WithoutSignalHandler(), tea.WithoutRenderer(), tea.WithFPS(1), tea.WithWindowSize(m.width, m.height))
	stay := context.AfterFunc(ctx, program.Quit)
	_, err := program.Run()
	ended := !stay()
	s.finish(m, leave)
	spoken.face.Write()
	return s.ending(ctx, err, ended)
}

func linesWidth(out *os.File) int {
	if w, _ := terminal.SizeOf(out); w > 0 {
		return w
	}
	return 80
}

type (
	lineMsg      string
	interruptMsg struct{}
)

// inLines is the app without a screen: after each message its face writes what is new.
type inLines struct {
	app   *app
	face  *lines.Face
	in    Input
	width func() int
}

// scene is what there is to write in lines.
func (m *app) scene() lines.Scene {
	m.seq++
	return lines.Scene{
		Canvas: m.canvas(), Transcript: &m.transcript, Front: m.docks.Front(), Panel: m.panel, Hint: paint.Tildes(m.hint.text, m.facts.Home), Hints: m.hint.number,
		Running: m.work.running, Ready: m.facts.Started && !m.box.left,
	}
}

const (
	// mostTyped bounds a message, in bytes.
	mostTyped = 1 << 20
	// together is how soon the next line of a paste follows.
	together = 30 * time.Millisecond
)

// next waits for what the person types.
func (d inLines) next() tea.Msg {
	select {
	case line, ok := <-d.in.Lines:
		if !ok {
			return tea.Quit()
		}
		return lineMsg(d.in.joined(line))
	case <-d.in.Interrupts:
		return interruptMsg{}
	case <-d.app.box.done:
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
func (d inLines) Init() tea.Cmd { return tea.Batch(d.app.Init(), d.next) }

// View draws nothing.
func (d inLines) View() tea.View { return tea.View{} }

// Update takes one message.
func (d inLines) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	d.app.width = d.width()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return d, nil
	case lineMsg:
		cmd = tea.Batch(d.app.do(d.face.Take(string(msg))), d.next)
	case interruptMsg:
		d.face.Interrupted()
		if cmd = tea.Quit; d.app.work.running {
			d.app.interrupt()
			cmd = d.next
		}
	default:
		_, cmd = d.app.Update(msg)
	}
	return d, tea.Batch(cmd, d.app.do(d.face.Write()))
}
