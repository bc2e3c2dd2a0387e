package wire

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"codeagent/model"
)

// Retry says how often and how patiently a request is tried again. The zero
// value is the default policy.
type Retry struct {
	// Attempts allowed in all; 0: 5; 1: no retry.
	Attempts int
	// Base is the first wait, doubled each time up to Max, each multiplied by a
	// random factor between 0.5 and 1; 0: 500 ms and 20 s.
	Base, Max time.Duration
	// MaxAsked is the longest wait that a provider may ask for; a longer one
	// ends the retries with an error that says so; 0: 60 s.
	MaxAsked time.Duration
	// Total bounds the time lost: waits, and attempts that brought nothing;
	// 0: 15 min.
	Total time.Duration
	// Rand gives the random factor, in [0,1); nil: math/rand.
	Rand func() float64
	// Sleep waits, or returns the context's error; nil: a timer.
	Sleep func(context.Context, time.Duration) error
}

func (r Retry) withDefaults() Retry {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if r.Attempts <= 0 {
		r.Attempts = 5
	}
	set(&r.Base, 500*time.Millisecond)
	set(&r.Max, 20*time.Second)
	set(&r.MaxAsked, time.Minute)
	set(&r.Total, 15*time.Minute)
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	return r
}

// Attempt asks once. It hands what comes to yield, returns when yield returns
// false, and returns nil only after it has yielded model.Finished.
type Attempt func(ctx context.Context, yield func(model.Delta) bool) error

// Stream makes attempts until one succeeds, the error is not worth another, or
// the policy's bounds are met. Before each new attempt it yields
// model.Retrying: what came before is void. It yields at most one error, last,
// and ends when ctx is done or the consumer has enough.
func (r Retry) Stream(ctx context.Context, attempt Attempt) iter.Seq2[model.Delta, error] {
	r = r.withDefaults()
	return func(yield func(model.Delta, error) bool) {
		var lost time.Duration
		for n := 1; ; n++ {
			stopped, came, start := false, false, time.Now()
			var size int
			err := ctx.Err()
			if err == nil {
				err = attempt(ctx, func(d model.Delta) bool {
					if stopped || ctx.Err() != nil {
						return false
					}
					came = true
					if size += weight(d); size > MaxAnswer {
						return false
					}
					stopped = !yield(d, nil)
					return !stopped
				})
			}
			if stopped || err == nil {
				return
			}
			if size > MaxAnswer && ctx.Err() == nil {
				err = TooLarge()
			}
			err = asError(ctx, err)
			e, ok := err.(*model.Error)
			if !ok {
				yield(nil, err)
				return
			}
			if !came {
				lost += time.Since(start)
			}
			delay, end := r.next(e, n, lost)
			if end != nil {
				yield(nil, end)
				return
			}
			lost += delay
			if !yield(model.Retrying{Err: e, Delay: delay, Attempt: n + 1, Most: r.Attempts}, nil) {
				return
			}
			if err := r.Sleep(ctx, delay); err != nil {
				yield(nil, asError(ctx, err))
				return
			}
		}
	}
}

// weight is what a delta adds to an answer, in bytes. The arguments of a call that
// is done came before it.
func weight(d model.Delta) int {
	opaque := func(o *model.Opaque) int {
		if o == nil {
			return 0
		}
		return len(o.Data)
	}
	switch d := d.(type) {
	case model.TextDelta:
		return len(d.Text)
	case model.ReasoningDelta:
		return len(d.Text)
	case model.CallDelta:
		return len(d.Arguments)
	case model.CallDone:
		return opaque(d.Opaque)
	case model.Sealed:
		return opaque(d.Opaque)
	}
	return 0
}

// next decides after attempt n failed with e: the wait before the next one, or
// the error to end with.
func (r Retry) next(e *model.Error, n int, lost time.Duration) (time.Duration, *model.Error) {
	if f := (final{}); !e.Retryable() || errors.As(e.Err, &f) || r.Attempts == 1 {
		return 0, e
	}
	if e.RetryAfter > r.MaxAsked {
		return 0, extended(e, fmt.Sprintf("the provider asks to wait %s, longer than %s", e.RetryAfter.Round(time.Second), r.MaxAsked))
	}
	if n >= r.Attempts {
		return 0, extended(e, fmt.Sprintf("gave up after %d attempts", n))
	}
	delay := e.RetryAfter
	if delay == 0 {
		delay = min(r.Base<<min(n-1, 20), r.Max)
		delay = time.Duration(float64(delay) * (0.5 + r.Rand()/2))
	}
	if lost+delay > r.Total {
		return 0, extended(e, fmt.Sprintf("gave up after %d attempts and %s", n, lost.Round(time.Second)))
	}
	return delay, nil
}

// extended is a copy of e whose message says why it was the last.
func extended(e *model.Error, why string) *model.Error {
	last := *e
	last.Message = cut(last.Message, maxMessage-len(why)-len(" ()")) + " (" + why + ")"
	return &last
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
