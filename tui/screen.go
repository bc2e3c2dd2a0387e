// Package tui is the full-screen front end: it shows the agent's events, asks the
// person for permissions, and hands over what the person writes. It may touch the
// terminal and nothing else: it knows nothing of the agent, and Options hands in all
// that it can do. Start reading at app.go, where the one tea.Model hands messages to
// the parts of the screen; commands.go is the table of commands.
package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/internal/environ"
	"codeagent/mcp/inquiry"
	"codeagent/tui/clipboard"
	"codeagent/tui/footer"
	"codeagent/tui/form"
	"codeagent/tui/home"
	"codeagent/tui/lists"
	"codeagent/tui/mark"
	"codeagent/tui/message"
	"codeagent/tui/modes"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/question"
	"codeagent/tui/rewind"
	"codeagent/tui/setup"
	"codeagent/tui/templates"
	"codeagent/tui/terminal"
	"codeagent/tui/undoing"
)

// Job is the program as a job of a shell.
type Job struct {
	// Suspend stops the program (Ctrl+Z) after the terminal was given back. It returns when the
	// program goes on, or when ctx ends.
	Suspend func(ctx context.Context)
	// Foreground reports whether the program may use the terminal; nil: always.
	Foreground func() bool
}

// Options is what a Screen needs.
type Options struct {
	// In and Out are the terminal; nil means standard input and output.
	In, Out *os.File
	// Environ is the program's environment: TERM, NO_COLOR and others.
	Environ []string
	// Home is the person's home folder, shown as ~; "": unknown.
	Home string
	// InitialPrompt is sent as the first message; empty for none.
	InitialPrompt string
	// Turn runs one turn for a message and returns when it is over. The screen
	// calls it on one goroutine at a time and cancels ctx on Esc and on leaving.
	Turn func(context.Context, message.Message) error
	// Again has the model answer the message that an earlier session's answer was shown for. It runs like a turn.
	Again func(context.Context) error
	// Compact summarizes the conversation; focus says what to keep ("": no focus).
	// It runs like a turn. Nil: not offered, as with the groups below.
	Compact func(ctx context.Context, focus string) error

	Job Job

	// Look chooses the colours, and how the person is called back.
	Look Look

	// Setup sets up a provider, its key and a model; nil: it is not offered. SetUp begins to use what was
	// chosen, like a turn. It reports whether the program does that after the screen has ended.
	Setup setup.Work
	SetUp func(ctx context.Context, c setup.Choice) (leaves bool, err error)

	Rewind     rewind.Past
	Approvals  modes.Gate
	Models     lists.Models
	Sessions   lists.Sessions
	Undo       undoing.Turns
	Background lists.Background
	// Surroundings are for the footer; nil: it has no branch.
	Surroundings footer.Surroundings
	// Opening is what the first entry shows beside the session.
	Opening home.Facts
	// Permissions is for /permissions; nil: it shows only what was asked.
	Permissions lists.Permissions
	Images      clipboard.Images
	Clipboard   clipboard.Desktop
	// Extras are more commands.
	Extras Extras
	// Writing belongs to the editor of the message.
	Writing Writing

	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Still draws no spinner and starts no timer for one: for tests.
	Still bool
	// Grace is how long the fingers must rest before a question takes keys; zero
	// means 700 ms.
	Grace time.Duration
	// Mouse captures the mouse: the wheel scrolls, a drag selects and copies.
	// Without it many terminals turn the wheel into arrow keys.
	Mouse bool
}

// Screen is the front end. Emit, Ask and Steer may be called from any
// goroutine, before, during and after Run.
type Screen struct {
	opt   Options
	box   *mailbox
	after timer
	turns sync.WaitGroup // turns, and work beside them

	mu      sync.Mutex
	ctx     context.Context         // Run's; guarded by mu
	cancel  context.CancelCauseFunc // ends the running turn, nil without one; guarded by mu
	over    bool                    // Run is leaving: no turn may start; guarded by mu
	release func()                  // gives the terminal back; set by Run
	broke   any                     // a turn's panic value; written before turns is done
}

// ErrClosed answers a question when the screen is gone.
var ErrClosed = errors.New("the screen is closed")

// ErrInterrupted is the cause with which a turn's context is cancelled by the person.
var ErrInterrupted = errors.New("interrupted")

// New returns a screen; Run shows it.
func New(opt Options) *Screen {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Grace == 0 {
		opt.Grace = grace
	}
	if opt.In == nil {
		opt.In = os.Stdin
	}
	if opt.Job.Suspend == nil {
		opt.Job.Suspend = func(context.Context) {}
	}
	if opt.Job.Foreground == nil {
		opt.Job.Foreground = func() bool { return true }
	}
	if opt.Out == nil {
		opt.Out = os.Stdout
	}
	return &Screen{opt: opt, box: newMailbox(), after: tea.Tick}
}

// Emit shows an event. It never waits for the screen.
func (s *Screen) Emit(e event.Event) { s.box.post(e) }

// Ask asks a question and waits for its answer. The error is ctx's cause, or
// ErrClosed; the answer is then a denial.
func (s *Screen) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	a := &question.Ask{Request: r, Reply: make(chan approvals.Answer, 1)}
	return asked(ctx, s.box, a, a.Reply, approvals.Answer{})
}

// asked puts a to the person and waits for the answer; none is returned without one.
func asked[R any](ctx context.Context, b *mailbox, a part.Ask, reply <-chan R, none R) (R, error) {
	if !b.post(a) {
		return none, ErrClosed
	}
	select {
	case r := <-reply:
		return r, nil
	case <-ctx.Done():
		b.post(part.Withdrawn{Ask: a})
		return none, context.Cause(ctx)
	case <-b.done:
		return none, ErrClosed
	}
}

// Inquire puts a question of an MCP server to the person and waits for the answer. The error is
// ctx's cause, or ErrClosed; the reply then cancels.
func (s *Screen) Inquire(ctx context.Context, q inquiry.Question) (inquiry.Reply, error) {
	a := &form.Ask{Question: q, Reply: make(chan inquiry.Reply, 1)}
	return asked(ctx, s.box, a, a.Reply, inquiry.Reply{Action: inquiry.Cancelled})
}

// Steer removes and returns the oldest message that was typed while the model worked.
func (s *Screen) Steer() (message.Message, bool) { return s.box.steered() }

// Run shows the screen until the person leaves or ctx ends. It returns after
// the running turn has returned, with the terminal restored and the end of the
// transcript printed on the normal screen. The error is ctx's when ctx ended it.
func (s *Screen) Run(ctx context.Context) error { return s.show(ctx, nil) }

// PickSession shows only the list of Sessions, those with the words of text at first, until one is opened or
// the person leaves.
func (s *Screen) PickSession(ctx context.Context, text string) error {
	return s.show(ctx, func(m *app) tea.Cmd { return open(m, lists.OfSessions(m.setting(), m.offers.Sessions, text, false)) })
}

// PickPlace shows only a list of places to work in, with the reason why one is to be chosen. It returns the Id of
// the chosen one or the written folder; "": the person left.
func (s *Screen) PickPlace(ctx context.Context, why string, places []picker.Row) (string, error) {
	var chosen string
	err := s.show(ctx, func(m *app) tea.Cmd {
		return open(m, lists.OfPlaces(m.setting(), why, places, func(name string) { chosen = name }))
	})
	return chosen, err
}

// SetUp shows only the setup of a model, until a choice is kept or the person leaves. The words are those
// about what was kept; "": nothing was. tour: the person wants the tour.
func (s *Screen) SetUp(ctx context.Context, why string) (chosen setup.Choice, words string, tour bool, err error) {
	err = s.show(ctx, func(m *app) tea.Cmd {
		steps := setup.Setup{
			Setting: m.setting(), Work: m.offers.Setup, Why: why,
			Tour: func() part.Intent { tour = true; return part.Quit{} },
			Done: func(c setup.Choice, kept string) part.Intent { chosen, words = c, kept; return part.Quit{} },
		}
		return m.do(steps.Show())
	})
	return chosen, words, tour, err
}

// show is Run; with alone it shows only the overlay that alone opens.
func (s *Screen) show(ctx context.Context, alone then) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()

	profile := colorprofile.Env(s.opt.Environ) // not Detect, which executes tmux by PATH
	owned, err := terminal.Open(terminal.Options{In: s.opt.In, Out: s.opt.Out, Environ: environ.Inert(s.opt.Environ), Profile: profile, Foreground: s.opt.Job.Foreground})
	if err != nil {
		return fmt.Errorf("screen: %w", err)
	}
	m := s.newApp(alone)
	m.offers.Look.few, m.offers.Look.none = profile == colorprofile.ANSI, profile < colorprofile.ANSI
	m.theme = m.offers.Look.on(true)
	m.burst.gap, m.answer.hold = burstGap, answerHold
	if s.opt.Writing.Vim {
		m.composer.UseVim()
	}
	m.calls.Settings = s.opt.Look.Attention.For(s.env)
	width, height := owned.Size()
	program := tea.NewProgram(drawn{m, owned}, tea.WithInput(strings.NewReader("")), // keys are Listen's
		tea.WithOutput(s.opt.Out),
		tea.WithEnvironment(environ.Inert(s.opt.Environ)), tea.WithoutSignalHandler(), tea.WithColorProfile(profile),
		tea.WithoutRenderer(), tea.WithFPS(1), tea.WithWindowSize(width, height), tea.WithFilter(written(owned)))
	owned.Watch(func() { program.Send(sizeOf(owned)) }, func() { program.Send(continuedMsg{}) })
	m.away = func(work func()) tea.Cmd {
		return tea.Exec(apart(func() error {
			owned.Release()
			work()
			for ctx.Err() == nil && !s.opt.Job.Foreground() {
				select {
				case <-ctx.Done():
				case <-time.After(200 * time.Millisecond): // fg sends no signal to a job that runs
				}
			}
			if ctx.Err() != nil {
				return nil // it ends, and the terminal is somebody else's
			}
			return owned.Take()
		}), func(error) tea.Msg { return sizeOf(owned) })
	}
	m.suspend = func() tea.Cmd { return m.away(func() { s.opt.Job.Suspend(ctx) }) }
	s.mu.Lock()
	s.release = owned.Release
	s.mu.Unlock()
	var lost error
	if err := owned.Listen(program.Send, func(err error) { lost = err; program.Quit() }); err != nil {
		owned.Close()
		return fmt.Errorf("screen: %w", err)
	}
	stay := context.AfterFunc(ctx, program.Quit)
	_, err = program.Run()
	ended := !stay()
	owned.Close()
	err = cmp.Or(err, lost)
	s.finish(m, leave)
	s.printTail(m, profile)
	return s.ending(ctx, err, ended)
}

// newApp is the app with what the screen was given.
func (s *Screen) newApp(alone then) *app {
	m := newApp(s.box, s.opt.Now)
	m.after = s.after
	m.turn, m.run, m.aside, m.interrupt = s.turn, s.run, s.aside, s.interrupt
	m.alone = alone
	m.offer(s.opt)
	return m
}

// offer hands the parts what the screen was given.
func (m *app) offer(o Options) {
	m.offers, m.facts.Home, m.facts.OnDraft, m.transcript.Home = o, o.Home, o.Extras.OnDraft, o.Opening
	if o.Writing.Keys != nil {
		m.keys = o.Writing.Keys
	}
	m.templates = templates.Templates{Load: o.Extras.Own, Servers: o.Extras.ServerOffers, Known: o.Extras.Servers, Now: m.now}
	m.clipboard = clipboard.Clipboard{Desktop: o.Clipboard, Images: o.Images, Home: o.Home}
	m.modes = modes.Modes{Gate: o.Approvals, Keys: m.keys}
}

// finish ends what runs, and waits for it; leave cancels the screen's context.
func (s *Screen) finish(m *app, leave func()) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.box.leave()
	s.interrupt()
	leave()
	s.turns.Wait()
	showLast(m, s.box.close())
}

// ending is the error of a screen that has ended: by its context, or by one of its program.
func (s *Screen) ending(ctx context.Context, err error, ended bool) error {
	switch {
	case err == nil && ended:
		return context.Cause(ctx)
	case err == nil:
		return nil
	case s.broke != nil:
		return fmt.Errorf("screen: %w: %v", err, s.broke)
	}
	return fmt.Errorf("screen: %w", err)
}

// env is the last value of a variable.
func (s *Screen) env(name string) string {
	for _, kv := range slices.Backward(s.opt.Environ) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

func sizeOf(t *terminal.Terminal) tea.Msg {
	width, height := t.Size()
	return tea.WindowSizeMsg{Width: width, Height: height}
}

// apart is work during which the program does not have the terminal.
type apart func() error

func (f apart) Run() error        { return f() }
func (apart) SetStdin(io.Reader)  {}
func (apart) SetStdout(io.Writer) {}
func (apart) SetStderr(io.Writer) {}

func (s *Screen) turn(said message.Message) tea.Cmd {
	return s.run(func(ctx context.Context) (then, error) { return nil, s.opt.Turn(ctx, said) })
}

// run returns the command that does work like a turn: one at a time, and Esc
// ends it.
func (s *Screen) run(work func(context.Context) (then, error)) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel, ok := s.begin()
		if !ok {
			return turnDoneMsg{}
		}
		defer s.turns.Done()
		defer cancel(nil)
		defer s.noteBreak()
		s.mu.Lock()
		s.cancel = cancel
		s.mu.Unlock()
		next, err := work(ctx)
		return turnDoneMsg{err, next}
	}
}

// aside returns the command that does work beside a turn; it ends with the
// screen.
func (s *Screen) aside(work func(context.Context) then) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel, ok := s.begin()
		if !ok {
			return nil
		}
		defer s.turns.Done()
		defer cancel(nil)
		defer s.noteBreak()
		return work(ctx)
	}
}

// begin registers work that Run waits for; false when the screen is leaving.
func (s *Screen) begin() (context.Context, context.CancelCauseFunc, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.turns.Add(1)
	return ctx, cancel, true
}

// noteBreak keeps the panic value of a turn: Bubble Tea ends the program before it
// has printed the value, and the output may end with the program.
func (s *Screen) noteBreak() {
	if said := recover(); said != nil {
		s.broke = said
		s.release()
		panic(said)
	}
}

func (s *Screen) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel(ErrInterrupted)
	}
}

// tailLines bounds what is printed on leaving: a few screens.
const tailLines = 200

// printTail leaves the end of the transcript on the normal screen.
func (s *Screen) printTail(m *app, profile colorprofile.Profile) {
	if m.width == 0 || m.transcript.Size() == 0 {
		return
	}
	m.offers.Still = true
	m.seq++
	m.transcript.Follow = true
	lines := m.transcript.View(m.canvas(), tailLines)
	text := strings.Trim(strings.Join(mark.Lines(lines), "\n"), "\n")
	out := &colorprofile.Writer{Forward: s.opt.Out, Profile: profile}
	if _, err := io.WriteString(out, text+"\n"); err != nil {
		return // the terminal is gone
	}
}
