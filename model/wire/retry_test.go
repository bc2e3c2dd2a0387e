package wire

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/model"

	"github.com/google/go-cmp/cmp"
)

// played is what a consumer saw: the waits that were announced, and the end.
type played struct {
	Waits    []time.Duration
	Attempts int
	Took     time.Duration
	Err      string
}

// play runs r against attempts that fail with errs in order, nil for success;
// the last repeats.
func play(t *testing.T, r Retry, takes time.Duration, errs ...error) played {
	t.Helper()
	var p played
	start := time.Now()
	for d, err := range r.Stream(t.Context(), func(_ context.Context, yield Yield) error {
		err := errs[min(p.Attempts, len(errs)-1)]
		p.Attempts++
		time.Sleep(takes)
		if err == nil {
			return yield(model.Finished{})
		}
		return err
	}) {
		if err != nil {
			p.Err = err.Error()
		}
		if retry, ok := d.(model.Retrying); ok {
			p.Waits = append(p.Waits, retry.Delay)
			if retry.Attempt != p.Attempts+1 {
				t.Errorf("after %d attempts attempt %d is announced", p.Attempts, retry.Attempt)
			}
		}
	}
	p.Took = time.Since(start)
	return p
}

func TestRetryPolicy(t *testing.T) {
	t.Parallel()
	fault := &model.Error{Kind: model.ServerFault, Status: 503, Message: "later"}
	asks := func(d time.Duration) error {
		return &model.Error{Kind: model.RateLimited, Status: 429, Message: "slow", RetryAfter: d}
	}
	one := func() float64 { return 1 }
	const s = time.Second
	for name, c := range map[string]struct {
		retry Retry
		takes time.Duration
		errs  []error
		want  played
	}{
		"first try": {Retry{Rand: one}, 0, []error{nil}, played{nil, 1, 0, ""}},
		"doubles":   {Retry{Rand: one, Attempts: 5}, 0, []error{fault}, played{[]time.Duration{s / 2, s, 2 * s, 4 * s}, 5, 7*s + s/2, "the provider failed (503): later (gave up after 5 attempts)"}},
		"restarts": {Retry{Rand: one}, 0, []error{fault}, played{[]time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s, 16 * s, 20 * s, 20 * s, 20 * s, 20 * s, 8*s + s/2}, 12, 2 * time.Minute,
			"the provider failed (503): later (gave up after 12 attempts and 2m0s)"}},
		"impatient":    {Retry{Rand: one, Patience: 2 * s}, 0, []error{fault}, played{[]time.Duration{s / 2, s, s / 2}, 4, 2 * s, "the provider failed (503): later (gave up after 4 attempts and 2s)"}},
		"slow to fail": {Retry{Rand: one}, time.Minute, []error{fault}, played{[]time.Duration{s / 2, s, 2 * s, 4 * s}, 5, 5*time.Minute + 7*s + s/2, "the provider failed (503): later (gave up after 5 attempts and 5m8s)"}},
		"asks for next to nothing": {Retry{Rand: one, Patience: 40 * s}, 0, []error{asks(1)}, played{[]time.Duration{1, 1, 1, 1, 8 * s, 16 * s, 16*s - 4}, 8, 40 * s,
			"the provider limits requests (429): slow (gave up after 8 attempts and 40s)"}},
		"asks again and again": {Retry{Rand: one}, 0, []error{asks(50 * s)}, played{[]time.Duration{50 * s, 50 * s}, 3, 100 * s, "the provider limits requests (429): slow (gave up after 3 attempts and 1m40s)"}},
		"jitter":               {Retry{Rand: func() float64 { return 0 }}, 0, []error{fault, nil}, played{[]time.Duration{s / 4}, 2, s / 4, ""}},
		"up to a most":         {Retry{Rand: one, Max: s, Attempts: 4}, 0, []error{fault, fault, fault, nil}, played{[]time.Duration{s / 2, s, s}, 4, 2*s + s/2, ""}},
		"as asked":             {Retry{Rand: one}, 0, []error{asks(7 * s), asks(s / 10), nil}, played{[]time.Duration{7 * s, s / 10}, 3, 7*s + s/10, ""}},
		"asked too long":       {Retry{Rand: one}, 0, []error{asks(130 * s)}, played{nil, 1, 0, "the provider limits requests (429): slow (the provider asks to wait 2m10s, longer than 2m0s)"}},
		"one attempt":          {Retry{Attempts: 1}, 0, []error{fault}, played{nil, 1, 0, "the provider failed (503): later"}},
		"not retryable":        {Retry{}, 0, []error{&model.Error{Kind: model.SignIn, Status: 401, Message: "no"}}, played{nil, 1, 0, "the provider rejected the API key (401): no"}},
		"final":                {Retry{}, 0, []error{&model.Error{Kind: model.RateLimited, Message: "no money", Err: final{errors.New("no")}}}, played{nil, 1, 0, "no money"}},
		"total time":           {Retry{Rand: one, Total: 10 * s}, 4 * s, []error{fault}, played{[]time.Duration{s / 2, s}, 3, 13*s + s/2, "the provider failed (503): later (gave up after 3 attempts and 14s)"}},
		"untyped failure":      {Retry{}, 0, []error{errors.New("refused before it was sent")}, played{nil, 1, 0, "refused before it was sent"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if d := cmp.Diff(c.want, play(t, c.retry, c.takes, c.errs...)); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// Answers that broke off are paid for, so their retries are bounded separately.
func TestBrokenAnswersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		var last error
		for _, err := range (Retry{}).Stream(t.Context(), func(_ context.Context, yield Yield) error {
			attempts++
			_ = yield(model.TextDelta{Text: "I"})
			return CutOff(nil)
		}) {
			last = err
		}
		if attempts != fewAttempts || last == nil {
			t.Errorf("%d attempts, %v", attempts, last)
		}
	})
}

func TestCancelEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		var last error
		for _, err := range (Retry{}).Stream(ctx, func(context.Context, Yield) error {
			return &model.Error{Kind: model.RateLimited, RetryAfter: time.Minute}
		}) {
			last = err
		}
		if took := time.Since(start); took != 3*time.Second || !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("ended after %s with %v", took, last)
		}
	})
}

// An endless answer is abandoned, and not requested again.
func TestAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("x", 1<<20)
	for name, d := range map[string]model.Delta{
		"text":      model.TextDelta{Text: piece},
		"thinking":  model.ReasoningDelta{Text: piece},
		"arguments": model.CallDelta{Arguments: piece},
		"opaque":    model.Sealed{Opaque: &model.Opaque{Data: []byte(piece)}},
	} {
		attempts, came := 0, 0
		var last error
		for _, err := range (Retry{}).Stream(t.Context(), func(_ context.Context, yield Yield) error {
			attempts++
			for range 1000 {
				if err := yield(d); err != nil {
					return err
				}
			}
			return nil
		}) {
			if last = err; err == nil {
				came++
			}
		}
		e := new(model.Error)
		if !errors.As(last, &e) || e.Kind != model.ServerFault || !strings.Contains(e.Message, "larger than 64 MiB") || attempts != 1 || came != maxAnswer>>20 {
			t.Errorf("%s: %d pieces in %d attempts, %v", name, came, attempts, last)
		}
	}
}

// TestNobodyListensHere: where nothing listens on this machine a request is tried three times, for a second
// and a half; elsewhere, and where something listened, as long as the policy says.
func TestNobodyListensHere(t *testing.T) {
	t.Parallel()
	refused := func(ip string, err error) error {
		return &model.Error{Kind: model.Transport, Message: "cannot reach it", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}, Err: os.NewSyscallError("connect", err)}}
	}
	for name, c := range map[string]struct {
		retry    Retry
		errs     []error
		attempts int
	}{
		"IPv4":                       {Retry{}, []error{refused("127.0.0.1", syscall.ECONNREFUSED)}, 3},
		"IPv6":                       {Retry{}, []error{refused("::1", syscall.ECONNREFUSED)}, 3},
		"another loopback address":   {Retry{}, []error{refused("127.8.8.8", syscall.ECONNREFUSED)}, 3},
		"it comes up":                {Retry{}, []error{refused("127.0.0.1", syscall.ECONNREFUSED), nil}, 2},
		"one attempt":                {Retry{Attempts: 1}, []error{refused("127.0.0.1", syscall.ECONNREFUSED)}, 1},
		"another machine":            {Retry{}, []error{refused("192.0.2.1", syscall.ECONNREFUSED)}, 12},
		"no answer here":             {Retry{}, []error{refused("127.0.0.1", syscall.ETIMEDOUT)}, 12},
		"busy after it was not here": {Retry{}, []error{refused("127.0.0.1", syscall.ECONNREFUSED), &model.Error{Kind: model.ServerFault, Status: 503}}, 12},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.retry.Rand = func() float64 { return 1 }
			if got := play(t, c.retry, 0, c.errs...); got.Attempts != c.attempts {
				t.Errorf("%s: %d attempts in %s, want %d", name, got.Attempts, got.Took, c.attempts)
			}
		})
	}
}
