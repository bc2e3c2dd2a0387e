package main

import (
	"context"
	"errors"
	"fmt"

	"codeagent/internal/visible"
	"codeagent/model"
	sessions "codeagent/session"
	"codeagent/undo"

	"github.com/spf13/cobra"
)

func newUndo(s stdio, f *flags) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "undo [ID]", Short: "Undo what the last turn changed in files",
		Long: "undo puts back what the last turn of a session changed in files: of the session ID, else of the\n" +
			"one last used in this folder that changed something. What you changed yourself since is left alone\n" +
			"and listed. Called again it goes back one more turn.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) == 1 {
				id = args[0]
			}
			return runUndo(cmd.Context(), s, *f, id, dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and do nothing")
	return cmd
}

func runUndo(ctx context.Context, s stdio, f flags, id string, dry bool) error {
	sum, err := undoneSession(s, f, id)
	if err != nil {
		return err
	}
	if f.folder == "" {
		f.folder = sum.Folder
	}
	b, err := newBox(s, f, sandboxFlags{})
	if err != nil {
		return err
	}
	defer b.close()
	// Whoever works in the session holds it: its turns are not to be pulled away.
	log, err := sessions.New(b.paths.Sessions).Open(sessions.Info{ID: sum.ID, Folder: sum.Folder, Program: version})
	if err != nil {
		return sessionError(err)
	}
	defer log.Close()
	kept, err := undo.New(b.paths.Undo).Open(sum.ID)
	if err != nil {
		return err
	}
	defer kept.Close()
	p, err := kept.Plan(mayChange(b.policy))
	if errors.Is(err, undo.ErrNothing) {
		fmt.Fprintln(s.Err, "codeagent: nothing to undo in session "+sum.ID)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "codeagent: turn of %s: %s\n", p.Began.Local().Format("2006-01-02 15:04"), visible.Line(p.Title))
	tellUndone(s, p)
	if dry {
		printSteps(s, p.Steps)
		return nil
	}
	r, err := applyUndo(ctx, b, kept, p, b.policy)
	printSteps(s, r.Done)
	for _, l := range r.Failed {
		fmt.Fprintf(s.Err, "codeagent: failed: %s: %s\n", visible.Line(l.Path), visible.Line(l.Why))
	}
	if note := undoneNote(p, r); note != "" {
		err = errors.Join(err, log.Append(model.Item{Kind: model.Note, Text: note}))
	}
	if err == nil && len(r.Failed) > 0 {
		return statusError(exitFailed)
	}
	return err
}

// undoneSession finds the session: the named one, or the last here of which
// something is kept.
func undoneSession(s stdio, f flags, id string) (sessions.Summary, error) {
	store, err := sessionStore(s)
	if err != nil {
		return sessions.Summary{}, err
	}
	if id != "" {
		sum, err := store.Find(id)
		return sum, sessionError(err)
	}
	here, err := workspaceOf(s, f)
	if err != nil {
		return sessions.Summary{}, err
	}
	kept, err := undoStore(s)
	if err != nil {
		return sessions.Summary{}, err
	}
	for sum, err := range store.List() {
		if err != nil {
			return sum, err
		}
		if sum.Folder == here && kept.Has(sum.ID) {
			return sum, nil
		}
	}
	return sessions.Summary{}, &hintError{err: errors.New("nothing to undo: no session in this folder changed anything"), code: exitFailed,
		hints: []string{"a session of another folder is named by its ID: codeagent sessions --all lists them"}}
}

// forgetUndo removes what is kept for a session that is deleted.
func forgetUndo(s stdio, id string) error {
	store, err := undoStore(s)
	if err != nil {
		return err
	}
	return store.Remove(id)
}

func printSteps(s stdio, steps []undo.Step) {
	for _, step := range steps {
		fmt.Fprintf(s.Out, "%-8s  %s\n", step.Do, visible.Line(step.Path))
	}
}

// tellUndone says what is left as it is.
func tellUndone(s stdio, p *undo.Plan) {
	if p.Cut {
		fmt.Fprintln(s.Err, "codeagent: the turn was cut off before its end")
	}
	for _, l := range p.Conflicts {
		fmt.Fprintf(s.Err, "codeagent: left alone: %s: %s\n", visible.Line(l.Path), visible.Line(l.Why))
	}
	for _, l := range p.NotKept {
		fmt.Fprintf(s.Err, "codeagent: not kept: %s: %s\n", visible.Line(l.Path), visible.Line(l.Why))
	}
	if p.More != "" {
		fmt.Fprintf(s.Err, "codeagent: not all was kept: %s\n", visible.Line(p.More))
	}
}
