package exec

import (
	"bytes"
	"context"
	"time"

	"codeagent/sandbox"
)

// windowBytes is how much of a job's output stays in memory at least.
const windowBytes = 256 << 10

// window is the end of an output; offsets count from its beginning.
type window struct {
	data  []byte
	start int64 // the offset of data[0]
}

func (w *window) end() int64 { return w.start + int64(len(w.data)) }

// add appends data. What is kept is moved once for each windowBytes that come,
// so that a byte costs the same however much there was.
func (w *window) add(data []byte) {
	w.data = append(w.data, data...)
	if cut := len(w.data) - windowBytes; cut > windowBytes {
		w.data = append(w.data[:0], w.data[cut:]...)
		w.start += int64(cut)
	}
}

// from is what is kept from offset on. It is valid until the next add.
func (w *window) from(offset int64) []byte {
	return w.data[max(offset-w.start, 0):]
}

// Wait says when a read is over, besides the end of the command: the first of
// what is set here.
type Wait struct {
	// Most is the longest it takes.
	Most time.Duration
	// Quiet: there is something to read, and nothing came for that long. While a
	// call of the command waits for an answer, and just after, it cannot.
	Quiet time.Duration
	// Text has appeared in what is read.
	Text string
	// Sink receives what comes while the read waits; it may be nil.
	Sink Sink
}

// Reading is what a job printed since the last.
type Reading struct {
	// Output holds that alone: Total counts it, and Spill has all there ever was.
	Output Output
	// Refused is what the sandbox has refused since the last reading, as far as that
	// can be known while the command runs; the Outcome has all of it.
	Refused []sandbox.Denial
	// Found: Wait.Text has appeared.
	Found   bool
	Running bool
	// Outcome says how it went, and Err what could not be set right after it, when
	// it runs no more.
	Outcome Outcome
	Err     error
}

// Read waits as w says and takes what was printed since the last read. It
// returns at once when ctx ends, or where Most is 0.
func (j *Job) Read(ctx context.Context, w Wait) Reading {
	clock := newWallClock(max(w.Most, 1))
	defer clock.end()
	return j.read(ctx, w, clock)
}

func (j *Job) read(ctx context.Context, w Wait, clock *wallClock) Reading {
	j.mu.Lock()
	r := reader{job: j, wait: w, base: j.at, at: j.at, rest: time.NewTimer(time.Hour)}
	j.mu.Unlock()
	r.rest.Stop() // until there is something to be quiet after
	if w.Sink != nil {
		r.feed = newFeed(w.Sink)
		defer r.feed.finish()
	}
	r.follow(ctx, clock)
	return j.taken(r.found)
}

// reader is one read that waits.
type reader struct {
	job   *Job
	wait  Wait
	base  int64 // where the read began
	at    int64 // up to where it was looked at
	found bool
	rest  *time.Timer // runs out when it was quiet for long enough
	feed  *feed       // of what comes; nil without a sink
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

// look takes in what came since the last look. It returns what is closed with
// the next news, and whether the read is over.
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
	j.mu.Unlock()
	if len(data) > 0 && r.feed != nil {
		r.feed.put(from-r.base, data)
	}
	if r.wait.Quiet > 0 && len(data) > 0 {
		r.rest.Reset(r.wait.Quiet)
	}
	return news, over || r.found
}

// refused is what was refused since it was last asked for; mu is held.
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

// taken takes what is there to be read.
func (j *Job) taken(found bool) Reading {
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
	r := Reading{Found: found, Refused: j.refused(), Running: !j.ended, Outcome: j.outcome, Err: j.err}
	if j.reported {
		r.Outcome.Changed = sandbox.Changes{} // it was reported, and is not reported again
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
