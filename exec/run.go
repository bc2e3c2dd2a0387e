package exec

import (
	"context"
	"errors"
	"time"

	"codeagent/sandbox"
)

// Run runs one command under p and waits until it and everything it started are
// gone. The error is a *sandbox.StartError when the command did not run, and
// otherwise what the backend could not set right after it; how the command
// ended, even by a kill, is the Outcome's. sink may be nil.
func (r *Runner) Run(ctx context.Context, p sandbox.Policy, c Command, sink Sink) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, cannot("start", err)
	}
	backend, err := r.backend(p)
	if err != nil {
		return Outcome{}, err
	}
	cmd, err := r.prepare(p, c)
	if err != nil {
		return Outcome{}, err
	}
	var cap *capture
	if !c.Foreground {
		if cap, err = r.newCapture(p, sink); err != nil {
			return Outcome{}, cannot("output", err)
		}
		defer cap.close()
		cmd.Stdout, cmd.Stderr = cap.pipes[0].write, cap.pipes[1].write
	}
	start := time.Now()
	// The backend's context only ends after the grace of stop, so it is not ctx.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	clock := newWallClock(wall(p, c))
	defer clock.end()
	holder := c.Holder
	if _, quick := holder.(sandbox.Learner); holder != nil && !quick {
		holder = patientHolder{holder, clock}
	}
	proc, err := backend.Start(life, p, cmd, holder)
	if err != nil {
		return Outcome{}, err
	}
	if cap != nil {
		cap.begin()
	}
	o := Outcome{Argv: c.Argv}
	err = r.supervise(ctx, proc, clock, &o)
	if cap != nil {
		o.Output = cap.finish()
	}
	o.Duration = time.Since(start)
	var unstarted *sandbox.StartError
	if errors.As(err, &unstarted) {
		return o, err
	}
	o.Trace = proc.Trace()
	o.Limit = Reached(p.Limits, o)
	o.Verdict = Classify(p, o, r.options.Resolver, c.Dir)
	return o, err
}
