package workspace

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"codeagent/cmd/codeagent/cli"
	"codeagent/draft"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/linuxsandbox"
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
	roots, err := ws.onDraft(ws.Policy, sandbox.FromCache) // nobody decides about caches
	if err != nil {
		return err
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
	on, err := ws.workOn(d, roots)
	if err == nil {
		ws.AtClose(on.Close)
		err = on.Mounted()
	}
	if err == nil {
		ws.Real = runnerOf(ws, real, nil, nil)
		ws.Draft, ws.linux, ws.Offered = d, on, on
		err = d.Save()
	}
	return err
}

// onDraft are the write roots of p that a draft covers: the folders, without those for temporary files and of origin but.
func (ws *Workspace) onDraft(p sandbox.Policy, but sandbox.Origin) (roots []string, err error) {
	for _, root := range p.Roots() {
		switch root.Origin {
		case but, sandbox.FromTemp, sandbox.FromSharedTemp:
			continue
		}
		if mode, err := ws.Files.Lstat(root.Path); err == nil && mode.IsDir() {
			roots = append(roots, root.Path)
		}
	}
	if len(roots) == 0 {
		return nil, errors.New("commands may write no folder here, so there is nothing to decide about")
	}
	return roots, nil
}

// workOn returns a backend apart, whose programs all work on d.
func (ws *Workspace) workOn(d *draft.Draft, roots []string) (*linuxsandbox.Backend, error) {
	on, err := ws.linux.OnDraft(d, roots)
	if err != nil {
		return nil, err
	}
	if err := on.Share(ws.locks()); err != nil {
		_ = on.Close()
		return nil, err
	}
	return on, nil
}

// DraftApart makes a draft of its own, and a runner of which all programs work on it and share nothing with those of
// the session. It covers the folders in roots, caches too, of which nothing is kept. over ends the work: a draft that
// holds nothing is removed, another one stays as data.
func (ws *Workspace) DraftApart(p sandbox.Policy, title string) (d *draft.Draft, r *exec.Runner, roots []string, over func(), err error) {
	switch {
	case ws.Draft != nil:
		err = errors.New("the session itself works on a draft")
	case ws.linux == nil || p.Unconfined:
		err = errors.New("commands run without a sandbox that has drafts")
	default:
		roots, err = ws.onDraft(p, "")
	}
	if err != nil {
		return nil, nil, nil, nil, err
	}
	draft.Sweep(ws.Paths.Drafts)
	if d, err = draft.New(ws.Paths.Drafts, ws.Folder, []string{title}, p); err != nil {
		return nil, nil, nil, nil, err
	}
	unlock, err := d.Lock()
	if err == nil {
		var on *linuxsandbox.Backend
		if on, err = ws.workOn(d, roots); err == nil {
			over = sync.OnceFunc(func() { _ = on.Close(); _ = d.Close(); unlock() })
			if err = d.Save(); err == nil { // a kill loses nothing
				return d, runnerOf(ws, ws.commands(on), nil, d), roots, over, nil
			}
			_ = on.Close()
		}
		unlock()
	}
	_ = d.Drop()
	return nil, nil, nil, nil, err
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
