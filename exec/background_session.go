package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"codeagent/sandbox"
)

// Session is one command in the background.
type Session struct {
	id      int
	about   Background
	held    *callHolder
	running *running
	// ctx ends when the command is to end; done is closed when all is gone.
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	writing sync.Mutex // one writer at a time
	stdin   *os.File   // what is typed goes here

	mu      sync.Mutex
	window  window
	at      int64         // up to where the output was read
	changed chan struct{} // closed with the next news; nil while nobody waits
	ended   bool
	outcome Outcome
	err     error
	told    bool // somebody was told of the end
	refusal int  // the Order of the last refusal that was told
}

// background starts a session. Besides the copiers of its output it has one
// goroutine, the waiter, which ends with the command.
func (r *Runner) background(ctx context.Context, p sandbox.Policy, b Background, held *callHolder, id int, over func()) (*Session, error) {
	b.background = true
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Session{id: id, about: b, held: held, ctx: life, cancel: cancel, done: make(chan struct{})}
	err := s.start(r, p, b.Command)
	if err != nil {
		cancel()
		return nil, err
	}
	go s.follow(over)
	return s, nil
}

func (s *Session) start(r *Runner, p sandbox.Policy, c Command) (err error) {
	open := func() (*capture, error) { return r.newCapture(p, c.Apart, nil) }
	if c.Terminal {
		open = func() (*capture, error) { return r.newTerminal(p) }
	} else {
		if c.Stdin, s.stdin, err = newPipe(1); err != nil {
			return cannot("stdin", err)
		}
		defer c.Stdin.Close()
	}
	s.running, err = r.begin(s.ctx, p, c, func() (*capture, error) {
		capture, err := open()
		if err == nil {
			capture.tap = s.take
		}
		return capture, err
	})
	switch {
	case err == nil && c.Terminal:
		s.stdin, err = duplicate(s.running.cap.pipes[0].read)
		if err != nil {
			s.running.proc.Kill()
			_, _ = s.running.end(s.ctx)
			err = cannot("terminal", err)
		}
	case err != nil && s.stdin != nil:
		s.stdin.Close()
	}
	return err
}

// follow is the waiter. Its last deed is to say that it is over.
func (s *Session) follow(over func()) {
	defer close(s.done)
	defer s.cancel()
	defer over()
	o, err := s.running.end(s.ctx)
	s.writing.Lock()
	s.stdin.Close()
	s.writing.Unlock()
	if s.about.Ended != nil {
		o.Changed = s.about.Ended()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.outcome, s.err = true, o, err
	s.announce()
}

// take is told all output, and never waits.
func (s *Session) take(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window.add(data)
	s.announce()
}

// announce wakes whoever waits for news; mu is held.
func (s *Session) announce() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// stop tells the command to end, and reports whether it was running.
func (s *Session) stop() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	return !s.ended
}

// end is stop, and returns when all is gone.
func (s *Session) end() bool {
	was := s.stop()
	<-s.done
	return was
}

// lives reports whether anything of it still runs.
func (s *Session) lives() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended
}

// ID is the session's number.
func (s *Session) ID() int { return s.id }

// Info is the session as it stands.
func (s *Session) Info() Info {
	granted, all := s.held.soFar()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Info{
		ID: s.id, Text: s.about.Text, Dir: s.about.Dir, Terminal: s.about.Terminal,
		Policy: s.running.policy.Clone(), Granted: granted, Starting: !all,
		Started: s.running.start, Printed: s.window.end(), Unread: s.window.end() - s.at, Running: !s.ended, Outcome: s.outcome, Told: s.told,
	}
}

// news reports, once, an end that nobody was told of.
func (s *Session) news() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.ended && !s.told
	s.told = s.told || is
	return is
}

func (s *Session) tail() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.window.from(0)...)
}

// What cannot be typed.
var (
	ErrEnded    = errors.New("the command has ended")
	ErrNoStdin  = errors.New("its stdin is closed")
	ErrNotTaken = errors.New("the command does not read what is typed")
)

// typingPatience is how long the command may leave input unread once its pipe or
// terminal is full.
const typingPatience = 5 * time.Second

// Control characters that a terminal obeys. Without one they are obeyed here.
const (
	interrupt = '\x03' // SIGINT for the process group
	endOfFile = '\x04' // closes stdin
)

// Type hands text to the command as if it were typed. In a terminal the control
// characters in it do what they do there; without one \x03 interrupts the
// command and \x04 closes its stdin. It returns when all was taken.
func (s *Session) Type(ctx context.Context, text string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.about.Terminal {
		return s.write(ctx, text)
	}
	for text != "" {
		i := strings.IndexAny(text, string([]rune{interrupt, endOfFile}))
		if i < 0 {
			return s.write(ctx, text)
		}
		if err := s.write(ctx, text[:i]); err != nil {
			return err
		}
		var err error
		if text[i] == interrupt {
			err = s.running.proc.Signal(sigInt)
		} else {
			err = s.stdin.Close()
		}
		if err != nil {
			return s.untyped(err)
		}
		text = text[i+1:]
	}
	return nil
}

// write is the part of Type that is written; writing is held.
func (s *Session) write(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	err := s.stdin.SetWriteDeadline(time.Now().Add(typingPatience))
	if err != nil {
		return s.untyped(err)
	}
	for _, end := range []context.Context{ctx, s.ctx} {
		defer context.AfterFunc(end, func() { _ = s.stdin.SetWriteDeadline(time.Now()) })()
	}
	n, err := s.stdin.WriteString(text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: it took %d of %d bytes", ErrNotTaken, n, len(text))
	}
	return s.untyped(err)
}

// untyped says why something could not be typed.
func (s *Session) untyped(err error) error {
	switch {
	case err == nil:
		return nil
	case !s.lives(), errors.Is(err, os.ErrProcessDone):
		return ErrEnded
	case errors.Is(err, os.ErrClosed):
		return ErrNoStdin
	}
	return fmt.Errorf("%w: %w", ErrNoStdin, err)
}
