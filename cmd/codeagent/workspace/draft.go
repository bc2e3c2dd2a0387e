package workspace

import (
	"context"
	"errors"
	"fmt"

	"codeagent/cmd/codeagent/cli"
	"codeagent/draft"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// DraftError is why a session cannot work on a draft.
type DraftError struct{ error }

// workOnDraft has all that runs in the sandbox work on a draft, a new one or that with the ID which.
func (ws *Workspace) workOnDraft(which string, real resolved.Backend) (err error) {
	if _, ok := real.(exec.Drafter); !ok || ws.Policy.Unconfined {
		return errors.New("commands run without a sandbox that has drafts")
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
		return errors.New("commands may write no folder here, so there is nothing to decide about")
	}
	draft.Sweep(ws.Paths.Drafts)
	var d *draft.Draft
	if which == cli.NewDraft {
		d, err = draft.New(ws.Paths.Drafts, ws.Folder, []string{draft.OfSession}, ws.Policy)
	} else if d, err = draft.Resume(ws.Paths.Drafts, which, ws.Folder, ws.Policy); errors.Is(err, draft.ErrNone) {
		err = fmt.Errorf("there is no draft %s of this folder", short.Quote(which, 100))
	}
	if err != nil {
		return err
	}
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	ws.AtClose(func() error { defer unlock(); return d.Close() })
	on, err := ws.linux.OnDrafts()
	if err != nil {
		return err
	}
	ws.AtClose(on.Close)
	if err = on.Share(ws.locks()); err == nil {
		err = on.WorkOn(d, roots)
	}
	if err == nil {
		ws.Real = runnerOf(ws, real, nil)
		ws.Draft, ws.linux, ws.Offered = d, on, on
		err = d.Save()
	}
	return err
}

// draft is Draft for a runner.
func (ws *Workspace) draft() exec.Draft {
	if ws.Draft == nil {
		return nil
	}
	return ws.Draft
}

// TryDraft runs a command on a draft that changes nothing.
func (ws *Workspace) TryDraft(ctx context.Context) error {
	runner, over, err := ws.onDrafts(asSystem)
	if err != nil {
		return err
	}
	defer over()
	d, err := draft.New(ws.Paths.Drafts, ws.Folder, nil, ws.Policy)
	if err == nil {
		_, err = runner.Run(ctx, ws.Policy, exec.Command{Argv: []string{"/bin/true"}, Dir: ws.Folder, Draft: d}, nil)
		err = errors.Join(err, d.Drop())
	}
	return err
}
