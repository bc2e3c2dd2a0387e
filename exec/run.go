package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"codeagent/exec/verdict"
	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// Run runs one command under p and waits until all its processes are gone. A
// *sandbox.StartError means that the command did not run; any other error is what the
// backend could not restore afterwards. How the command ended, even by a kill, is in the
// Outcome. sink may be nil.
func (r *Runner) Run(ctx context.Context, p sandbox.Policy, c Command, sink Sink) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, cannot("start", err)
	}
	run, err := r.begin(ctx, p, c, sink)
	if err != nil {
		return Outcome{}, err
	}
	return run.end(ctx)
}

// execution is a command between its start and its end.
type execution struct {
	runner  *Runner
	policy  sandbox.Policy
	command Command
	start   time.Time
	life    context.CancelFunc // ends the backend's context
	clock   *wallClock
	cap     *capture        // nil in the foreground
	proc    sandbox.Process // set by commands.started
	// pending lists the revocations that are applied once the command has started; guarded by
	// commands.mu.
	pending []sandbox.Revocation
	// revoked lists everything that was revoked from the command; guarded by commands.mu.
	revoked []sandbox.Revocation
}

// begin starts c under p. Every begin needs an end.
func (r *Runner) begin(ctx context.Context, p sandbox.Policy, c Command, sink Sink) (*execution, error) {
	if r.options.apart {
		c.Draft, c.Looked, c.Idle = r.options.Draft, r.options.looked, r.options.idle
	}
	if c.Draft != nil {
		p = draftPolicy(p, hostfile.OS{})
	}
	backend, exact, err := r.resolve(p)
	if err == nil && c.Draft != nil {
		err = draftOn(backend)
	}
	if err != nil {
		return nil, err
	}
	cmd, err := r.prepare(p, c)
	if err != nil {
		return nil, err
	}
	defer cmd.Alive.Close()
	if r.options.Begins != nil && c.Draft == nil { // a draft changes no name on the host
		if err := r.options.Begins(p); err != nil {
			return nil, cannot("grants", err)
		}
	}
	run := &execution{runner: r, policy: p, command: c}
	if !c.Foreground {
		if run.cap, err = r.newCapture(p, c, sink); err != nil {
			return nil, cannot("output", err)
		}
		run.cap.hand(&cmd)
		if c.served != nil {
			cmd.Stdout = c.served
		}
	}
	run.start = time.Now()
	// The backend's context must outlive ctx by the grace period of stop.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	run.life, run.clock = func() { end(nil) }, newWallClock(wall(p, c))
	holder := c.Holder
	if holder != nil {
		holder = patientHolder{holder, run.clock}
	}
	started := within(ctx, wall(p, c), end)
	r.live.add(run)
	var proc sandbox.Process
	err = run.enter(ctx, func() (err error) {
		proc, err = backend.Start(life, exact, cmd, holder)
		return err
	})
	started()
	if err == nil {
		r.live.started(run, proc)
	} else {
		run.close()
		return nil, err
	}
	if run.cap != nil {
		run.cap.begin()
	}
	return run, nil
}

// enter has the command started, after its check. A command outside is started while the changes of
// others wait. For a confined one that would be a deadlock: its own first calls would wait too.
func (run *execution) enter(ctx context.Context, start func() error) (err error) {
	r, check := run.runner, run.command.Check
	r.options.Trees.begin(run)
	if check == nil {
		return start()
	}
	still := func(do func()) { do() }
	if b, ok := r.options.Backend.(sandbox.Stiller); ok {
		still = b.Still
	}
	still(func() {
		if err = check(); err != nil {
			err = cannot("check", err)
		} else if run.policy.Unconfined {
			err = start()
		}
	})
	if err == nil && !run.policy.Unconfined {
		err = start()
	}
	return err
}

// startPatience bounds a start, which normally takes milliseconds, so that a helper that
// was stopped (SIGSTOP) does not block codeagent for ever.
const startPatience = 30 * time.Second

// within calls end when a start exceeds limit or ctx ends first. The caller calls started
// when the start is over.
func within(ctx context.Context, limit time.Duration, end context.CancelCauseFunc) (started func()) {
	patience := startPatience
	if limit > 0 {
		patience = min(patience, limit)
	}
	unhook := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	late := time.AfterFunc(patience, func() { end(fmt.Errorf("it did not start within %s", patience)) })
	return func() {
		unhook()
		late.Stop()
	}
}

// end waits until the command is gone, at the latest when the clock or ctx ends it, and
// judges how it ended.
func (run *execution) end(ctx context.Context) (Outcome, error) {
	defer run.close()
	o := Outcome{Argv: run.command.Argv}
	err := run.runner.supervise(ctx, run.proc, run.clock, &o)
	if run.cap != nil {
		o.Output = run.cap.finish()
	}
	o.Duration = time.Since(run.start)
	var unstarted *sandbox.StartError
	if errors.As(err, &unstarted) {
		return o, err
	}
	if o.Trace = run.proc.Trace(); run.cap == nil {
		return o, err // its caller has the output, and judges it
	}
	o.Limit = Reached(run.policy.Limits, o)
	o.Verdict = Judge(run.policy, o, run.runner.options.Files, run.command.Dir)
	return o, err
}

func (run *execution) close() {
	run.runner.live.remove(run)
	run.runner.options.Trees.end(run)
	run.runner.unseen(run.policy, run.command.by())
	run.clock.end()
	run.life()
	if run.cap != nil {
		run.cap.close()
	}
}

// Judge returns the verdict on a command that ran in dir under p. A caller that changes the
// outcome's Output or Limit must call Judge again.
func Judge(p sandbox.Policy, o Outcome, files verdict.FileSystem, dir string) sandbox.Verdict {
	e := verdict.Evidence{
		Policy: p, Dir: dir, Argv: o.Argv, Status: o.Status,
		TimedOut: o.TimedOut, Interrupted: o.Interrupted, Limit: o.Limit, Trace: o.Trace,
	}
	e.Home, _ = os.UserHomeDir()
	e.Trace.Denials = slices.Clone(e.Trace.Denials)
	named.Mark(e.Trace.Denials, e.Argv, dir, e.Home, files)
	if o.Failed() || len(e.Trace.Denials) > 0 {
		e.Output = strings.Split(plainQuotes.Replace(Shown(o.Output.Text())), "\n")
	}
	return verdict.Judge(e, files)
}

// plainQuotes replaces typographic quotation marks by ASCII ones.
var plainQuotes = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "`", "'")
