package exec

import (
	"bytes"
	"context"
	"time"

	"codeagent/sandbox"
)

// Wait says when a read ends, apart from the end of the command: at the first of the
// conditions that are set.
type Wait struct {
	// Most is the longest time the read takes.
	Most time.Duration
	// Quiet ends the read when there is output and nothing more came for that long. It does
	// not apply while a call of the command is held, and just after.
	Quiet time.Duration
	// Text ends the read when it appears in the output that is read.
	Text string
	// Sink, if set, receives output while the read waits.
	Sink Sink
}

// JobOutput is what a job printed since the last reading.
type JobOutput struct {
	// Output is the new output only: Total counts it. Spill has all output of the job.
	Output Output
	// Refused is what the sandbox denied since the last reading, as far as that is known
	// while the command runs. The Outcome has all of it.
	Refused []sandbox.Denial
	// Found: Wait.Text appeared.
	Found   bool
	Running bool
	// Outcome says how the command ended, and Err what could not be restored afterwards; both
	// are set when it no longer runs.
	Outcome Outcome
	Err     error
}

// Read waits as w says and returns what was printed since the last read. It returns at
// once when ctx ends, or when Most is 0.
func (j *Job) Read(ctx context.Context, w Wait) JobOutput {
	clock := newWallClock(max(w.Most, 1))
	defer clock.end()
	return j.read(ctx, w, clock)
}

func (j *Job) read(ctx context.Context, w Wait, clock *wallClock) JobOutput {
	j.mu.Lock()
	r := reader{job: j, wait: w, base: j.at, at: j.at, rest: time.NewTimer(time.Hour)}
	j.mu.Unlock()
	r.rest.Stop() // starts with the first output
	if w.Sink != nil {
		r.feed = newFeed(w.Sink)
		defer r.feed.finish()
	}
	r.follow(ctx, clock)
	return j.taken(r.found)
}

// reader is a read that waits.
type reader struct {
	job   *Job
	wait  Wait
	base  int64 // the offset where the read began
	at    int64 // the offset up to which output was examined
	found bool
	rest  *time.Timer // runs out after Wait.Quiet without output
	feed  *feed       // sends new output to the sink; nil without a sink
}

// follow waits until the read is over.
func (r *reader) follow(ctx context.Context, clock *wallClock) {
	defer r.rest.Stop()
	for {
		news, over := r.look()
		if over {
			return
		}
		select {
		case <-news:
		case <-r.rest.C:
			rest := r.wait.Quiet - clock.ran()
			if rest <= 0 {
				return
			}
			r.rest.Reset(rest)
		case <-clock.expired():
			return
		case <-ctx.Done():
			return
		}
	}
}

// look examines what came since the last look. It returns a channel that is closed at
// the next change, and whether the read is over.
func (r *reader) look() (news <-chan struct{}, over bool) {
	j := r.job
	j.mu.Lock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	news, over = j.changed, j.ended
	from := max(r.at, j.window.start)
	data := bytes.Clone(j.window.from(from))
	before := j.window.from(max(r.base, from-int64(len(r.wait.Text))))
	r.found = r.found || r.wait.Text != "" && bytes.Contains(before, []byte(r.wait.Text))
	r.at = j.window.end()
	asking := j.hearing > 0 // what is answered belongs to the result
	j.mu.Unlock()
	if len(data) > 0 && r.feed != nil {
		r.feed.put(from-r.base, data)
	}
	if r.wait.Quiet > 0 && len(data) > 0 {
		r.rest.Reset(r.wait.Quiet)
	}
	return news, over || r.found && !asking
}

// refused returns what was denied since its last call; mu is held.
func (j *Job) refused() []sandbox.Denial {
	if j.ended {
		return nil
	}
	var news []sandbox.Denial
	last := j.refusal
	for _, d := range j.running.proc.Refused() {
		if d.Order > j.refusal && !d.Moot {
			news = append(news, d)
			last = max(last, d.Order)
		}
	}
	j.refusal = last
	return news
}

// taken returns the unread output and marks it as read.
func (j *Job) taken(found bool) JobOutput {
	j.mu.Lock()
	data := j.window.from(j.at)
	end := j.window.end()
	o := Output{Total: end - j.at}
	switch {
	case int64(len(data)) == o.Total && len(data) <= 2*keepBytes:
		o.Head = bytes.Clone(data)
	case int64(len(data)) == o.Total:
		o.Head = bytes.Clone(data[:keepBytes])
		fallthrough
	default:
		o.Tail = bytes.Clone(data[len(data)-keepBytes:])
	}
	o.Skipped = o.Total - int64(len(o.Head)) - int64(len(o.Tail))
	j.at = end
	r := JobOutput{Found: found, Refused: j.refused(), Running: !j.ended, Outcome: j.outcome, Err: j.err}
	if j.reported {
		r.Outcome.Changed = sandbox.Changes{} // reported before
	}
	j.reported = j.reported || j.ended
	j.mu.Unlock()
	if o.Skipped > 0 {
		o.at(j.running.cap.spilled())
		if o.Spilled >= end { // all of it
			o.Spilled = o.Total
		}
	}
	r.Output = o
	return r
}
