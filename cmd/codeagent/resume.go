package main

import (
	"context"
	"errors"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	sessions "codeagent/session"
	"codeagent/tui"

	"github.com/spf13/cobra"
)

// resumeFlags say which session is gone on with, and how.
type resumeFlags struct {
	last, all bool
	fork      bool
	before    int
	// picks: where no session is named somebody is there to choose one.
	picks bool
}

// resumed is the session that a run goes on with.
type resumed struct {
	id, folder string
	// fork leaves the session as it is and goes on with a copy.
	fork bool
	// before is the message from which on nothing counts any more; 0 for none.
	before int
	// after another session of this run, which --model was said for.
	after bool
}

func (r *resumeFlags) add(cmd *cobra.Command, verb string) {
	fl := cmd.Flags()
	fl.BoolVar(&r.last, "last", false, verb+" the session that was last used in this folder")
	fl.BoolVar(&r.all, "all", false, "with --last: in any folder")
	fl.IntVar(&r.before, "before", 0, "go back: leave out message N and all that came after it (codeagent sessions show ID counts them)")
}

func newResume(s cli.Stdio, f *cli.Flags) *cobra.Command {
	return interactiveFrom(s, f, "resume [ID | --last] [PROMPT]", "Go on with an earlier session", false,
		"resume goes on with a session on the screen, in its own folder unless --cd names another, and with the\n"+
			"model that it asked last unless --model names another. Permissions that were granted for the session\n"+
			"are asked for anew.")
}

func newFork(s cli.Stdio, f *cli.Flags) *cobra.Command {
	return interactiveFrom(s, f, "fork [ID | --last] [PROMPT]", "Go on with a copy of an earlier session", true,
		"fork goes on as resume does, with a copy: the session itself stays as it is.")
}

func interactiveFrom(s cli.Stdio, f *cli.Flags, use, short string, fork bool, long string) *cobra.Command {
	r := resumeFlags{fork: fork, picks: true}
	var o interactiveOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.NoScreen(); err != nil {
				return err
			}
			from, rest, err := r.find(cmd.Context(), s, *f, args)
			if err != nil {
				return err
			}
			o.from = from
			return runInteractive(cmd.Context(), s, *f, o, rest)
		},
	}
	imageFlag(cmd.Flags(), &o.images)
	r.add(cmd, strings.Fields(use)[0])
	return cmd
}

// newExecFrom is `exec resume` or `exec fork`.
func newExecFrom(s cli.Stdio, f *cli.Flags, x *execFlags, verb, short string, fork bool) *cobra.Command {
	r := resumeFlags{fork: fork}
	cmd := &cobra.Command{
		Use: verb + " (ID | --last) [PROMPT | -]", Short: short,
		Long: verb + " takes the prompt as exec does, and works in the session's own folder unless --cd names another.",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExecFrom(cmd.Context(), s, *f, *x, r, args)
		},
	}
	r.add(cmd, verb)
	return cmd
}

func runExecFrom(ctx context.Context, s cli.Stdio, f cli.Flags, x execFlags, r resumeFlags, args []string) error {
	from, rest, err := r.find(ctx, s, f, args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return &cli.UsageError{Err: errors.New("with --last there is no ID: it takes one prompt")}
	}
	x.from = from
	return runExec(ctx, s, f, x, rest)
}

// sessionStore finds the folder of the sessions without anything else of a run.
func sessionStore(s cli.Stdio) (*sessions.Store, error) {
	paths, _, err := workspace.Places(context.Background(), s)
	if err != nil {
		return nil, err
	}
	return sessions.New(paths.Sessions), nil
}

// find settles which session is meant and returns the arguments that are left.
// It changes nothing: the run may not come about.
func (r resumeFlags) find(ctx context.Context, s cli.Stdio, f cli.Flags, args []string) (*resumed, []string, error) {
	store, err := sessionStore(s)
	if err != nil {
		return nil, nil, err
	}
	var sum sessions.Summary
	switch {
	case r.last:
		sum, err = lastUsed(s, f, store, r.all)
	case len(args) == 0 && r.picks:
		sum, err = r.pickSession(ctx, s, f, store)
	case len(args) == 0:
		err = whichSession(s, f, store)
	default:
		sum, err = store.Find(args[0])
		args = args[1:]
	}
	if err != nil {
		return nil, nil, sessionError(err)
	}
	if r.before < 0 {
		return nil, nil, &cli.UsageError{Err: errors.New("--before counts messages from 1")}
	}
	if f.Folder == "" {
		if err := folderThere(sum); err != nil {
			return nil, nil, &cli.UsageError{Err: err, Hints: []string{"name the folder to work in with --cd"}}
		}
	}
	return &resumed{id: sum.ID, folder: sum.Folder, fork: r.fork, before: r.before}, args, nil
}

// lastUsed is the session last used in this folder, or anywhere.
func lastUsed(s cli.Stdio, f cli.Flags, store *sessions.Store, all bool) (sessions.Summary, error) {
	if all {
		for sum, err := range store.List() {
			return usable(sum, err)
		}
		return sessions.Summary{}, &cli.UsageError{Err: errors.New("no session has been kept")}
	}
	list, err := sessionsHere(s, f, store, 1)
	if err == nil && len(list) == 0 {
		err = &cli.UsageError{Err: errors.New("no session has been kept in this folder"), Hints: []string{"--all takes the last one of any folder"}}
	}
	if err != nil {
		return sessions.Summary{}, err
	}
	return usable(list[0], nil)
}

// usable fails for a session that cannot be used: an older one in its place would go on
// with another conversation than was meant.
func usable(sum sessions.Summary, err error) (sessions.Summary, error) {
	if err == nil && sum.Damaged != "" {
		err = &sessions.DamagedError{ID: sum.ID, Why: sum.Damaged}
	}
	return sum, err
}

// isHere reports whether a session belongs to a folder. A damaged one that does not say
// its folder belongs to each.
func isHere(sum sessions.Summary, folder string) bool {
	return sum.Folder == folder || sum.Folder == "" && sum.Damaged != ""
}

// namedSessions is how many sessions an error names.
const namedSessions = 5

// sessionsHere yields at most n sessions of this folder, last used first.
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
		if !isHere(sum, here) {
			continue
		}
		if out = append(out, sum); len(out) == n {
			break
		}
	}
	return out, nil
}

// pickSession lets the person choose, before the session's screen opens.
func (r resumeFlags) pickSession(ctx context.Context, s cli.Stdio, f cli.Flags, store *sessions.Store) (sessions.Summary, error) {
	list, err := sessionsHere(s, f, store, 1)
	if err != nil {
		return sessions.Summary{}, err
	}
	if len(list) == 0 {
		return sessions.Summary{}, &cli.UsageError{Err: errors.New("no session has been kept in this folder"), Hints: []string{"codeagent sessions --all lists those of others"}}
	}
	here, err := workspace.Enter(s, f)
	if err != nil {
		return sessions.Summary{}, err
	}
	k := &keptSessions{s: s, store: store, here: here, elsewhere: f.Folder != "", fork: r.fork}
	if err := tui.New(tui.Options{In: s.In, Out: s.Out, Environ: s.Environ, Sessions: k}).PickSession(ctx); err != nil {
		return sessions.Summary{}, err
	}
	if k.next == nil {
		return sessions.Summary{}, cli.StatusError(cli.ExitOK)
	}
	return store.Find(k.next.id)
}

// whichSession is the error of a command that names none: it names some.
func whichSession(s cli.Stdio, f cli.Flags, store *sessions.Store) error {
	list, err := sessionsHere(s, f, store, namedSessions)
	if err != nil {
		return err
	}
	e := &cli.UsageError{Err: errors.New("which session? Name one by its ID, or take the last with --last")}
	for _, sum := range list {
		e.Hints = append(e.Hints, sessionLine(sum))
	}
	e.Hints = append(e.Hints, "codeagent sessions lists them")
	return e
}

// sessionError says what to do about a session that cannot be used.
func sessionError(err error) error {
	var inUse *sessions.InUseError
	var damaged *sessions.DamagedError
	switch {
	case errors.As(err, &damaged):
		return &cli.HintError{Err: err, Code: cli.ExitFailed, Hints: []string{
			"another session is named by its ID: codeagent sessions lists them",
			"this one can be removed: codeagent sessions delete " + damaged.ID,
		}}
	case errors.As(err, &inUse):
		return &cli.HintError{Err: err, Code: cli.ExitFailed, Hints: []string{
			"end that one first, or go on with a copy: codeagent fork " + inUse.ID,
		}}
	case errors.Is(err, sessions.ErrNotFound):
		return &cli.UsageError{Err: err, Hints: []string{"codeagent sessions --all lists them"}}
	}
	return cli.StorageError(err)
}
