// Package exec starts a command under a sandbox backend, streams and bounds its output,
// enforces its wall limit, kills all it started, and has exec/verdict judge whether the
// sandbox refused it something. It starts programs through a sandbox.Backend only, and
// writes nothing but the files of long outputs. Start reading at run.go; jobs.go has the
// commands that run in the background, worker.go starts the file worker.
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/exec/verdict"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// Wall limits of a command.
const (
	DefaultTimeout = 120 * time.Second
	MaxTimeout     = time.Hour
)

// Options are what a Runner works with.
type Options struct {
	// Backend confines commands: linux, seatbelt, or none.
	Backend sandbox.Backend
	// None runs what a policy leaves unconfined, usually Plain.
	None sandbox.Backend
	// SpillDir is where output goes that is too long for memory; it is created
	// with mode 0700. Empty: what does not fit is counted and lost.
	SpillDir string
	// SpillSession and SpillAll bound, in bytes, what lies there of this Runner and of
	// all; zero means 256 MiB and 1 GiB.
	SpillSession, SpillAll int64
	// Grace is what a command that is stopped gets to tidy up; zero means 200 ms.
	Grace time.Duration
	// Environ is codeagent's own environment, from which a policy takes.
	Environ []string
	// Files is what verdicts look at paths with, usually OS.
	Files verdict.FileSystem
	// Evidence is the level of commands that name none.
	Evidence sandbox.EvidenceLevel
	// Begins is called with the policy of each command before it starts; an error keeps it
	// from starting. It may be nil.
	Begins func(sandbox.Policy) error
}

// Runner runs commands. It may be used from several goroutines.
type Runner struct {
	options Options
	buffers sync.Pool
	keeping sync.Map // what Observes said, by Policy.Unconfined
	spills  *spillRoom
}

// New returns a Runner.
func New(o Options) *Runner {
	if o.Grace == 0 {
		o.Grace = termGrace
	}
	r := &Runner{options: o, spills: newSpillRoom(o)}
	r.buffers.New = func() any { return new([copyBytes]byte) }
	return r
}

// Command is one command to run.
type Command struct {
	// Argv is the whole argv. Argv[0] is an absolute path, a path relative to
	// Dir, or a name that is looked up in the command's PATH.
	Argv []string
	// Dir is the working directory, absolute. It grants nothing.
	Dir string
	// Timeout is the wall limit: 0 is DefaultTimeout, MaxTimeout the most. A
	// shorter one in the policy's limits holds as well.
	Timeout time.Duration
	// Holder answers for refused calls while they wait; nil: nothing is held.
	Holder sandbox.Holder
	// Evidence and Observer are as in sandbox.Command.
	Evidence sandbox.EvidenceLevel
	Observer sandbox.ChangeObserver
	// Learn is as in sandbox.Command.
	Learn func(sandbox.Denial) (sandbox.Grant, bool)
	// Foreground hands the terminal and the three files below straight through
	// (for `codeagent sandbox`); then nothing is captured, and 0 is no limit.
	Foreground bool
	// Terminal gives the command a terminal of its own; for Jobs alone.
	Terminal bool
	// background: see Jobs.
	background bool
	// Stdin is /dev/null when nil. Stdout and Stderr are for Foreground alone.
	Stdin, Stdout, Stderr *os.File
	// Apart gives stdout and stderr a pipe each, for a caller that reads what a program of
	// its own answers. Each stream then comes in order, both together as they were read.
	Apart bool
	// Tap receives all of stdout as it is read, nothing left out, and must not wait; for
	// Run alone. The last call comes before Run returns. nil: nobody receives it.
	Tap func(data []byte)
}

// Sink receives output while it comes, thinned (see feed). offset counts all output of
// the command before data, both streams together: a gap is output that was left out.
// data is the sink's to keep. Calls come one at a time, the last before Run returns.
type Sink func(offset int64, data []byte)

// Outcome is how a command ended.
type Outcome struct {
	Status sandbox.Status
	// TimedOut: the wall limit, or the context's deadline, ended it.
	// Interrupted: the context was cancelled. Status then says what the kill
	// looked like and means nothing by itself.
	TimedOut, Interrupted bool
	// Limit is the limit it ran into, "" when there was none: see Reached.
	Limit    sandbox.Limit
	Duration time.Duration
	// Argv is what was run.
	Argv   []string
	Output Output
	// Trace is what the backend itself saw.
	Trace   sandbox.Trace
	Verdict sandbox.Verdict
	// Changed is what a background command changed, as its Background.Ended says.
	Changed sandbox.Changes
}

// Failed reports whether the command ended in any other way than exit status 0.
func (o Outcome) Failed() bool {
	return o.TimedOut || o.Interrupted || o.Status.Signal != 0 || o.Status.Exit != 0
}

// Enforcement says what is enforced for p on this machine; an error means that
// nothing may run under p here.
func (r *Runner) Enforcement(p sandbox.Policy) (sandbox.Enforcement, error) {
	b, err := r.backend(p)
	if err != nil {
		return sandbox.Enforcement{}, err
	}
	return b.Enforcement(p)
}

// Observes reports whether Command.Observer is called under p. What its backend says of
// one policy holds for all, and each command asks.
func (r *Runner) Observes(p sandbox.Policy) bool {
	if known, ok := r.keeping.Load(p.Unconfined); ok {
		return known.(bool)
	}
	e, err := r.Enforcement(p)
	if err != nil {
		return false // another policy may be held
	}
	r.keeping.Store(p.Unconfined, e.Observes)
	return e.Observes
}

var errNoBackend = errors.New("no sandbox backend for this policy")

// backend picks who runs commands under p.
func (r *Runner) backend(p sandbox.Policy) (sandbox.Backend, error) {
	b := r.options.Backend
	if p.Unconfined {
		b = r.options.None
	}
	if b == nil {
		return nil, cannot("backend", errNoBackend)
	}
	return b, nil
}

func cannot(stage string, err error) error {
	return &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: stage, Err: err}
}

// prepare makes the backend's command from ours.
func (r *Runner) prepare(p sandbox.Policy, c Command) (sandbox.Command, error) {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return sandbox.Command{}, cannot("command", errors.New("no program is named"))
	case !filepath.IsAbs(c.Dir):
		return sandbox.Command{}, cannot("command", fmt.Errorf("working directory %q is not absolute", c.Dir))
	case slices.ContainsFunc(c.Argv, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return sandbox.Command{}, cannot("command", errors.New("an argument contains a NUL byte"))
	}
	path := c.Argv[0]
	if strings.Contains(path, "/") && !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	return sandbox.Command{
		Path: path, Args: c.Argv, Dir: c.Dir, Env: r.environ(p, c),
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Foreground: c.Foreground, Terminal: c.Terminal,
		Evidence: cmp.Or(c.Evidence, r.options.Evidence), Observer: c.Observer, Learn: c.Learn,
	}, nil
}

// environ is the environment by policy, with the variables that depend on where
// the command runs.
func (r *Runner) environ(p sandbox.Policy, c Command) []string {
	env := p.Env.Apply(r.options.Environ)
	env = setenv(env, p.Env.Set, "PWD", c.Dir)
	if c.Terminal {
		env = setenv(env, p.Env.Set, "TERM", "dumb")
	}
	if p.Temp != "" {
		env = setenv(env, p.Env.Set, "TMPDIR", p.Temp)
	}
	return env
}

// setenv replaces one variable unless the policy sets it.
func setenv(env []string, set map[string]string, name, value string) []string {
	if _, ok := set[name]; ok {
		return env
	}
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	return append(env, name+"="+value)
}

// OS is the verdict.FileSystem that looks at the real file system.
type OS struct{ hostfile.OS }

// wall is the time a command may take; 0 is no limit.
func wall(p sandbox.Policy, c Command) time.Duration {
	most, unsaid := MaxTimeout, DefaultTimeout
	if c.background {
		most = MaxBackground
	}
	if c.background || c.Foreground {
		unsaid = 0
	}
	limit := min(c.Timeout, most)
	if limit <= 0 {
		limit = unsaid
	}
	if policy := time.Duration(p.Limits.WallMillis) * time.Millisecond; policy > 0 && (limit <= 0 || policy < limit) {
		limit = policy
	}
	return max(limit, 0)
}

// ended is what waiting for a process gave.
type ended struct {
	status sandbox.Status
	err    error
}

// Grace periods. A command that is stopped gets a moment to tidy up; the kill
// that follows asks nobody.
const (
	termGrace = 200 * time.Millisecond
	// killWait is how long a killed process may stay in the kernel (a hung
	// network file system) before it is left to itself.
	killWait = 10 * time.Second
)

// supervise waits for proc, and ends it when the clock runs out or ctx ends.
func (r *Runner) supervise(ctx context.Context, proc sandbox.Process, clock *wallClock, o *Outcome) error {
	done := make(chan ended, 1)
	go func() { // ends with the process, at the latest when it is killed below
		status, err := proc.Wait()
		done <- ended{status, err}
	}()
	select {
	case e := <-done:
		o.Status = e.status
		return e.err
	case <-clock.expired():
		o.TimedOut = true
	case <-ctx.Done():
		o.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
		o.Interrupted = !o.TimedOut
	}
	e := r.stop(proc, done)
	o.Status = e.status
	return e.err
}

// stop asks the command to end, and then ends it with all it started.
func (r *Runner) stop(proc sandbox.Process, done <-chan ended) ended {
	if proc.Signal(sigTerm) == nil {
		select {
		case e := <-done:
			return e
		case <-time.After(r.options.Grace):
		}
	}
	proc.Kill()
	select {
	case e := <-done:
		return e
	case <-time.After(killWait):
		return ended{status: sandbox.Status{Exit: -1, Signal: sigKill}}
	}
}

// Signal numbers, the same on every system.
const (
	sigInt  = 2
	sigKill = 9
	sigTerm = 15
)
