package screen

import (
	"context"
	"errors"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	sessions "codeagent/session"
	"codeagent/tui"
	"codeagent/tui/lists"
)

// sessionList holds the sessions that the screen lists.
type sessionList struct {
	s     cli.Stdio
	store *sessions.Store
	here  string
	// current is the session on the screen, or nil.
	current *sessions.Session
	// fork resumes a copy of the chosen session. elsewhere: --cd names another folder to
	// work in.
	fork, elsewhere bool
	// next is the session to resume after the screen has closed; nil if none was chosen.
	next *sessionscmd.ResumeTarget
}

func (k *sessionList) List(ctx context.Context, all bool) ([]lists.Session, error) {
	var out []lists.Session
	for sum, err := range k.store.List() {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return out, err
		}
		if all || sessionscmd.IsHere(sum, k.here) {
			out = append(out, lists.Session{
				ID: sum.ID, Name: sum.Name(), First: sum.First, Folder: sum.Folder, Branch: sum.Branch, Said: sum.Said, Answer: sum.Answer, Used: sum.Used, Size: sum.Size, Current: k.isCurrent(sum.ID),
			})
		}
	}
	return out, nil
}

func (k *sessionList) isCurrent(id string) bool { return k.current != nil && k.current.ID() == id }

func (k *sessionList) Rename(_ context.Context, id, title string) error {
	if k.isCurrent(id) {
		return k.current.Rename(title)
	}
	return k.store.Rename(id, title)
}

func (k *sessionList) Delete(_ context.Context, id string) error {
	if k.isCurrent(id) {
		return errors.New("this session is open on the screen")
	}
	if err := k.store.Delete(id); err != nil {
		return err
	}
	return sessionscmd.ForgetUndo(k.s, id)
}

// Open chooses the session to resume. A session in use can still be copied.
func (k *sessionList) Open(_ context.Context, id string) error {
	sum, err := k.store.Find(id)
	if err == nil && !k.fork {
		err = k.store.Free(sum.ID)
	}
	if err != nil {
		return err
	}
	if !k.elsewhere {
		err = sessionscmd.FolderThere(sum)
	}
	if err != nil {
		return err
	}
	k.next = &sessionscmd.ResumeTarget{ID: sum.ID, Folder: sum.Folder, Fork: k.fork, After: true}
	return nil
}

// pickSession lets the person choose a session before the session's screen opens.
func pickSession(s cli.Stdio, f cli.Flags, fork bool) func(context.Context, string, string, *sessions.Store) (sessions.Summary, error) {
	return func(ctx context.Context, here, text string, store *sessions.Store) (sessions.Summary, error) {
		k := &sessionList{s: s, store: store, here: here, elsewhere: f.Folder != "", fork: fork}
		if err := tui.New(tui.Options{In: s.In, Out: s.Out, Environ: s.Environ, Home: s.Env("HOME"), Sessions: k}).PickSession(ctx, text); err != nil {
			return sessions.Summary{}, err
		}
		if k.next == nil {
			return sessions.Summary{}, cli.StatusError(cli.ExitOK)
		}
		return store.Find(k.next.ID)
	}
}
