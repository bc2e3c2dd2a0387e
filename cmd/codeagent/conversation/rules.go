package conversation

import (
	"context"
	"io/fs"
	"os"
	"sync"

	"codeagent/approvals"
	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
)

// saver returns the function that saves rules.
func saver(ws *workspace.Workspace) func(text string) ([]*rules.Rule, error) {
	return func(text string) ([]*rules.Rule, error) {
		return workspace.ChangeRules(context.Background(), ws.Stdio, ws.Paths, func(file []byte, _ []*rules.Rule) ([]byte, error) {
			return append(append(file, '\n'), text...), nil
		})
	}
}

// refresher returns a function that applies changes of rules.toml by another process or by hand.
// Removed rules end, and new rules that ask or forbid apply. New allow rules apply only from the
// next session, or from an answer that saves a rule. If the file cannot be read, nothing changes.
func refresher(ws *workspace.Workspace, live func() *approvals.Ledger) func() {
	var mu sync.Mutex
	var read fs.FileInfo
	file := ws.Paths.Rules
	same := func(now fs.FileInfo) bool {
		if read == nil || now == nil {
			return read == now
		}
		return now.Size() == read.Size() && now.ModTime().Equal(read.ModTime()) && os.SameFile(now, read)
	}
	look := func() fs.FileInfo {
		if info, err := hostfile.Lstat(file); err == nil {
			return info
		}
		return nil
	}
	read = look()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		now := look()
		if same(now) {
			return
		}
		read = now
		l := live()
		closed, err := l.DropRules(file, func() ([]*rules.Rule, error) {
			list, _, err := workspace.ReadRules(context.Background(), ws.Stdio, ws.Paths)
			return list, err
		})
		if err == nil && !closed.Empty() {
			ws.Runner.Revoke(l.Closing(closed))
		}
	}
}
