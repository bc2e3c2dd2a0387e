package workspace

import (
	"errors"
	"fmt"

	"codeagent/cmd/codeagent/cli"
	"codeagent/draft"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// workOnDraft has all that runs in the sandbox work on a draft, a new one or that with the ID which. It returns the
// backend for that.
func (ws *Workspace) workOnDraft(which string, real resolved.Backend) (resolved.Backend, error) {
	refused := func(err error) error { return cli.Hinted(cli.ExitFailed, fmt.Errorf("--draft: %w", err)) }
	if _, ok := real.(exec.Drafter); !ok || ws.Policy.Unconfined {
		return nil, refused(errors.New("commands run without a sandbox that has drafts"))
	}
	var roots []string
	for _, root := range ws.Policy.Roots() {
		switch root.Origin {
		case sandbox.FromCache, sandbox.FromTemp, sandbox.FromSharedTemp:
			continue // nobody decides about these
		}
		if mode, err := ws.Files.Lstat(root.Path); err == nil && mode.IsDir() {
			roots = append(roots, root.Path)
		}
	}
	if len(roots) == 0 {
		return nil, refused(errors.New("commands may write no folder here, so there is nothing to decide about"))
	}
	draft.Sweep(ws.Paths.Drafts)
	d, err := draft.New(ws.Paths.Drafts, ws.Folder, []string{"this session"}, ws.Policy)
	if which != cli.NewDraft {
		_ = d.Drop()
		if d, err = draft.Open(ws.Paths.Drafts, which); errors.Is(err, draft.ErrNone) {
			err = fmt.Errorf("there is no draft %s", short.Quote(which, 100))
		}
	}
	if err != nil {
		return nil, refused(err)
	}
	unlock, err := d.Lock()
	if err != nil {
		return nil, refused(err)
	}
	ws.AtClose(func() error { defer unlock(); return d.Close() })
	on, err := ws.linux.OnDrafts()
	if err != nil {
		return nil, refused(err)
	}
	ws.AtClose(on.Close)
	if err = on.Share(ws.locks()); err == nil {
		err = on.WorkOn(d, roots)
	}
	if err != nil {
		return nil, refused(err)
	}
	ws.Real = runnerOf(ws, real, nil)
	ws.Draft, ws.drafted, ws.Offered = d, on, on
	return on, d.Save()
}

// commands is the backend of the session's commands, on Linux.
func (ws *Workspace) commands() *linuxsandbox.Backend {
	if ws.drafted != nil {
		return ws.drafted
	}
	return ws.linux
}

// draft is Draft for a runner.
func (ws *Workspace) draft() exec.Draft {
	if ws.Draft == nil {
		return nil
	}
	return ws.Draft
}
