package workspace

import (
	"context"
	"sync"

	"codeagent/config"
	"codeagent/gitrun"
	"codeagent/sandbox"
)

// asked is the git that codeagent asks, and what the repositories contained before any command ran.
type asked struct {
	*gitrun.Git // nil after OpenForOne

	mu sync.Mutex
	// histories are those of the work trees, by their tops; mu guards them.
	histories map[string]func() *gitrun.History
}

// note notes, once, which commits the repositories have. git returns who reads them.
func (a *asked) note(ctx context.Context, trees []config.GitTree, git func() *gitrun.Git) {
	histories := map[string]func() *gitrun.History{}
	git = sync.OnceValue(git)
	for _, t := range trees {
		if t.Err == nil && t.Top != "" {
			tips := gitrun.Tips(ctx, t.Tree)
			histories[t.Top] = sync.OnceValue(func() *gitrun.History { return git().History(t.Top, tips) })
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.histories == nil {
		a.histories = histories
	}
}

// versions is sandbox.Command.Versions.
func (a *asked) versions(top, name string) (v sandbox.Versions) {
	a.mu.Lock()
	history := a.histories[top]
	a.mu.Unlock()
	if history != nil {
		v = history().Versions(context.Background(), name) // each git has a time limit
	}
	return v
}
