// Package undocmd is `codeagent undo`, and what it shares with /undo on the screen: the
// flags that would give more permissions, and the restoring. Files change only through a
// file worker that the policy confines; package undo decides what can be undone. Read run
// first.
package undocmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/model"
	"codeagent/sandbox"
	sessions "codeagent/session"
	"codeagent/undo"

	"github.com/spf13/cobra"
)

// New returns the command `codeagent undo`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var how undoHow
	cmd := &cobra.Command{
		Use: "undo [ID]", Short: "Undo what the last turn changed in files",
		Long: "undo puts back what the last turn of a session changed in files: of the session ID, else of the\n" +
			"one last used in this folder that changed something. What you changed yourself since is left alone\n" +
			"and listed; it can be undone later, once it is as the agent left it. Called again undo goes back one\n" +
			"more turn. A turn of which nothing can be put back stays the last one: --skip passes over it. The\n" +
			"status is 1 where nothing was restored. --redo takes the last undo, or the files of a rewind, back;\n" +
			"called again, the one before it, until the session goes on.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				how.id = args[0]
			}
			if how.redo && how.skip > 0 {
				return cli.Usage(errors.New("--redo takes the last undo back; --skip passes over turns to undo"))
			}
			return run(cmd.Context(), s, *f, how)
		},
	}
	cmd.Flags().BoolVar(&how.dry, "dry-run", false, "show what would be done, and do nothing")
	cmd.Flags().BoolVar(&how.redo, "redo", false, "take the last undo back")
	cmd.Flags().CountVar(&how.skip, "skip", "leave the last turn as it is and undo the one before it; again for one more")
	return cmd
}

// undoHow is the parsed command line of undo.
type undoHow struct {
	id   string // of the session; "" means the last one
	dry  bool
	redo bool
	skip int // how many turns to skip
}

// further returns the command that skips one more turn.
func (h undoHow) further() string {
	h.skip++
	return h.command()
}

// command returns the command that was typed, without --dry-run.
func (h undoHow) command() string {
	command := "codeagent undo"
	if h.id != "" {
		command += " " + h.id
	}
	if h.redo {
		command += " --redo"
	}
	return command + strings.Repeat(" --skip", h.skip)
}

func run(ctx context.Context, s cli.Stdio, f cli.Flags, how undoHow) error {
	sum, err := undoneSession(s, f, how.id)
	if err != nil {
		return err
	}
	if f.Folder == "" {
		f.Folder = sum.Folder
	} else {
		how.id = sum.ID // so that the suggested commands work in any folder
	}
	b, err := workspace.Open(ctx, s, f)
	if err != nil {
		return err
	}
	defer b.Close()
	// A running session holds this lock: its turns must not be undone meanwhile.
	log, err := sessions.New(b.Paths.Sessions).Open(sessions.Info{ID: sum.ID, Folder: sum.Folder, Program: f.Process.Version})
	if err != nil {
		return sessionscmd.Error(err)
	}
	defer log.Close()
	kept, err := undo.New(b.Paths.Undo).Open(sum.ID)
	if err != nil {
		return cli.StorageError(err)
	}
	defer kept.Close()
	p, err := planned(kept, undo.MayChange(b.Policy), how)
	if errors.Is(err, undo.ErrNothing) {
		return cli.Hinted(cli.ExitFailed, fmt.Errorf("nothing to %s in session %s", how.verb(), sum.ID), "another session is named by its ID: codeagent sessions lists them")
	}
	if err != nil {
		return err
	}
	if err := Unrecorded(p, how.further()); err != nil {
		return err
	}
	if !b.Policy.Unconfined {
		p.LeaveRepositories()
	}
	p.LeaveProtected()
	restores := Opening(b, p)
	if restores != "" {
		restores = ": " + how.command() + restores
	}
	fmt.Fprintln(s.Err, "codeagent: "+TurnOf(p))
	r := undo.Report{Done: p.Steps}
	if !how.dry {
		r, err = Apply(ctx, b, kept, p, b.Policy)
	}
	result := ResultOf(p, r, restores)
	for _, line := range result.Left {
		fmt.Fprintln(s.Err, "codeagent: "+line)
	}
	for _, line := range result.Did {
		fmt.Fprintln(s.Text, line)
	}
	if how.dry {
		return nil
	}
	if note := p.Note(r); note != "" {
		err = errors.Join(err, log.Append(model.Item{Kind: model.Note, Text: note}))
	}
	switch {
	case err == nil && len(r.Done) == 0:
		var hints []string
		if !how.redo {
			hints = []string{"the turn before it: " + how.further()}
		}
		if len(p.Conflicts)+len(p.NotKept)+len(r.Failed) > 0 {
			hints = slices.Insert(hints, 0, "what was left alone can be undone once it is again as the agent left it")
		}
		return cli.Hinted(cli.ExitFailed, errors.New("nothing was restored"), hints...)
	case err == nil && len(r.Failed) > 0:
		return cli.StatusError(cli.ExitFailed)
	}
	return err
}

func (h undoHow) verb() string {
	if h.redo {
		return "redo"
	}
	return "undo"
}

// planned returns the plan for the last turn with something to undo, after those to skip, or for the last undo.
func planned(kept *undo.History, may func(undo.Step) string, how undoHow) (*undo.Plan, error) {
	if how.redo {
		return kept.PlanRedo(may)
	}
	p, err := kept.Plan(may)
	for skip := how.skip; err == nil && skip > 0; skip-- {
		p, err = kept.Earlier(p, may)
	}
	return p, err
}

// undoneSession finds the session: the named one, or the last one here with an undo history.
func undoneSession(s cli.Stdio, f cli.Flags, id string) (sessions.Summary, error) {
	store, err := sessionscmd.Store(s)
	if err != nil {
		return sessions.Summary{}, err
	}
	if id != "" {
		sum, err := store.Find(id)
		return sum, sessionscmd.Error(err)
	}
	here, err := workspace.Enter(s, f)
	if err != nil {
		return sessions.Summary{}, err
	}
	kept, err := sessionscmd.UndoStore(s)
	if err != nil {
		return sessions.Summary{}, err
	}
	for sum, err := range store.List() {
		if err != nil {
			return sum, cli.StorageError(err)
		}
		if sessionscmd.IsHere(sum, here) && kept.Has(sum.ID) {
			if err := sum.Unusable(); err != nil {
				return sum, sessionscmd.Error(err)
			}
			return sum, nil
		}
	}
	return sessions.Summary{}, cli.Hinted(cli.ExitFailed, errors.New("nothing to undo: no session in this folder changed anything"),
		"a session of another folder is named by its ID: codeagent sessions --all lists them")
}

// Result is what undoing a turn did, or would do, in lines that every face without a screen prints.
type Result struct{ Did, Left []string }

// ResultOf puts p and r into words; r is what was done, or has the steps of p. restores is how to restore
// what this run may not, or "".
func ResultOf(p *undo.Plan, r undo.Report, restores string) (out Result) {
	for _, s := range r.Done {
		out.Did = append(out.Did, fmt.Sprintf("%-8s  %s", s.Do, visible.Line(s.Path)))
	}
	leave := func(how, path, why string) {
		out.Left = append(out.Left, fmt.Sprintf("%s: %s: %s", how, visible.Line(path), visible.Line(why)))
	}
	if p.Cut {
		out.Left = append(out.Left, "the turn was cut off before its end")
	}
	for _, l := range p.Conflicts {
		leave("left alone", l.Path, l.Why)
	}
	for _, l := range p.NotKept {
		leave("not kept", l.Path, l.Why)
	}
	for _, l := range r.Failed {
		leave("failed", l.Path, l.Why)
	}
	if p.More != "" {
		out.Left = append(out.Left, "not everything was saved: "+visible.Line(p.More))
	}
	for _, c := range p.Closed {
		leave("saved, but not restored", c.Path, c.Reason(restores != ""))
	}
	if restores != "" {
		out.Left = append(out.Left, "to restore it"+visible.Line(restores))
	}
	return out
}

// TurnOf names the turn of p.
func TurnOf(p *undo.Plan) string {
	return fmt.Sprintf("turn of %s: %s", p.Began.Local().Format("2006-01-02 15:04"), visible.Line(p.Title))
}

// Unrecorded returns an error for a turn without a record; skip says how to pass over it. To undo the one before it
// would, without a warning, restore something that the user did not ask for.
func Unrecorded(p *undo.Plan, skip string) error {
	if !p.Unrecorded {
		return nil
	}
	return cli.Hinted(cli.ExitFailed, fmt.Errorf("the turn of %s could not be recorded: %s; what it changed cannot be restored", p.Began.Local().Format("2006-01-02 15:04"), visible.Line(p.More)),
		"nothing was changed now; the turn before it: "+skip)
}

// Opening returns the flags with which undo can restore everything in p that the policy
// forbids; "" if no flag helps.
func Opening(b *workspace.Workspace, p *undo.Plan) string {
	dirs, files := p.Opening(func(dirs, files []string) (sandbox.Policy, error) {
		cfg := b.Config
		cfg.Sandbox.AddDirs = slices.Concat(cfg.Sandbox.AddDirs, dirs)
		cfg.Sandbox.AddFiles = slices.Concat(cfg.Sandbox.AddFiles, files)
		return config.Policy(cfg, b.Place)
	})
	var out strings.Builder
	for _, d := range dirs {
		out.WriteString(" --add-dir " + short.ShellWord(d))
	}
	for _, f := range files {
		out.WriteString(" --add-file " + short.ShellWord(f))
	}
	return out.String()
}

// Apply executes p through a file worker that is confined by policy.
func Apply(ctx context.Context, b *workspace.Workspace, s *undo.History, p *undo.Plan, policy sandbox.Policy) (undo.Report, error) {
	files, err := b.Runner.Files(ctx, policy, nil)
	if err != nil {
		return undo.Report{}, err
	}
	defer files.Close()
	return s.Apply(ctx, p, files)
}
