// Package sandboxcmd is `codeagent sandbox`: it runs one command of the user in the
// sandbox, as the agent would, and reports what the sandbox denied. With --learn the
// command runs outside, and the settings that it needs are printed. Read run first, then
// learn.go for what --learn still refuses.
package sandboxcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"codeagent/approvals/learn"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/exec"
	"codeagent/sandbox"

	"github.com/spf13/cobra"
)

type flags struct {
	report    string
	timeLimit time.Duration
	// learn allows nearly everything and prints what was needed; yes skips the question.
	learn, yes bool
}

// New returns the command `codeagent sandbox`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var x flags
	cmd := &cobra.Command{
		Use:   "sandbox [flags] -- CMD [ARG]...",
		Short: "Run one command in the sandbox, as the agent would",
		Long: "sandbox runs CMD with this terminal's stdin, stdout and foreground group and ends with its\n" +
			"status: 125 it could not be confined and did not run, 126 it cannot be executed, 127 it was not\n" +
			"found, 124 the wall limit, 128+n signal n, 3 it passed, without protected files that it checked out.\n" +
			"What was denied is on stderr and, complete, in the\n" +
			"JSON of --report.\n\n" +
			"With --learn the command is let out of the sandbox, but for what is protected or closed to reading,\n" +
			"and the settings under which it would have passed are printed as TOML, or written to --report.",
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(errors.New("sandbox needs a command"), "codeagent sandbox -- make test")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), s, *f, x, args)
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	fl.StringVar(&x.report, "report", "", "write what happened to this file, as JSON")
	fl.StringArrayVar(&f.Sockets, "allow-socket", nil, "a socket with a path that the command may connect to")
	fl.StringArrayVar(&f.DenyRead, "deny-read", nil, "a path or glob the command may not read")
	fl.BoolVar(&x.learn, "learn", false, "let the command do what it wants, and print the settings that it needs; asks first")
	fl.BoolVar(&x.yes, "yes", false, "with --learn: do not ask")
	fl.DurationVar(&x.timeLimit, "timeout", 0, "end the command after this time (status 124)")
	return cmd
}

func run(ctx context.Context, s cli.Stdio, f cli.Flags, x flags, argv []string) error {
	if x.yes && !x.learn {
		return cli.Usage(errors.New("--yes needs --learn"))
	}
	open := workspace.OpenForOne
	if x.learn || x.report != "" { // which need to know what is enforced
		open = workspace.Open
	}
	ws, err := open(ctx, s, f)
	if code, _, hints := cli.ExitOf(err); code == cli.ExitFailed {
		return cli.Hinted(sandbox.ExitCannotConfine, err, hints...) // a 1 would be the command's own
	}
	if err != nil {
		return err
	}
	defer ws.Close()
	report, err := cli.OpenOutput(ws.Ground(), "--report", x.report, 0o666)
	if err != nil {
		return err
	}
	defer report.Close()
	for _, w := range ws.Enforcement.Weaknesses {
		if w.ID == "unconfined" { // the others are in the report and in doctor
			fmt.Fprintf(s.Err, "codeagent: %s\n", w.What)
		}
	}
	command := exec.Command{Argv: argv, Dir: ws.Folder, Timeout: x.timeLimit, Foreground: true, Stdin: s.In, Stdout: s.Out}
	var lesson *learn.Lesson
	if x.learn {
		if lesson, err = beginLearning(ctx, ws, x, argv); err != nil {
			return err
		}
		command.Learn, command.Evidence = lesson.Learn, sandbox.EvidenceFull
	}
	stderr, err := newTee(s.Err)
	if err != nil {
		return err
	}
	command.Stderr = stderr.file
	t := ws.Trust(ctx)
	if words := t.Words(); words != "" {
		fmt.Fprintf(s.Err, "codeagent: %s\n", words)
	}
	ws.Policy = t.Protect(ws.Policy)
	shared := exec.SaveTerminal(s.In, s.Out, s.Err)
	defer shared.Restore() // after a panic as well
	outcome, err := ws.Runner.Run(ctx, ws.Policy, command, nil)
	shared.Restore()
	outcome.Output = stderr.end()
	if err != nil && outcome.TimedOut {
		return errors.Join(cli.ErrTimeLimit, err)
	}
	if err != nil {
		return ws.Unfit(err)
	}
	outcome.Limit = exec.Reached(ws.Policy.Limits, outcome)
	outcome.Verdict = exec.Judge(ws.Policy, outcome, ws.Files, ws.Folder)
	f.Process.Log.Denied("", outcome.Verdict)
	r := newReport(ws.Enforcement, outcome)
	flags, left := ws.Place.Flags(ws.Config, strings.Join(argv, " "), r.Suggest, outcome.Verdict.Needs())
	r.summarize(s.Err, flags, slices.Concat(left, outcome.Verdict.Left))
	switch {
	case lesson != nil && report != nil:
		err = report.Write(func(w io.Writer) error { return learned(ws, w, lesson, outcome) })
	case lesson != nil:
		err = learned(ws, s.Out, lesson, outcome)
	case report != nil:
		err = report.Write(func(w io.Writer) error { return cli.PrintJSON(w, r, "  ") })
	}
	if err != nil {
		return err
	}
	if code := r.ExitCode; code != 0 {
		return cli.StatusError(code)
	}
	return nil
}
