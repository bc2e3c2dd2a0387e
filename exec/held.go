package exec

import (
	"context"
	"math"
	"slices"
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

// callHolder forwards questions while the tool call that started the command lasts.
// Afterwards it denies, since the person would no longer see what the question is about. It
// records its grants: the command keeps them, and they matter when input typed to it is
// judged.
type callHolder struct {
	sandbox.Holder
	call context.Context

	mu      sync.Mutex
	granted []sandbox.Grant // guarded by mu
	over    bool            // no more grants; guarded by mu
}

func (h *callHolder) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	if h.call.Err() != nil {
		return sandbox.Grant{}, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.call, func() { cancel(context.Cause(h.call)) })()
	grant, yes := h.Holder.Hold(ctx, d)
	if !yes || !h.give(grant) {
		return sandbox.Grant{}, false
	}
	return grant, true
}

// Asks returns false once the tool call has ended.
func (h *callHolder) Asks(d sandbox.Denial) bool { return h.call.Err() == nil && h.Holder.Asks(d) }

// give records a grant before it takes effect, and reports whether it may take effect. A
// yes that arrives after the tool call has ended does not count, since an input may have
// been judged without it.
func (h *callHolder) give(g sandbox.Grant) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.granted = append(h.granted, g)
	}
	return !h.over
}

// end marks the end of the tool call.
func (h *callHolder) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// soFar returns what was granted, and whether the list is final.
func (h *callHolder) soFar() (granted []sandbox.Grant, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.granted), h.over
}
