package workspace

import (
	"errors"
	"fmt"
	"slices"

	"codeagent/cmd/codeagent/cli"
	"codeagent/draft"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// workOnDraft has all that runs in the sandbox work on a draft. It returns the backend for that.
func (ws *Workspace) workOnDraft(which string, real resolved.Backend) (resolved.Backend, error) {
	d, on, end, err := ws.openDraft(which, real)
	if err != nil {
		return nil, cli.Hinted(cli.ExitFailed, fmt.Errorf("--draft: %w", err))
	}
	ws.AtClose(end)
	ws.Real = runnerOf(ws, real, nil)
	ws.Draft, ws.drafted, ws.Offered = d, on, on
	return on, d.Save()
}

// CanDraft returns why no session can work on a draft here; nil: one can.
func (ws *Workspace) CanDraft() error {
	_, _, end, err := ws.openDraft(cli.NewDraft, ws.used)
	if err != nil {
		return err
	}
	return end()
}

// openDraft makes a draft, or opens that with the ID which, and a backend that works on it.
func (ws *Workspace) openDraft(which string, real resolved.Backend) (d *draft.Draft, on *linuxsandbox.Backend, end func() error, err error) {
	var opened []func() error
	end = func() (err error) {
		for _, close := range slices.Backward(opened) {
			err = errors.Join(err, close())
		}
		return err
	}
	defer func() {
		if err != nil {
			_ = end() // why it was opened in vain is said
		}
	}()
	if _, ok := real.(exec.Drafter); !ok || ws.Policy.Unconfined {
		return nil, nil, end, errors.New("commands run without a sandbox that has drafts")
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
		return nil, nil, end, errors.New("commands may write no folder here, so there is nothing to decide about")
	}
	draft.Sweep(ws.Paths.Drafts)
	if which == cli.NewDraft {
		d, err = draft.New(ws.Paths.Drafts, ws.Folder, []string{draft.OfSession}, ws.Policy)
	} else if d, err = draft.Open(ws.Paths.Drafts, which); errors.Is(err, draft.ErrNone) {
		err = fmt.Errorf("there is no draft %s", short.Quote(which, 100))
	}
	if err != nil {
		return nil, nil, end, err
	}
	unlock, err := d.Lock()
	if err != nil {
		return nil, nil, end, err
	}
	opened = append(opened, func() error { unlock(); return nil }, d.Close)
	if on, err = ws.linux.OnDrafts(); err != nil {
		return nil, nil, end, err
	}
	opened = append(opened, on.Close)
	if err = on.Share(ws.locks()); err == nil {
		err = on.WorkOn(d, roots)
	}
	return d, on, end, err
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
