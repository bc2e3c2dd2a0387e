// Package exec starts a command under a sandbox backend, streams and bounds its output,
// enforces its wall limit, kills everything it started, and has exec/verdict judge whether
// the sandbox denied it something. It starts programs only through a resolved.Backend, and
// writes only the files of long outputs. Start reading at run.go; jobs.go has the
// commands that run in the background, serve.go a program that runs on and answers calls,
// worker.go starts the file worker.
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"codeagent/exec/verdict"
	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Wall limits of a command.
const (
	DefaultTimeout = 120 * time.Second
	MaxTimeout     = time.Hour
)

// Options are what a Runner works with.
type Options struct {
	// Backend confines commands: linux, seatbelt, or none.
	Backend resolved.Backend
	// None runs commands whose policy is unconfined; usually Plain.
	None resolved.Backend
	// SpillDir is the folder for output that is too long for memory. It is created with
	// mode 0700. If empty, what does not fit is counted and discarded.
	SpillDir string
	// SpillAll bounds, in bytes, the files in SpillDir, of all runners; zero means 1 GiB.
	SpillAll int64
	// Grace is the time between the request to stop and the kill; zero means 200 ms.
	Grace time.Duration
	// Environ is codeagent's own environment; the policy selects variables from it.
	Environ []string
	// Files gives verdicts access to file metadata; usually OS.
	Files verdict.FileSystem
	// Evidence is the level for commands that do not set their own.
	Evidence sandbox.EvidenceLevel
	// Trees has the commands of all runners of a session; nil: of this one alone.
	Trees *Trees
	// Ground returns where commands may change names. Nothing there is in the environment of a
	// command that was allowed to run outside the sandbox. Nil: commands are not confined.
	Ground func() hostfile.Ground
	// Begins, if set, is called with the policy of each command before it starts. An error
	// prevents the start.
	Begins func(sandbox.Policy) error
	// Versions is as in sandbox.Command.
	Versions func(top, name string) sandbox.Versions
	// Draft, if set, is what the backend works on; its changes are noted there. Nothing runs outside the sandbox then,
	// since that would change the files themselves.
	Draft Draft
	// apart: what runs on Draft runs without a network too. looked and idle are as in Command, for all that runs.
	apart  bool
	looked func(path string, opened bool)
	idle   bool
	// Alive, if set, returns a file for sandbox.Command.Alive, which is closed once the command runs; nil: none.
	Alive func() *os.File
}

// Runner runs commands. It may be used from several goroutines.
type Runner struct {
	options Options
	buffers sync.Pool
	keeping sync.Map // results of Observes, by Policy.Unconfined
	spills  *spillRoom
	live    *commands
}

// New returns a Runner.
func New(o Options) *Runner {
	if o.Grace == 0 {
		o.Grace = termGrace
	}
	if o.Trees == nil {
		o.Trees = new(Trees)
	}
	return newRunner(o, newSpillRoom(o), new(commands))
}

func newRunner(o Options, spills *spillRoom, live *commands) *Runner {
	r := &Runner{options: o, spills: spills, live: live}
	r.buffers.New = func() any { return new([copyBytes]byte) }
	return r
}

// In returns a runner that confines commands by another backend, and shares all else with r: what Revoke takes back, it
// takes from the commands of both.
func (r *Runner) In(b resolved.Backend) *Runner {
	o := r.options
	o.Backend = b
	return newRunner(o, r.spills, r.live)
}

// Command is one command to run.
type Command struct {
	// Argv is the program and its arguments. Argv[0] is an absolute path, a path relative
	// to Dir, or a name that is looked up in the command's PATH.
	Argv []string
	// Dir is the working directory, absolute. It gives no permission.
	Dir string
	// Timeout is the wall limit: 0 means DefaultTimeout, and MaxTimeout is the most. A
	// shorter limit in the policy applies as well.
	Timeout time.Duration
	// Holder answers held calls. If nil, refused calls fail at once.
	Holder sandbox.Holder
	// Evidence and Observer are as in sandbox.Command.
	Evidence sandbox.EvidenceLevel
	Observer sandbox.ChangeObserver
	// By names the command in questions about what it changes: "the server docs".
	By string
	// Check, if set, is called right before the start. An error prevents it. Meanwhile the changes of
	// other commands wait, where the backend can do that; for a command outside, until it is started.
	Check func() error
	// Learn is as in sandbox.Command.
	Learn func(sandbox.Denial) (sandbox.Grant, bool)
	// Draft is as in sandbox.Command. The command then runs without a network.
	Draft Draft
	// Looked is as in sandbox.Command.
	Looked func(path string, opened bool)
	// Idle is as in sandbox.Command.
	Idle bool
	// Foreground passes the terminal and the three files below straight through (for
	// `codeagent sandbox`). Nothing is captured then, and a Timeout of 0 means no limit.
	Foreground bool
	// Terminal gives the command a terminal of its own; only for Jobs.
	Terminal bool
	// background: see Jobs.
	background bool
	// listens receives the ports on which it begins to listen.
	listens func(sandbox.Listener)
	// served is the stdout of a Service, which is not captured. Of such a program refused reads are seen.
	served *os.File
	// Stdin is /dev/null when nil. Stdout and Stderr apply only with Foreground.
	Stdin, Stdout, Stderr *os.File
	// Apart gives stdout and stderr a pipe each, for a caller that parses stdout. Each stream
	// is in order; between the two the order is that of reading.
	Apart bool
	// ErrSink, with Apart, receives what stderr prints; the sink then gets stdout alone. Each counts the bytes of its stream.
	ErrSink Sink
	// Tap, if set, receives all of stdout as it is read, and must not wait; not for Jobs.
	// The last call comes before Run returns.
	Tap func(data []byte)
}

// Sink receives output while it arrives, with pieces left out if there is too much (see
// feed). offset counts the bytes of both streams before data: a gap means that output was
// left out. The sink may keep data. Calls are sequential, the last before Run returns.
type Sink func(offset int64, data []byte)

// Outcome describes how a command ended.
type Outcome struct {
	Status sandbox.Status
	// TimedOut: the wall limit, or the context's deadline, ended it.
	// Interrupted: the context was cancelled. Status then only shows the signal of the kill.
	TimedOut, Interrupted bool
	// Limit is the limit that the command reached, or "": see Reached.
	Limit    sandbox.Limit
	Duration time.Duration
	// Argv is the command that ran.
	Argv   []string
	Output Output
	// Trace is what the backend observed.
	Trace   sandbox.Trace
	Verdict sandbox.Verdict
	// Changed is what a background command changed, as returned by Background.Ended.
	Changed sandbox.Changes
}

// Failed reports whether the command ended in any way other than exit status 0.
func (o Outcome) Failed() bool {
	return o.TimedOut || o.Interrupted || o.Status.Signal != 0 || o.Status.Exit != 0
}

// ExitStatus is the status with which a command that stands for this one ends: 124 for a time limit, as in
// timeout(1), and 128 and the number for a signal, as in shells.
func (o Outcome) ExitStatus() int {
	switch {
	case o.TimedOut:
		return 124
	case o.Status.Signal != 0:
		return 128 + o.Status.Signal
	}
	return o.Status.Exit
}

// SignalName names the signal that ended the command ("SIGKILL"), or is "".
func (o Outcome) SignalName() string {
	n := o.Status.Signal
	if n == 0 {
		return ""
	}
	return cmp.Or(unix.SignalName(syscall.Signal(n)), fmt.Sprintf("signal %d", n))
}

// Enforcement returns what is enforced for p on this machine. An error means that
// no command may run under p here.
func (r *Runner) Enforcement(p sandbox.Policy) (sandbox.Enforcement, error) {
	b, exact, err := r.resolve(p)
	if err != nil {
		return sandbox.Enforcement{}, err
	}
	return b.Enforcement(exact)
}

// Observes reports whether Command.Observer is called under p. The backend's answer for one
// policy holds for all, so it is asked once and cached.
func (r *Runner) Observes(p sandbox.Policy) bool {
	if known, ok := r.keeping.Load(p.Unconfined); ok {
		return known.(bool)
	}
	e, err := r.Enforcement(p)
	if err != nil {
		return false // another policy may give an answer to cache
	}
	r.keeping.Store(p.Unconfined, e.Observes)
	return e.Observes
}

// Resolve makes p exact for this machine, as a command under p would get it.
func (r *Runner) Resolve(p sandbox.Policy) (resolved.Policy, error) {
	_, exact, err := r.resolve(p)
	return exact, err
}

// resolve chooses the backend for p, and makes p exact for it.
func (r *Runner) resolve(p sandbox.Policy) (resolved.Backend, resolved.Policy, error) {
	b := r.options.Backend
	if p.Unconfined {
		b = r.options.None
	}
	if p.Unconfined && r.options.Draft != nil {
		return nil, resolved.Policy{}, cannot("draft", errors.New("the session works on a draft, and a command outside the sandbox would change the files themselves"))
	}
	if b == nil {
		return nil, resolved.Policy{}, cannot("backend", errors.New("no sandbox backend for this policy"))
	}
	exact, err := resolved.On(hostfile.OS{}, p)
	if err != nil {
		return nil, resolved.Policy{}, cannot("policy", err)
	}
	return b, exact, nil
}

func cannot(stage string, err error) error {
	return &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: stage, Err: err}
}

// prepare converts a Command into the backend's.
func (r *Runner) prepare(p sandbox.Policy, c Command) (sandbox.Command, error) {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return sandbox.Command{}, cannot("command", errors.New("no program is named"))
	case !filepath.IsAbs(c.Dir):
		return sandbox.Command{}, cannot("command", fmt.Errorf("working directory %q is not absolute", c.Dir))
	case len(p.Workdirs) > 0 && !sandbox.CoveredBy(p.Workdirs, r.real(c.Dir)):
		return sandbox.Command{}, cannot("command", fmt.Errorf("sandbox.allowed_workdirs does not list %q: start the command in another folder", c.Dir))
	case slices.ContainsFunc(c.Argv, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return sandbox.Command{}, cannot("command", errors.New("an argument contains a NUL byte"))
	}
	path := c.Argv[0]
	if strings.Contains(path, "/") && !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	draft, changed := r.changes(p, c.by())
	if c.Draft != nil {
		draft, changed = c.Draft, c.Draft.Touch
	}
	return sandbox.Command{
		Named: r.temporary(p, c), Draft: draft, Idle: c.Idle, Alive: r.alive(), Path: path, Args: c.Argv, Dir: c.Dir, Env: r.environ(p, c),
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Foreground: c.Foreground, Terminal: c.Terminal,
		Evidence: cmp.Or(c.Evidence, r.options.Evidence), Reads: c.served != nil, Observer: c.Observer, Learn: c.Learn,
		Changed: changed, Looked: c.Looked, Versions: r.options.Versions, Listens: c.listens,
	}, nil
}

// real is dir without links. One that cannot be followed is in no folder.
func (r *Runner) real(dir string) string {
	real, err := sandbox.Canonical(r.options.Files, "/", dir)
	if err != nil {
		return "/"
	}
	return real
}

// changes returns what a command's changes are reported to, and the draft that they go to; nil: none.
func (r *Runner) changes(p sandbox.Policy, by string) (sandbox.Draft, func(path string)) {
	changed, on := r.options.Trees.changes(p, by), r.options.Draft
	if on == nil {
		return nil, changed
	}
	return on, func(path string) {
		on.Touch(path)
		changed(path)
	}
}

// alive is Options.Alive, which the caller closes.
func (r *Runner) alive() *os.File {
	if r.options.Alive == nil {
		return nil
	}
	return r.options.Alive()
}

// temporary returns what the command names below the shared folders for temporary files.
func (r *Runner) temporary(p sandbox.Policy, c Command) []string {
	tmp := func(arg string) bool { return strings.Contains(arg, "tmp") }
	if p.Temp == "" || r.options.Files == nil || !slices.ContainsFunc(c.Argv, tmp) {
		return nil
	}
	home, _ := os.UserHomeDir()
	paths := named.Paths(c.Argv, c.Dir, home, r.options.Files)
	return slices.DeleteFunc(paths, func(path string) bool { return !sandbox.CoveredBy(sandbox.SharedTempFolders, path) })
}

// environ returns the environment that the policy allows, with the variables that depend
// on where the command runs.
//
// Threat: a command puts a program into a cache, a temporary folder or a folder of PATH, and a
// command outside the sandbox runs it. So a command outside gets the user's own environment,
// without what leads to places where commands may write.
func (r *Runner) environ(p sandbox.Policy, c Command) []string {
	set := map[string]string{"PWD": c.Dir}
	if c.Terminal {
		set["TERM"] = "dumb"
	}
	if p.Temp != "" {
		set["TMPDIR"] = p.Temp
	}
	maps.Copy(set, p.Env.Set)
	p.Env.Set = set
	if !p.Unconfined || r.options.Ground == nil {
		return p.Env.Apply(r.options.Environ)
	}
	ground := r.options.Ground()
	maps.DeleteFunc(set, func(name, value string) bool {
		return name == "PWD" || len(ground.Environ([]string{name + "=" + value})) == 0
	})
	p.Env.Exclude = append(slices.Clone(p.Env.Exclude), "PWD")
	return append(ground.Environ(p.Env.Apply(r.options.Environ)), "PWD="+c.Dir)
}

// OS is the verdict.FileSystem of the host.
type OS struct{ hostfile.OS }

// wall returns the time a command may take; 0 means no limit.
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

// Grace periods. A stopped command gets a moment to tidy up; then it is killed.
const (
	termGrace = 200 * time.Millisecond
	// killWait is how long to wait for a killed process that is blocked in the kernel, for
	// example by a hung network file system.
	killWait = 10 * time.Second
)

// supervise waits for proc, and ends it when the clock runs out or ctx ends.
func (r *Runner) supervise(ctx context.Context, proc sandbox.Process, clock *wallClock, o *Outcome) error {
	var status sandbox.Status
	var err error
	done := make(chan struct{})
	go func() { // ends with the process, at the latest when the process is killed below
		defer close(done)
		status, err = proc.Wait()
	}()
	select {
	case <-done:
	case <-clock.expired():
		o.TimedOut = true
	case <-ctx.Done():
		o.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded)
		o.Interrupted = !o.TimedOut
	}
	if (o.TimedOut || o.Interrupted) && !r.stop(proc, done) {
		o.Status = sandbox.Status{Exit: -1, Signal: sigKill}
		return nil
	}
	o.Status = status
	return err
}

// stop signals the command to end, then kills it with everything it started. It reports whether
// the command is done.
func (r *Runner) stop(proc sandbox.Process, done <-chan struct{}) bool {
	within := func(patience time.Duration) bool {
		select {
		case <-done:
			return true
		case <-time.After(patience):
			return false
		}
	}
	if proc.Signal(sigTerm) == nil && within(r.options.Grace) {
		return true
	}
	proc.Kill()
	return within(killWait)
}

// Signal numbers, the same on every system.
const (
	sigInt  = 2
	sigKill = 9
	sigTerm = 15
)
