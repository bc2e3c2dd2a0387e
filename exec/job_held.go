package exec

import (
	"context"
	"slices"
	"sync"

	"codeagent/sandbox"
)

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
