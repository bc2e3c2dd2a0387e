//go:build linux

package backendtest

import (
	"context"
	"sync"

	"codeagent/sandbox"
)

// Asker is a user who answers by the denial.
type Asker struct {
	Answer func(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool)

	mu    sync.Mutex
	Asked []sandbox.Denial
}

// Asks holds every call.
func (*Asker) Asks(sandbox.Denial) bool { return true }

// Hold notes the denial and returns the answer.
func (a *Asker) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	a.mu.Lock()
	a.Asked = append(a.Asked, d)
	a.mu.Unlock()
	return a.Answer(ctx, d)
}

// Targets are what the questions were about, each once, in order.
func (a *Asker) Targets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, d := range a.Asked {
		out = append(out, d.Target)
	}
	return out
}

// Yes grants exactly what the question asks for.
func Yes(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	return sandbox.Grant{Write: []string{d.Target}}, true
}

// No grants nothing.
func No(context.Context, sandbox.Denial) (sandbox.Grant, bool) { return sandbox.Grant{}, false }
