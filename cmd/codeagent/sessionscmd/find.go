package sessionscmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	sessions "codeagent/session"
	"codeagent/undo"

	"github.com/spf13/cobra"
)

// FolderThere returns an error if the folder of a session does not exist.
func FolderThere(sum sessions.Summary) error {
	if info, err := hostfile.Seen(sum.Folder); err != nil || !info.IsDir() {
		return fmt.Errorf("the folder of session %s does not exist: %s", sum.ID, sum.Folder)
	}
	return nil
}

// Which holds the flags that name the session to resume or fork.
type Which struct {
	last, all bool
	Fork      bool
	before    int
	// Pick asks the person to choose if no session is named, or several have the words of text; nil: nobody
	// can answer.
	Pick func(ctx context.Context, here, text string, store *sessions.Store) (sessions.Summary, error)
}

// ResumeTarget is the session that a run resumes.
type ResumeTarget struct {
	ID, Folder string
	// Fresh begins a new session in Folder. ID is the one before it, whose model is asked, or "".
	Fresh bool
	// Fork resumes a copy and leaves the session unchanged.
	Fork bool
	// Before is the message from which on everything is dropped; 0 for none.
	Before int
	// After: another session of this run came before, and --model applied to that one.
	After bool
	// Effort is how long the model may think, as the person chose in the session before; empty: they did
	// not. Model is what they set up there, likewise.
	Effort, Model string
	// Draft is cli.Flags.Draft of the run, and Said what its screen shows first.
	Draft, Said string
}

func (r *Which) Add(cmd *cobra.Command, verb string) {
	fl := cmd.Flags()
	fl.BoolVar(&r.last, "last", false, verb+" the session that was last used in this folder")
	fl.BoolVar(&r.all, "all", false, "with --last: in any folder")
	fl.IntVar(&r.before, "before", 0, "go back: leave out message N and all that came after it (codeagent sessions show ID counts them)")
}

// Store opens the folder of the sessions without opening a workspace.
func Store(s cli.Stdio) (*sessions.Store, error) {
	paths, _, err := workspace.Places(context.Background(), s)
	if err != nil {
		return nil, err
	}
	return sessions.New(paths.Sessions), nil
}

// Exact finds the session with this ID. A prefix, which a person may type, does not match.
func Exact(s cli.Stdio, id string) (sessions.Summary, error) {
	store, err := Store(s)
	if err != nil {
		return sessions.Summary{}, err
	}
	sum, err := store.Find(id)
	if err == nil && sum.ID != id {
		err = fmt.Errorf("%w: %.64q", sessions.ErrNotFound, id)
	}
	return sum, err
}

// Find determines the session and returns the remaining arguments. It changes nothing: the
// run may still fail to start.
func (r Which) Find(ctx context.Context, s cli.Stdio, f cli.Flags, args []string) (*ResumeTarget, []string, error) {
	store, err := Store(s)
	if err != nil {
		return nil, nil, err
	}
	var sum sessions.Summary
	switch {
	case r.last:
		sum, err = lastUsed(s, f, store, r.all)
	case len(args) == 0 && r.Pick != nil:
		sum, err = r.choose(ctx, s, f, store)
	case len(args) == 0:
		err = errWhich(s, f, store)
	default:
		sum, err = r.named(ctx, s, f, store, args[0])
		args = args[1:]
	}
	if err != nil {
		return nil, nil, Error(err)
	}
	if r.before < 0 {
		return nil, nil, cli.Usage(errors.New("--before needs the number of a message, from 1"))
	}
	if f.Folder == "" {
		if err := FolderThere(sum); err != nil {
			return nil, nil, cli.Usage(err, "name the folder to work in with --cd")
		}
	}
	return &ResumeTarget{ID: sum.ID, Folder: sum.Folder, Fork: r.Fork, Before: r.before}, args, nil
}

// named finds a session by its ID, else by words of its title or first message, in this folder first.
func (r Which) named(ctx context.Context, s cli.Stdio, f cli.Flags, store *sessions.Store, name string) (sessions.Summary, error) {
	sum, err := store.Find(name)
	if !errors.Is(err, sessions.ErrNotFound) {
		return sum, err
	}
	here, failed := workspace.Enter(s, f)
	if failed != nil {
		return sum, err
	}
	for i, in := range []func(sessions.Summary) bool{
		func(sum sessions.Summary) bool { return IsHere(sum, here) },
		func(sessions.Summary) bool { return true },
	} {
		list, failed := store.Titled(name, in)
		switch {
		case failed != nil:
			return sum, failed
		case len(list) == 1:
			return list[0], nil
		case len(list) > 1 && i == 0 && r.Pick != nil:
			return r.Pick(ctx, here, name, store)
		case len(list) > 1:
			var hints []string
			for _, one := range list[:min(len(list), namedSessions)] {
				hints = append(hints, sessionLine(one))
			}
			return sum, cli.Usage(fmt.Errorf("%d sessions have these words in their title: %.64q", len(list), name), append(hints, "name one by its ID, or with more words")...)
		}
	}
	return sum, cli.Usage(fmt.Errorf("no session has this ID, or these words in its title: %.64q", name), "codeagent sessions --all lists them")
}

// AwaitFree waits until no other process writes the session, at most the given time. The error is
// that of ctx: what else is wrong with the session is reported where it is opened.
func AwaitFree(ctx context.Context, s cli.Stdio, id string, most time.Duration) error {
	store, err := Store(s)
	if err != nil {
		return err
	}
	const pause = 20 * time.Millisecond
	for range most / pause {
		var inUse *sessions.InUseError
		if !errors.As(store.Free(id), &inUse) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return nil
}

// lastUsed returns the session last used in this folder, or anywhere. If that one is damaged
// it fails: an older one would continue the wrong conversation.
func lastUsed(s cli.Stdio, f cli.Flags, store *sessions.Store, all bool) (sessions.Summary, error) {
	if all {
		for sum, err := range store.List() {
			return sum, cmp.Or(err, sum.Unusable())
		}
		return sessions.Summary{}, cli.Usage(errors.New("there is no saved session"))
	}
	list, err := sessionsHere(s, f, store, 1)
	if err == nil && len(list) == 0 {
		err = cli.Usage(errors.New("this folder has no saved session"), "--all takes the last one of any folder")
	}
	if err != nil {
		return sessions.Summary{}, err
	}
	return list[0], list[0].Unusable()
}

// IsHere reports whether a session belongs to a folder. A damaged session that does not
// name its folder belongs to every folder.
func IsHere(sum sessions.Summary, folder string) bool {
	return sum.Folder == folder || sum.Folder == "" && sum.Damaged != ""
}

// namedSessions is how many sessions an error lists.
const namedSessions = 5

// sessionsHere returns at most n sessions of this folder, last used first.
func sessionsHere(s cli.Stdio, f cli.Flags, store *sessions.Store, n int) ([]sessions.Summary, error) {
	here, err := workspace.Enter(s, f)
	if err != nil {
		return nil, err
	}
	var out []sessions.Summary
	for sum, err := range store.List() {
		if err != nil {
			return nil, err
		}
		if !IsHere(sum, here) {
			continue
		}
		if out = append(out, sum); len(out) == n {
			break
		}
	}
	return out, nil
}

// choose asks the person to choose one of the sessions of this folder.
func (r Which) choose(ctx context.Context, s cli.Stdio, f cli.Flags, store *sessions.Store) (sessions.Summary, error) {
	here, err := workspace.Enter(s, f)
	if err != nil {
		return sessions.Summary{}, err
	}
	list, err := sessionsHere(s, f, store, 1)
	if err != nil {
		return sessions.Summary{}, err
	}
	if len(list) == 0 {
		return sessions.Summary{}, cli.Usage(errors.New("this folder has no saved session"), "codeagent sessions --all lists those of other folders")
	}
	return r.Pick(ctx, here, "", store)
}

// errWhich is the error of a command that names no session: it lists some.
func errWhich(s cli.Stdio, f cli.Flags, store *sessions.Store) error {
	list, err := sessionsHere(s, f, store, namedSessions)
	if err != nil {
		return err
	}
	var hints []string
	for _, sum := range list {
		hints = append(hints, sessionLine(sum))
	}
	return cli.Usage(errors.New("which session? Name one by its ID, or take the last with --last"), append(hints, "codeagent sessions lists them")...)
}

// Error adds what to do about a session that cannot be used.
func Error(err error) error {
	var inUse *sessions.InUseError
	var damaged *sessions.DamagedError
	switch {
	case errors.As(err, &damaged):
		return cli.Hinted(cli.ExitFailed, err,
			"another session is named by its ID: codeagent sessions lists them",
			"this one can be removed: codeagent sessions delete "+damaged.ID)
	case errors.As(err, &inUse):
		return cli.Hinted(cli.ExitFailed, err, "end that one first, or resume a copy: codeagent fork "+inUse.ID)
	case errors.Is(err, sessions.ErrNotFound):
		return cli.Usage(err, "codeagent sessions --all lists them")
	}
	return cli.StorageError(err)
}

// UndoStore opens the folder of the undo histories without opening a workspace.
func UndoStore(s cli.Stdio) (*undo.Store, error) {
	paths, _, err := workspace.Places(context.Background(), s)
	if err != nil {
		return nil, err
	}
	return undo.New(paths.Undo), nil
}

// ForgetUndo removes the undo history of a deleted session.
func ForgetUndo(s cli.Stdio, id string) error {
	store, err := UndoStore(s)
	if err != nil {
		return err
	}
	return store.Remove(id)
}
