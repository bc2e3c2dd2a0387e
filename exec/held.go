package exec

import (
	"context"
	"math"
	"sync"
	"time"

	"codeagent/sandbox"
)

// wallClock measures a command's wall time. It is paused while a held call of the command
// waits for a person's answer, since that time is not the command's.
type wallClock struct {
	timer *time.Timer

	mu    sync.Mutex
	left  time.Duration // remaining at the last start or stop; guarded by mu
	since time.Time     // time of the last start; guarded by mu
	held  int           // number of held calls; guarded by mu
}

// newWallClock starts a clock; a limit of 0 means that it never runs out.
func newWallClock(limit time.Duration) *wallClock {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return &wallClock{timer: time.NewTimer(limit), left: limit, since: time.Now()}
}

func (w *wallClock) expired() <-chan time.Time { return w.timer.C }

func (w *wallClock) end() { w.timer.Stop() }

// pause stops the clock until resume has been called as often as pause.
func (w *wallClock) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held++; w.held == 1 {
		w.timer.Stop()
		w.left = max(w.left-time.Since(w.since), 0)
	}
}

func (w *wallClock) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held--; w.held == 0 {
		w.since = time.Now()
		w.timer.Reset(w.left)
	}
}

// ran returns how long the clock has run since the last pause ended: 0 while a call is held.
func (w *wallClock) ran() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held > 0 {
		return 0
	}
	return time.Since(w.since)
}

// patientHolder pauses the clock while a call is held.
type patientHolder struct {
	sandbox.Holder
	clock *wallClock
}

func (h patientHolder) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	h.clock.pause()
	defer h.clock.resume()
	return h.Holder.Hold(ctx, d)
}
