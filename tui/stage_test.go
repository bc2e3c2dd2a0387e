package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/tui/message"
)

// stage is a Screen on a terminal of its own, in the test's process: its clock does not move unless
// the test moves it, and the test plays the turns.
type stage struct {
	t      *testing.T
	term   *golden.Terminal
	screen *Screen
	opt    Options
	offers *offered
	began  chan string     // a turn has begun
	over   chan error      // ends the turn
	ended  context.Context // with the test

	mu    sync.Mutex
	clock time.Time // guarded by mu
}

// do is one step of a situation.
type do func(*stage)

// situation is a screen that is worth looking at, and how it comes about.
type situation struct {
	name  string
	given func(*stage) // changes what the screen is given; nil: nothing
	steps []do
}

// sizes are the terminals on which each situation is looked at.
var sizes = [][2]int{{80, 24}, {120, 40}, {40, 15}}

// play brings the situation about on a terminal of w columns and h rows.
func (it situation) play(t *testing.T, w, h int) {
	term, tty := golden.Open(t, w, h)
	f := offeredAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s := &stage{t: t, term: term, offers: f, began: make(chan string, 1), over: make(chan error), clock: f.now, ended: t.Context()}
	s.opt = Options{
		In: tty, Out: tty, Environ: []string{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "HOME=/home/ada"}, Home: "/home/ada",
		Turn: s.turn, Still: true, Grace: time.Hour,
		Models: fakeModels{f}, Sessions: fakeSessions{f}, Undo: fakeUndo{f}, Background: fakeBackground{f}, Images: fakeImages{f},
		Approvals: &policies{mode: approvals.OnRequest},
		Now: func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.clock
		},
	}
	if it.given != nil {
		it.given(s)
	}
	s.screen = New(s.opt)
	// Hints stay: a slow machine would not show them as long as it takes to look.
	s.screen.after = func(d time.Duration, f func(time.Time) tea.Msg) tea.Cmd {
		if d >= quitWindow {
			return nil
		}
		return tea.Tick(d, f)
	}
	s.screen.Emit(session())
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { left <- s.screen.Run(ctx) }()
	t.Cleanup(func() {
		leave()
		if err := <-left; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the screen ended with %v", err)
		}
	})
	term.WaitFor("Ask codeagent")
	term.WaitFor("workspace-write")
	for _, step := range it.steps {
		step(s)
	}
	term.CheckScreen(filepath.Join("testdata", "screens", fmt.Sprintf("%s-%d.txt", it.name, w)))
}

// turn is one that the test plays.
func (s *stage) turn(ctx context.Context, said message.Message) error {
	s.screen.Emit(event.TurnStarted{Text: said.Text})
	s.began <- said.Text
	select {
	case err := <-s.over:
		return err
	case <-ctx.Done():
		if context.Cause(ctx) == ErrInterrupted {
			s.screen.Emit(event.TurnFinished{Outcome: word.TurnInterrupted})
		}
		return context.Cause(ctx)
	}
}

// says sends a message and waits for its turn.
func says(text string) do {
	return func(s *stage) {
		s.term.Write(text + "\r")
		select {
		case <-s.began:
		case <-s.ended.Done():
		}
	}
}

// emits has the agent report events, and waits until the screen has taken them: keys that follow
// are handled after them.
func emits(events ...event.Event) do {
	return func(s *stage) {
		for _, e := range events {
			s.screen.Emit(e)
		}
		for !s.taken() && s.ended.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
}

// taken reports whether the screen has taken what was posted.
func (s *stage) taken() bool {
	s.screen.box.mu.Lock()
	defer s.screen.box.mu.Unlock()
	return len(s.screen.box.items) == 0
}

// ends ends the turn.
func ends(outcome word.TurnOutcome, err error) do {
	return func(s *stage) {
		s.screen.Emit(event.TurnFinished{Outcome: outcome, Err: err})
		s.over <- err
		s.term.WaitGone("Working")
	}
}

// asks has the agent ask.
func asks(q approvals.Request) do {
	return func(s *stage) {
		go func() { _, _ = s.screen.Ask(s.ended, q) }() // the answer is not what is looked at
	}
}

// types writes text or the bytes of keys.
func types(text string) do { return func(s *stage) { s.term.Write(text) } }

// presses writes keys by their names, and waits for nothing.
func presses(names ...string) do {
	return func(s *stage) {
		for _, name := range names {
			s.term.Write(keyBytes[name])
		}
	}
}

// keyBytes are keys as a terminal sends them.
var keyBytes = map[string]string{
	"esc": "\x1b[27u", "enter": "\r", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B", "left": "\x1b[D", "right": "\x1b[C",
	"pgup": "\x1b[5~", "pgdown": "\x1b[6~", "home": "\x1b[H", "end": "\x1b[F", "shift+tab": "\x1b[Z",
	"ctrl+up": "\x1b[1;5A", "ctrl+down": "\x1b[1;5B", "ctrl+home": "\x1b[1;5H", "ctrl+end": "\x1b[1;5F",
	"ctrl+c": "\x03", "ctrl+d": "\x04", "ctrl+f": "\x06", "ctrl+j": "\n", "ctrl+o": "\x0f", "ctrl+r": "\x12", "ctrl+t": "\x14", "ctrl+u": "\x15",
	"ctrl+v": "\x16", "ctrl+x": "\x18", "ctrl+y": "\x19", "backspace": "\x7f",
}

// pastes sends a bracketed paste.
func pastes(text string) do { return func(s *stage) { s.term.Paste(text) } }

// lasts lets time pass on the screen's clock.
func lasts(d time.Duration) do {
	return func(s *stage) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clock = s.clock.Add(d)
	}
}

// sees waits for a text on the screen. Texts may be broken: it looks for the first that fits.
func sees(text string) do { return func(s *stage) { s.term.WaitFor(text) } }

// loses waits until a text is not on the screen.
func loses(text string) do { return func(s *stage) { s.term.WaitGone(text) } }

// TestGoldenScreens plays each situation at each size.
func TestGoldenScreens(t *testing.T) {
	all := everySituation()
	names := map[string]bool{}
	for _, it := range all {
		if names[it.name] {
			t.Errorf("two situations are called %s", it.name)
		}
		names[it.name] = true
	}
	t.Logf("%d situations at %d sizes", len(all), len(sizes))
	for _, it := range all {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%d", it.name, size[0]), func(t *testing.T) {
				t.Parallel()
				it.play(t, size[0], size[1])
			})
		}
	}
	t.Cleanup(func() { // after all of them
		files, err := os.ReadDir(filepath.Join("testdata", "screens"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name := f.Name()
			if at := strings.LastIndexByte(name, '-'); at < 0 || !names[name[:at]] {
				t.Errorf("testdata/screens/%s belongs to no situation", name)
			}
		}
	})
}
