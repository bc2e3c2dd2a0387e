package conversation

import (
	"context"
	"io/fs"
	"os"
	"sync"

	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
)

// saver returns the function that saves rules. It is nil if nobody can answer a question with
// always. The tour saves nothing.
func (ses *Base) saver() func(text string) ([]*rules.Rule, error) {
	if !ses.Options.Attended || ses.Tour != nil {
		return nil
	}
	ws := ses.Workspace
	return func(text string) ([]*rules.Rule, error) {
		return workspace.ChangeRules(context.Background(), ws.Stdio, ws.Paths, func(file []byte, _ []*rules.Rule) ([]byte, error) {
			return append(append(file, '\n'), text...), nil
		})
	}
}

// refresher returns a function that applies changes of rules.toml by another process or by hand.
// Removed rules end, and new rules that ask or forbid apply. New allow rules apply only from the
// next session, or from an answer that saves a rule. If the file cannot be read, nothing changes.
func (ses *Base) refresher() func() {
	var mu sync.Mutex
	var read fs.FileInfo
	file := ses.Workspace.Paths.Rules
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
		l := ses.Gate.Ledger()
		closed, err := l.DropRules(file, func() ([]*rules.Rule, error) {
			list, _, err := workspace.ReadRules(context.Background(), ses.Workspace.Stdio, ses.Workspace.Paths)
			return list, err
		})
		if err == nil && !closed.Empty() {
			ses.Workspace.Runner.Revoke(l.Closing(closed))
		}
	}
}
