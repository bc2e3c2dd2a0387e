// Package terminal owns the terminal while the screen is shown: raw mode, the modes that the screen
// needs, the size, and what is written. Frames are written when something has changed, by a
// goroutine of its own: a slow terminal delays frames, and nothing else. Nothing ticks.
//
// Bubble Tea keeps the loop; its renderer is not used, because it looks for changes by a clock, which
// delays a key by half a frame and never rests. Its reader is not used, because it cuts what arrives
// slowly. Start at Open.
package terminal

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Options say what the terminal is.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Environ []string
	Profile colorprofile.Profile
	// Foreground reports whether the terminal may be used: a job in the background that draws
	// scribbles over the shell, and one that changes the terminal is stopped. Nil: always.
	Foreground func() bool
}

// Terminal is a terminal that shows frames. Its methods may be called from any goroutine.
type Terminal struct {
	opt  Options
	next atomic.Pointer[Frame]
	wake chan struct{}
	over chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	held   bool // by the screen, not by another program
	behind bool // it was lost without being given back: a stop that cannot be caught (SIGSTOP)
	send   func(tea.Msg)
	lost   func(error)
	ears   *session    // nil: nothing reads
	left   []byte      // typed before the last Release, and not decoded
	before *term.State // of the input, before raw mode; nil if it is no terminal
	canvas canvas      // what is shown
	modes  tea.View    // what was set
	sync   bool        // it writes a frame at once (mode 2026)
	wide   bool        // it measures text by graphemes when it is asked to (mode 2027)
	pace   pace
}

// Open takes the terminal: raw mode, the alternate screen, and the questions whose answers arrive as
// messages (background, modes). Every Open needs a Close.
func Open(opt Options) (*Terminal, error) {
	if opt.Foreground == nil {
		opt.Foreground = func() bool { return true }
	}
	t := &Terminal{opt: opt, wake: make(chan struct{}, 1), over: make(chan struct{})}
	if err := t.Take(); err != nil {
		return nil, err
	}
	t.Write(questions)
	t.done.Go(t.paint)
	return t, nil
}

// Size is the size in columns and rows; 0 if the output is no terminal.
func (t *Terminal) Size() (width, height int) {
	out, ok := t.opt.Out.(*os.File)
	if !ok {
		return 0, 0
	}
	return SizeOf(out)
}

// SizeOf is the size of a terminal; 0 if the file is not a terminal.
func SizeOf(out *os.File) (width, height int) {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// Watch calls changed each time the size has changed, and continued when the program goes on after it
// was stopped with the terminal in its hands, until the terminal is closed.
func (t *Terminal) Watch(changed, continued func()) {
	resized, woken := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	signal.Notify(woken, syscall.SIGCONT)
	t.done.Go(func() {
		defer signal.Stop(resized)
		defer signal.Stop(woken)
		for {
			select {
			case <-resized:
				changed()
			case <-woken:
				if t.holds() {
					continued()
				}
			case <-t.over:
				return
			}
		}
	})
}

func (t *Terminal) holds() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// Take takes the terminal again after Release. The next frame is drawn whole.
func (t *Terminal) Take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		return nil
	}
	if in, ok := t.opt.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		before, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return fmt.Errorf("raw mode of the terminal: %w", err)
		}
		if t.before == nil || !t.behind {
			t.before = before
		}
	}
	if t.behind {
		t.write(leave(t.modes))
	}
	t.held, t.behind, t.modes, t.canvas = true, false, tea.View{}, newCanvas(t.opt, t.before == nil)
	t.write(enter)
	t.measure()
	return t.listen()
}

// Release gives the terminal back as it was, for another program or for good. Where another job
// has it, nothing is written: Take then cleans up first.
func (t *Terminal) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held {
		return
	}
	t.held = false
	t.deafen()
	if t.behind = !t.opt.Foreground(); t.behind {
		return
	}
	t.write(leave(t.modes))
	if t.before != nil {
		_ = term.Restore(int(t.opt.In.(*os.File).Fd()), t.before) // the terminal may be gone
	}
}

// Close writes the last frame and releases the terminal.
func (t *Terminal) Close() {
	close(t.over)
	t.mu.Lock()
	t.deafen()
	t.mu.Unlock()
	t.done.Wait()
	t.frame()
	t.Release()
}

// Show shows a frame soon, and drops an older one that was not shown yet.
func (t *Terminal) Show(f Frame) {
	t.next.Store(&f)
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Write writes a sequence that changes nothing of what is shown: the clipboard, a bell.
func (t *Terminal) Write(sequence string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held && t.opt.Foreground() {
		t.write(sequence)
	}
}

// Redraw draws the next frame whole.
func (t *Terminal) Redraw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.canvas.erase()
}

// Answered takes what the terminal says of its modes.
func (t *Terminal) Answered(m tea.ModeReportMsg) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case m.Mode == ansi.ModeSynchronizedOutput && m.Value == ansi.ModeReset:
		t.sync = true
	case m.Mode == ansi.ModeUnicodeCore && (m.Value == ansi.ModeReset || m.Value == ansi.ModeSet || m.Value == ansi.ModePermanentlySet):
		t.wide = true
		t.measure()
	}
}

// measure makes the terminal and the canvas measure text alike; mu is held.
func (t *Terminal) measure() {
	if t.wide && t.held {
		t.write(ansi.SetModeUnicodeCore)
		t.canvas.byGrapheme()
	}
}

// paint writes frames until the terminal is closed.
func (t *Terminal) paint() {
	for {
		select {
		case <-t.over:
			return
		case <-t.wake:
		}
		if wait := t.pace.next(time.Now()); wait > 0 {
			select {
			case <-t.over:
				return
			case <-time.After(wait):
			}
		}
		t.frame()
	}
}

// frame writes the frame that waits. When it panics the terminal is given back before the
// program ends.
func (t *Terminal) frame() {
	defer func() {
		if said := recover(); said != nil {
			t.Release()
			panic(said)
		}
	}()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draw()
}

// draw writes the frame that waits; mu is held.
func (t *Terminal) draw() {
	if !t.held || !t.opt.Foreground() {
		return
	}
	f := t.next.Swap(nil)
	if f == nil {
		return
	}
	changes := change(t.modes, f.View)
	rows := t.canvas.draw(*f)
	cursor := ""
	if f.View.Cursor != nil && t.modes.Cursor == nil {
		cursor = ansi.SetModeTextCursorEnable
	}
	if rows != "" && t.sync {
		rows = ansi.SetModeSynchronizedOutput + rows + ansi.ResetModeSynchronizedOutput
	} else if rows != "" && f.View.Cursor != nil && t.modes.Cursor != nil {
		rows = ansi.ResetModeTextCursorEnable + rows
		cursor = ansi.SetModeTextCursorEnable
	}
	t.modes = f.View
	t.modes.Content = ""
	t.write(changes + rows + cursor)
}

// write writes at once. An error means that the terminal is gone; who reads it, learns that.
func (t *Terminal) write(s string) {
	if s != "" {
		_, _ = io.WriteString(t.opt.Out, s)
	}
}

// pace bounds the frames: a few at once, so that a key is never delayed by what was drawn just
// before, and perSecond in the long run.
type pace struct{ at time.Time }

const (
	perSecond = 120
	atOnce    = 6
)

// next counts a frame, and returns how long it has to wait.
func (p *pace) next(now time.Time) time.Duration {
	const each = time.Second / perSecond
	if p.at.Before(now) {
		p.at = now
	}
	p.at = p.at.Add(each)
	return p.at.Sub(now) - atOnce*each
}
