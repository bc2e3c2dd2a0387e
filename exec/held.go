package exec

import (
	"context"
	"sync"
	"time"

	"codeagent/sandbox"
)

// wallClock runs out when a command has had its time. While a refused call of
// the command waits for a person's answer it stands: that time is not the
// command's.
type wallClock struct {
	timer *time.Timer

	mu    sync.Mutex
	left  time.Duration // when it was last stopped or started; guarded by mu
	since time.Time     // of the start; guarded by mu
	held  int           // calls that wait; guarded by mu
}

// newWallClock starts a clock; without a limit it never runs out.
func newWallClock(limit time.Duration) *wallClock {
	if limit <= 0 {
		return nil
	}
	return &wallClock{timer: time.NewTimer(limit), left: limit, since: time.Now()}
}

func (w *wallClock) expired() <-chan time.Time {
	if w == nil {
		return nil
	}
	return w.timer.C
}

func (w *wallClock) end() {
	if w != nil {
		w.timer.Stop()
	}
}

// pause stops the clock until resume was called as often.
func (w *wallClock) pause() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held++; w.held == 1 {
		w.timer.Stop()
		w.left = max(w.left-time.Since(w.since), 0)
	}
}

func (w *wallClock) resume() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held--; w.held == 0 {
		w.since = time.Now()
		w.timer.Reset(w.left)
	}
}

// ran is for how long the clock has run without a stop: 0 while a call waits.
func (w *wallClock) ran() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held > 0 {
		return 0
	}
	return time.Since(w.since)
}

// patientHolder stops the clock while a call waits.
type patientHolder struct {
	sandbox.Holder
	clock *wallClock
}

func (h patientHolder) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	h.clock.pause()
	defer h.clock.resume()
	return h.Holder.Hold(ctx, d)
}
