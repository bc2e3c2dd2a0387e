package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"codeagent/sandbox"
)

// windowBytes is the least amount of a job's output that is kept in memory.
const windowBytes = 256 << 10

// Job is one command in the background.
type Job struct {
	id      int
	about   Background
	held    *callHolder
	running *execution
	// ctx ends when the command is to end; done is closed when all its processes are gone.
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	writing sync.Mutex // one writer at a time
	stdin   *os.File   // receives typed input

	mu       sync.Mutex
	window   tail
	at       int64         // offset up to which the output was read
	changed  chan struct{} // closed at the next change of state; nil while nobody waits
	ended    bool
	outcome  Outcome
	err      error
	reported bool // the end was reported
	// heard are the ports on which the command listened, hearing counts those that Background.Listens
	// has not answered, and ports are those that the host reaches.
	heard   []sandbox.Listener
	hearing int
	ports   []Port
	// back is closed when the command of the foreground becomes a job; nil from then on.
	back    chan struct{}
	tell    func() // the number of jobs or of their ports has changed; not guarded
	refusal int    // the Order of the last denial that was reported
}

// background starts a job. Besides the goroutines that copy its output it has one, the
// waiter, which ends with the command.
func (r *Runner) background(ctx context.Context, p sandbox.Policy, b Background, held *callHolder, id int, over func()) (*Job, error) {
	b.background = true
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j := &Job{id: id, about: b, held: held, ctx: life, cancel: cancel, done: make(chan struct{}), tell: over}
	err := j.start(r, p, b.Command)
	if err != nil {
		cancel()
		return nil, err
	}
	go j.follow(over, func() (Outcome, error) { return j.running.end(life) })
	return j, nil
}

func (j *Job) start(r *Runner, p sandbox.Policy, c Command) (err error) {
	c.Tap, c.listens = j.take, j.listens
	if !c.Terminal {
		if c.Stdin, j.stdin, err = newPipe(1); err != nil {
			return cannot("stdin", err)
		}
		defer c.Stdin.Close()
	}
	j.running, err = r.begin(j.ctx, p, c, nil)
	switch {
	case err == nil && c.Terminal:
		j.stdin, err = duplicate(j.running.cap.pipes[0].read)
		if err != nil {
			j.running.proc.Kill()
			_, _ = j.running.end(j.ctx)
			err = cannot("terminal", err)
		}
	case err != nil && j.stdin != nil:
		j.stdin.Close()
	}
	return err
}

// follow is the waiter. end returns when the command is gone. Its last step is the call of over.
func (j *Job) follow(over func(), end func() (Outcome, error)) {
	defer close(j.done)
	defer j.cancel()
	defer over()
	o, err := end()
	j.writing.Lock()
	j.stdin.Close()
	j.writing.Unlock()
	if j.about.Ended != nil {
		o.Changed = j.about.Ended(o)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended, j.outcome, j.err, j.ports = true, o, err, nil // the ports ended with the command
	j.announce()
}

// take appends output, and never waits.
func (j *Job) take(data []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.window.add(data, windowBytes)
	j.announce()
}

// announce wakes those who wait for a change; mu is held.
func (j *Job) announce() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// stop signals the command to end, and reports whether it was running.
func (j *Job) stop() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel()
	return !j.ended
}

// end calls stop, and waits until all processes are gone.
func (j *Job) end() bool {
	was := j.stop()
	<-j.done
	return was
}

// lives reports whether any process of the job still runs.
func (j *Job) lives() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.ended
}

// ID is the job's number.
func (j *Job) ID() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.id
}

// Info returns the present state of the job.
func (j *Job) Info() Info {
	granted, all := j.held.soFar()
	j.mu.Lock()
	defer j.mu.Unlock()
	return Info{
		ID: j.id, Text: j.about.Text, Dir: j.about.Dir, Terminal: j.about.Terminal,
		Policy: j.running.policy.Clone(), Granted: granted, Revoked: j.running.runner.live.revokedFrom(j.running), Starting: !all,
		Started: j.running.start, Printed: j.window.end(), Unread: j.window.end() - j.at, Running: !j.ended, Outcome: j.outcome, Reported: j.reported,
	}
}

// news reports the job's end once, unless it has been reported already.
func (j *Job) news() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	is := j.ended && !j.reported
	j.reported = j.reported || is
	return is
}

func (j *Job) tail() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return bytes.Clone(j.window.data)
}

// Reasons why input cannot be typed.
var (
	ErrEnded    = errors.New("the command has ended")
	ErrNoStdin  = errors.New("its stdin is closed")
	ErrNotTaken = errors.New("the command does not read what is typed")
)

// typingPatience is how long the command may leave input unread once its pipe or
// terminal is full.
const typingPatience = 5 * time.Second

// Control characters that a terminal interprets. Without a terminal Type interprets them.
const (
	interrupt = '\x03' // SIGINT for the process group
	endOfFile = '\x04' // closes stdin
)

// Type sends text to the command as if it were typed. In a terminal, control characters
// have their usual effect. Without a terminal, \x03 interrupts the command and \x04 closes
// its stdin. Type returns when all of text was taken.
func (j *Job) Type(ctx context.Context, text string) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.about.Terminal {
		return j.write(ctx, text)
	}
	for text != "" {
		i := strings.IndexAny(text, string([]rune{interrupt, endOfFile}))
		if i < 0 {
			return j.write(ctx, text)
		}
		if err := j.write(ctx, text[:i]); err != nil {
			return err
		}
		var err error
		if text[i] == interrupt {
			err = j.running.proc.Signal(sigInt)
		} else {
			err = j.stdin.Close()
		}
		if err != nil {
			return j.untyped(err)
		}
		text = text[i+1:]
	}
	return nil
}

// write does the writing for Type; writing is held.
func (j *Job) write(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	if j.stdin == nil { // it was in the foreground
		return ErrNoStdin
	}
	err := j.stdin.SetWriteDeadline(time.Now().Add(typingPatience))
	if err != nil {
		return j.untyped(err)
	}
	for _, end := range []context.Context{ctx, j.ctx} {
		defer context.AfterFunc(end, func() { _ = j.stdin.SetWriteDeadline(time.Now()) })()
	}
	n, err := j.stdin.WriteString(text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: it took %d of %d bytes", ErrNotTaken, n, len(text))
	}
	return j.untyped(err)
}

// untyped returns the reason why input could not be typed.
func (j *Job) untyped(err error) error {
	switch {
	case err == nil:
		return nil
	case !j.lives(), errors.Is(err, os.ErrProcessDone):
		return ErrEnded
	case errors.Is(err, os.ErrClosed):
		return ErrNoStdin
	}
	return fmt.Errorf("%w: %w", ErrNoStdin, err)
}
