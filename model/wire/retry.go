package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"codeagent/internal/short"
	"codeagent/model"
)

// Retry is the policy for repeating a request. The zero value is the default policy.
type Retry struct {
	// Attempts allowed in all; 1: no retry; 0: limited by Patience. Answers that broke off
	// after they had begun, which are paid for, are tried 5 times at most.
	Attempts int
	// Base is the first wait. It doubles each time up to Max, and each wait is multiplied by a
	// random factor between 0.5 and 1; 0: 500 ms and 20 s.
	Base, Max time.Duration
	// Patience bounds the sum of all waits, and so the longest wait that a provider may
	// ask for; 0: 2 min, enough for a server or its proxy to restart.
	Patience time.Duration
	// Total bounds the time lost: waits, and attempts that returned nothing; 0: 15 min.
	Total time.Duration
	// Rand gives the random factor, in [0,1); nil: math/rand.
	Rand func() float64
	// Sleep waits, or returns the context's error; nil: a timer.
	Sleep func(context.Context, time.Duration) error
}

// absentAttempts is how often a server on this machine is tried where nothing listens: a restart takes that
// long, and otherwise the person who started it, or forgot to, is to know at once.
const absentAttempts = 3

// fewAttempts is how often a slow or costly request is tried, whatever Patience allows.
const fewAttempts = 5

func (r Retry) withDefaults() Retry {
	r.Base = cmp.Or(max(r.Base, 0), 500*time.Millisecond)
	r.Max = cmp.Or(max(r.Max, 0), 20*time.Second)
	r.Patience = cmp.Or(max(r.Patience, 0), 2*time.Minute)
	r.Total = cmp.Or(max(r.Total, 0), 15*time.Minute)
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	return r
}

// attempt makes one request. It passes deltas to yield, returns when yield returns an
// error, and returns nil only after it has yielded model.Finished.
type attempt func(ctx context.Context, yield Yield) error

// Stream makes attempts until one succeeds, an error is not retryable, or a bound of the
// policy is reached. Before each new attempt it yields model.Retrying, which voids what came
// before. It yields at most one error, last, and ends when ctx is done or the consumer stops.
func (r Retry) Stream(ctx context.Context, try attempt) iter.Seq2[model.Delta, error] {
	r = r.withDefaults()
	return func(yield func(model.Delta, error) bool) {
		var f failures
		for {
			stopped, came, start := false, false, time.Now()
			var size int
			err := ctx.Err()
			if err == nil {
				err = try(ctx, func(d model.Delta) error {
					if stopped || ctx.Err() != nil {
						return ErrStopped
					}
					came = true
					size += weight(d)
					if err := BoundAnswer(size, 0); err != nil {
						return err
					}
					if stopped = !yield(d, nil); stopped {
						return ErrStopped
					}
					return nil
				})
			}
			if stopped || err == nil {
				return
			}
			err = asError(ctx, err)
			e, ok := err.(*model.Error)
			if !ok {
				yield(nil, err)
				return
			}
			f.add(came, time.Since(start))
			delay, end := r.next(e, f)
			if end != nil {
				yield(nil, end)
				return
			}
			f.waited += delay
			f.lost += delay
			if !yield(r.retrying(e, f, delay), nil) {
				return
			}
			if err := r.Sleep(ctx, delay); err != nil {
				yield(nil, asError(ctx, err))
				return
			}
		}
	}
}

// weight returns what a delta adds to an answer, in bytes. CallDone adds nothing: its
// arguments came before.
func weight(d model.Delta) int {
	switch d := d.(type) {
	case model.TextDelta:
		return len(d.Text)
	case model.ReasoningDelta:
		return len(d.Text)
	case model.CallDelta:
		return len(d.Arguments)
	case model.CallDone:
		return d.Opaque.Size()
	case model.Sealed:
		return d.Opaque.Size()
	}
	return 0
}

// failures counts the attempts that failed and their cost.
type failures struct {
	attempts int
	begun    int           // of these, answers that had begun
	waited   time.Duration // between attempts
	lost     time.Duration // waits, and attempts that returned nothing
}

// add counts a failed attempt.
func (f *failures) add(begun bool, took time.Duration) {
	f.attempts++
	if begun {
		f.begun++
	} else {
		f.lost += took
	}
}

// most returns the attempts allowed in all after e; 0: limited by Patience.
func (r Retry) most(e *model.Error) int {
	var dial *net.OpError
	if !errors.Is(e.Err, syscall.ECONNREFUSED) || !errors.As(e.Err, &dial) {
		return r.Attempts
	}
	if at, ok := dial.Addr.(*net.TCPAddr); !ok || !at.IP.IsLoopback() || r.Attempts > 0 && r.Attempts < absentAttempts {
		return r.Attempts
	}
	return absentAttempts
}

// retrying returns the delta about the next attempt.
func (r Retry) retrying(e *model.Error, f failures, delay time.Duration) model.Retrying {
	d := model.Retrying{Err: e, Delay: delay, Attempt: f.attempts + 1, Most: r.most(e)}
	if d.Most == 0 {
		d.Left = r.Patience - f.waited
	}
	return d
}

// next decides after the last failure, e: it returns the wait before the next attempt, or the
// final error.
func (r Retry) next(e *model.Error, f failures) (time.Duration, *model.Error) {
	if last := (final{}); !e.Retryable() || errors.As(e.Err, &last) || r.Attempts == 1 {
		return 0, e
	}
	if e.RetryAfter > r.Patience {
		return 0, extended(e, fmt.Sprintf("the provider asks to wait %s, longer than %s", e.RetryAfter.Round(time.Second), r.Patience))
	}
	if most := r.most(e); most > 0 && f.attempts >= most || f.begun >= fewAttempts {
		return 0, extended(e, fmt.Sprintf("gave up after %d attempts", f.attempts))
	}
	delay := r.delay(e, f)
	impatient := f.waited+delay > r.Patience || f.attempts >= fewAttempts && f.lost+delay > r.Patience
	if impatient || f.lost+delay > r.Total {
		return 0, extended(e, fmt.Sprintf("gave up after %d attempts and %s", f.attempts, f.lost.Round(time.Second)))
	}
	return delay, nil
}

// delay returns the wait before the next attempt: the longer of the provider's request and
// our own growing wait. A provider that asks for very short waits gets no more attempts than
// one that names none.
func (r Retry) delay(e *model.Error, f failures) time.Duration {
	if e.RetryAfter > 0 && f.attempts < fewAttempts {
		return e.RetryAfter
	}
	delay := min(r.Base<<min(f.attempts-1, 20), r.Max)
	delay = time.Duration(float64(delay) * (0.5 + r.Rand()/2))
	if left := r.Patience - f.waited; left >= r.Base {
		delay = min(delay, left) // the last attempt is made when the patience ends
	}
	return max(delay, e.RetryAfter)
}

// extended returns a copy of e whose message says why there is no further attempt.
func extended(e *model.Error, why string) *model.Error {
	last := *e
	last.Message = short.Bound(last.Message, maxMessage-len(why)-len(" ()")) + " (" + why + ")"
	return &last
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
