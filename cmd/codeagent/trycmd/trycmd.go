// Package trycmd is `codeagent try`: it runs one command of the user on a draft, shows what it changed, and keeps
// that or drops it. The files themselves change only through a file worker that the policy confines. Read run first,
// then decide.go for the questions and report.go for the words.
package trycmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/learning"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/draft"
	"codeagent/exec"
	"codeagent/internal/visible"
	"codeagent/model"
	"codeagent/sandbox"
	sessions "codeagent/session"
	"codeagent/undo"

	"github.com/spf13/cobra"
)

type flags struct {
	keep, drop, json bool
	draft            string
	timeLimit        time.Duration
}

// New returns the command `codeagent try`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var x flags
	cmd := &cobra.Command{
		Use:   "try [flags] -- CMD [ARG]...",
		Short: "Run one command on a draft, and decide about its changes afterwards",
		Long: "try runs CMD in the sandbox on a draft: it sees the files as they are, its changes go elsewhere, and it\n" +
			"has no network. Then try shows what CMD changed and asks whether to keep all of it, some of it or\n" +
			"nothing. codeagent undo takes back what was kept. The status is that of CMD, as with codeagent\n" +
			"sandbox; 3 where CMD passed and a change could not be kept. Such changes stay in the draft, and\n" +
			"--draft ID asks about them again.",
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && x.draft == "":
				return cli.Usage(errors.New("try needs a command"), "codeagent try -- make generate")
			case len(args) > 0 && x.draft != "":
				return cli.Usage(errors.New("--draft asks about an earlier command, so it takes none"))
			case x.keep && x.drop:
				return cli.Usage(errors.New("--keep and --drop exclude each other"))
			case !x.keep && !x.drop && (x.json || !learning.CanAsk(s)):
				return cli.Usage(errors.New("try asks what to keep, and there is no terminal to ask on"), "--keep keeps all, --drop drops all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), s, *f, x, args) },
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	fl.BoolVar(&x.keep, "keep", false, "keep all changes, without a question")
	fl.BoolVar(&x.drop, "drop", false, "drop all changes, without a question")
	fl.BoolVar(&x.json, "json", false, "print what happened as JSON on stdout; the output of CMD goes to stderr")
	fl.StringVar(&x.draft, "draft", "", "decide about the draft with this ID")
	fl.DurationVar(&x.timeLimit, "timeout", 0, "end the command after this time (status 124)")
	return cmd
}

func run(ctx context.Context, s cli.Stdio, f cli.Flags, x flags, argv []string) error {
	ws, err := workspace.Open(ctx, s, f)
	if code, _, hints := cli.ExitOf(err); code == cli.ExitFailed && x.draft == "" {
		return cli.Hinted(sandbox.ExitCannotConfine, err, hints...) // a 1 would be the command's own
	}
	if err != nil {
		return err
	}
	defer ws.Close()
	draft.Sweep(ws.Paths.Drafts)
	t := &trial{Workspace: ws, how: x}
	if x.draft != "" {
		t.draft, err = draft.Open(ws.Paths.Drafts, x.draft)
		if errors.Is(err, draft.ErrNone) {
			err = cli.Hinted(cli.ExitFailed, fmt.Errorf("there is no draft %s", visible.Line(x.draft)))
		}
		if err == nil { // a session may work on it
			unlock, locked := t.draft.Lock()
			if err = locked; err == nil {
				defer unlock()
			}
		}
	} else if t.draft, err = draft.New(ws.Paths.Drafts, ws.Folder, argv, ws.Policy); err == nil {
		err = t.run(ctx, argv)
	}
	if err == nil {
		err = t.settle(ctx)
	}
	if err != nil {
		return err
	}
	if x.json {
		err = cli.PrintJSON(s.Out, t.report, "  ")
	} else {
		t.report.words(s.Err)
	}
	switch code := t.report.ExitCode; {
	case err != nil:
		return err
	case code == 0 && t.report.Draft != "":
		return cli.StatusError(cli.ExitRefused)
	case code != 0:
		return cli.StatusError(code)
	}
	return nil
}

// trial is one run of try.
type trial struct {
	*workspace.Workspace
	how    flags
	draft  *draft.Draft
	report Report
	// session keeps changes in a session; nil: in one of their own.
	session func(context.Context, *draft.Draft, []draft.Change) ([]draft.Change, []draft.Left, error)
}

// run runs the command on the draft.
func (t *trial) run(ctx context.Context, argv []string) error {
	s, policy := t.Stdio, t.Trust(ctx).Protect(t.Policy)
	out := s.Out
	if t.how.json {
		out = s.Err
	}
	shared := exec.SaveTerminal(s.In, s.Out, s.Err)
	defer shared.Restore() // after a panic as well
	outcome, err := t.Runner.Run(ctx, policy, exec.Command{
		Argv: argv, Dir: t.Folder, Timeout: t.how.timeLimit, Draft: t.draft,
		Foreground: true, Stdin: s.In, Stdout: out, Stderr: s.Err,
	}, nil)
	shared.Restore()
	if err != nil {
		err = t.Unfit(err)
		if outcome.TimedOut {
			err = errors.Join(cli.ErrTimeLimit, err)
		}
		return errors.Join(err, t.draft.Drop())
	}
	outcome.Limit = exec.Reached(policy.Limits, outcome)
	outcome.Verdict = exec.Judge(policy, outcome, t.Files, t.Folder)
	t.report.ran(outcome)
	return t.draft.Save() // a kill while the person reads loses nothing
}

// keep keeps changes under the policy of this run, as a turn of a session of its own, which codeagent undo finds.
func (t *trial) keep(ctx context.Context, changes []draft.Change) (kept []draft.Change, left []draft.Left, err error) {
	if t.session != nil {
		return t.session(ctx, t.draft, changes)
	}
	title := "try " + strings.Join(t.draft.Command(), " ")
	log := sessions.New(t.Paths.Sessions).Create(sessions.Info{ID: sessions.NewID(), Folder: t.Folder, Program: t.Process.Version})
	defer log.Close()
	if err := log.Append(model.Item{Kind: model.Note, Text: title}); err != nil {
		return nil, nil, cli.StorageError(err)
	}
	history, err := undo.New(t.Paths.Undo).Open(log.ID())
	if err != nil {
		return nil, nil, cli.StorageError(err)
	}
	defer history.Close()
	history.Begin(title)
	defer history.End()
	call := history.Call()
	defer call.Settle()
	files, err := t.Runner.Files(ctx, t.Policy, call)
	if err != nil {
		return nil, nil, err
	}
	defer files.Close()
	return t.draft.Keep(ctx, files, changes)
}
