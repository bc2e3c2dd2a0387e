package exec

import (
	"context"
	"slices"
	"sync"

	"codeagent/sandbox"
)

// callHolder asks on while the call lasts that started the command. Afterwards
// nobody would know what the question is about, so that the answer is no. It
// remembers what it gave: the command keeps that, and whoever judges what is typed
// to it must know.
type callHolder struct {
	sandbox.Holder
	call context.Context

	mu      sync.Mutex
	granted []sandbox.Grant // guarded by mu
	over    bool            // nothing is granted any more; guarded by mu
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

// give takes note of a grant before it has any effect, and reports whether it may
// have one: a yes that comes when the call is over does not count, since an
// input may have been judged without it.
func (h *callHolder) give(g sandbox.Grant) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.granted = append(h.granted, g)
	}
	return !h.over
}

// end is when the call is over.
func (h *callHolder) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// soFar is what was granted, and whether that is all.
func (h *callHolder) soFar() (granted []sandbox.Grant, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.granted), h.over
}
