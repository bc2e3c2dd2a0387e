package workspace

import (
	"context"
	"errors"
	"sync"

	"codeagent/config"
	"codeagent/gitrun"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// gitState is the git that codeagent asks, and what the repositories contained before any command ran.
type gitState struct {
	*gitrun.Git // nil after OpenForOne

	mu sync.Mutex
	// histories are those of the work trees, by their tops; mu guards them.
	histories map[string]func() *gitrun.History
	records   []record
}

// note notes, once, which commits vouch in the repositories: none in those of made, which commands made. dir is the
// folder of records. git returns who reads the commits.
func (a *gitState) note(ctx context.Context, dir string, trees []config.GitTree, made hostfile.Ground, git func() *gitrun.Git) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.histories != nil {
		return
	}
	a.histories = map[string]func() *gitrun.History{}
	git = sync.OnceValue(git)
	tips := map[string][]string{} // by the repository, which several trees can share
	for _, t := range trees {
		if t.Err != nil || t.Top == "" {
			continue
		}
		common := t.Dirs[len(t.Dirs)-1]
		if tips[common] = append(tips[common], gitrun.Tips(ctx, t.Tree)...); made.Covers(common) {
			tips[common] = nil
		}
		a.histories[t.Top] = sync.OnceValue(func() *gitrun.History { return git().History(t.Top, tips[common]) })
	}
	for common := range tips {
		var r record
		tips[common], r = vouch(ctx, dir, common, tips[common])
		a.records = append(a.records, r)
	}
}

// settle ends the records of the session, after its last command.
func (a *gitState) settle() (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.records {
		err = errors.Join(err, r.settle())
	}
	return err
}

// versions is sandbox.Command.Versions.
func (a *gitState) versions(top, name string) (v sandbox.Versions) {
	a.mu.Lock()
	history := a.histories[top]
	a.mu.Unlock()
	if history != nil {
		v = history().Versions(context.Background(), name) // each git has a time limit
	}
	return v
}
