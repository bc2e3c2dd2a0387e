package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"codeagent/internal/short"
	"codeagent/sandbox"
)

const (
	// namedText bounds the text of a command where it stands for the command.
	namedText = 60
	// maxJobs is how many commands may run in the background at once, and how many ended
	// ones are remembered.
	maxJobs = 16
	// MaxBackground is the longest wall limit of a background command.
	MaxBackground = 24 * time.Hour
)

// Jobs are the commands that run in the background. Each runs under the policy it was
// started with, plus what was granted while it started, until it ends, is killed, or Jobs
// is closed. Jobs may be used from several goroutines.
type Jobs struct {
	runner *Runner
	// changed receives the number of running jobs; telling keeps its calls in order.
	changed func(running int)
	telling sync.Mutex

	// starting counts the starts under way; Close waits for them.
	starting sync.WaitGroup

	mu     sync.Mutex
	last   int    // the last number given; numbers are not reused
	begun  int    // starts under way
	list   []*Job // in the order of their numbers
	front  []*Job // what runs in the foreground
	closed bool
}

// NewJobs returns an empty list; the caller closes it. changed, if not nil, receives the
// number of running jobs whenever one has started or ended.
func NewJobs(r *Runner, changed func(running int)) *Jobs {
	return &Jobs{runner: r, changed: changed}
}

// tell reports the number of running jobs.
func (l *Jobs) tell() {
	if l.changed == nil {
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	l.mu.Lock()
	running, closed := l.running(), l.closed
	l.mu.Unlock()
	if !closed {
		l.changed(running)
	}
}

// Background is a command to run in the background.
type Background struct {
	// Command is what runs. Its Timeout is the wall limit: 0 means none, and MaxBackground
	// is the most. Its Holder is used until Start returns; later refused calls fail at once.
	Command
	// In runs the command, nil: the runner of the Jobs does. It comes of that by Runner.In.
	In *Runner
	// Text is the command as shown to a person.
	Text string
	// Ended, if set, is called once when all processes are gone and before the end is
	// reported. It returns what the command changed.
	Ended func(Outcome) sandbox.Changes
	// Listens, if set, is called for each port on which the job begins to listen in the session's own
	// network, on a goroutine of its own. ctx ends with the job. A Start waits for it.
	Listens func(ctx context.Context, j *Job, l sandbox.Listener)
}

// Info is the present state of a job.
type Info struct {
	ID       int
	Text     string
	Dir      string
	Terminal bool
	// Policy is the policy under which the job started, and Granted what its Holder added. Revoked
	// lists what was revoked from it since then.
	Policy  sandbox.Policy
	Granted []sandbox.Grant
	Revoked []sandbox.Revocation
	// Starting: Start has not returned, and more may be granted.
	Starting bool
	Started  time.Time
	// Printed is the length of the output so far in bytes, and Unread how many of them no
	// Read has returned.
	Printed, Unread int64
	// Running is false when all its processes are gone. Outcome then says how the command
	// ended, and Reported whether a Read or News has reported that.
	Running  bool
	Outcome  Outcome
	Reported bool
}

// Errors for a job that cannot be started.
var (
	ErrTooMany = fmt.Errorf("%d commands run in the background already: end one first", maxJobs)
	ErrClosing = errors.New("no command is started any more: codeagent is ending")
)

// Start starts b under p and reads as w says. If the command ends meanwhile,
// Reading.Running is false and there is no job. The end of ctx kills the command until
// Start returns, and has no effect afterwards.
func (l *Jobs) Start(ctx context.Context, p sandbox.Policy, b Background, w Wait) (*Job, JobOutput, error) {
	call, over := context.WithCancel(ctx)
	defer over()
	clock := newWallClock(max(w.Most, 1))
	defer clock.end()
	held := &callHolder{Holder: b.Holder, call: call}
	defer held.end()
	if b.Holder != nil {
		b.Holder = patientHolder{held, clock}
	}
	if listens := b.Listens; listens != nil {
		b.Listens = func(ctx context.Context, j *Job, l sandbox.Listener) {
			clock.pause()
			defer clock.resume()
			listens(ctx, j, l)
		}
	}
	s, err := l.begin(ctx, p, b, held)
	if err != nil {
		return nil, JobOutput{}, err
	}
	reading := s.read(ctx, w, clock)
	if ctx.Err() != nil && reading.Running {
		// The caller does not know its number yet and could not end it.
		s.end()
		rest := s.Read(context.WithoutCancel(ctx), Wait{})
		reading.Running, reading.Outcome, reading.Err = false, rest.Outcome, rest.Err
	}
	if reading.Running {
		l.tell()
	} else {
		l.forget(s)
	}
	return s, reading, nil
}

func (l *Jobs) begin(ctx context.Context, p sandbox.Policy, b Background, held *callHolder) (*Job, error) {
	id, err := l.enter()
	if err != nil {
		return nil, cannot("background", err)
	}
	defer l.starting.Done()
	b.By = fmt.Sprintf("job %d (%s)", id, short.Cut(b.Text, namedText))
	s, err := cmp.Or(b.In, l.runner).background(ctx, p, b, held, id, l.tell)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun--
	if err != nil {
		return nil, err
	}
	l.list = append(l.list, s)
	return s, nil
}

// enter reserves a number for a job that is about to start.
func (l *Jobs) enter() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, err := l.number()
	if err == nil {
		l.begun++
		l.starting.Add(1)
	}
	return id, err
}

// number gives the next job its number, if there may be one more; mu is held.
func (l *Jobs) number() (int, error) {
	switch {
	case l.closed:
		return 0, ErrClosing
	case l.running()+l.begun >= maxJobs:
		return 0, ErrTooMany
	}
	l.drop()
	l.last++
	return l.last, nil
}

// execution counts the running jobs; mu is held.
func (l *Jobs) running() int {
	n := 0
	for _, s := range l.list {
		if s.lives() {
			n++
		}
	}
	return n
}

// Running returns the number of running jobs.
func (l *Jobs) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running()
}

// drop forgets ended jobs beyond maxJobs, the oldest first; mu is held.
func (l *Jobs) drop() {
	ended := len(l.list) - l.running()
	l.list = slices.DeleteFunc(l.list, func(s *Job) bool {
		if ended < maxJobs || s.lives() {
			return false
		}
		ended--
		return true
	})
}

func (l *Jobs) forget(s *Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(o *Job) bool { return o == s })
}

// Find returns the job with that number, or nil.
func (l *Jobs) Find(id int) *Job {
	for _, s := range l.jobs() {
		if s.id == id {
			return s
		}
	}
	return nil
}

// List returns every running job, and the last that ended, by number.
func (l *Jobs) List() []Info {
	var out []Info
	for _, s := range l.jobs() {
		out = append(out, s.Info())
	}
	return out
}

func (l *Jobs) jobs() []*Job {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// Output returns the end of a job's output without marking it as read; nil if there is no
// job with that number.
func (l *Jobs) Output(id int) []byte {
	if s := l.Find(id); s != nil {
		return s.tail()
	}
	return nil
}

// Kill ends a job with everything it started, and returns when all processes are gone. It
// reports whether the job was running.
func (l *Jobs) Kill(id int) bool {
	s := l.Find(id)
	return s != nil && s.end()
}

// News returns, once each, the jobs that have ended, except those whose end a Read has
// reported.
func (l *Jobs) News() []Info {
	var out []Info
	for _, s := range l.jobs() {
		if s.news() {
			out = append(out, s.Info())
		}
	}
	return out
}

// Close ends every job, waits until all processes are gone, and returns those that were
// running. No job can be started afterwards.
func (l *Jobs) Close() []Info {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.starting.Wait()
	list := l.jobs()
	var killed []Info
	was := make([]bool, len(list))
	for i, s := range list { // stop all before waiting for the first
		was[i] = s.stop()
	}
	for i, s := range list {
		<-s.done
		if was[i] {
			killed = append(killed, s.Info())
		}
	}
	return killed
}
