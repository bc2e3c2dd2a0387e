package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codeagent/exec"

	"github.com/spf13/cobra"
)

type sandboxFlags struct {
	report    string
	hosts     []string
	sockets   []string
	denyRead  []string
	timeLimit time.Duration
}

func newSandbox(s stdio, f *flags) *cobra.Command {
	var x sandboxFlags
	cmd := &cobra.Command{
		Use:   "sandbox [flags] -- CMD [ARG]...",
		Short: "Run one command in the sandbox, as the agent would",
		Long: "sandbox runs CMD with this terminal's stdin, stdout and foreground group and ends with its\n" +
			"status: 125 it could not be confined and did not run, 126 it cannot be executed, 127 it was not\n" +
			"found, 124 the wall limit, 128+n signal n. What was refused is told on stderr and, whole, in the\n" +
			"JSON of --report.",
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{err: errors.New("sandbox needs a command"), hints: []string{"codeagent sandbox -- make test"}}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSandbox(cmd.Context(), s, *f, x, args)
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	fl.StringVar(&x.report, "report", "", "write what happened to this file, as JSON")
	fl.StringArrayVar(&x.hosts, "allow-host", nil, "a host the command may reach, as name:port")
	fl.StringArrayVar(&x.sockets, "allow-socket", nil, "a socket with a path that the command may connect to")
	fl.StringArrayVar(&x.denyRead, "deny-read", nil, "a path or glob the command may not read")
	fl.DurationVar(&x.timeLimit, "timeout", 0, "end the command after this time (status 124)")
	return cmd
}

func runSandbox(ctx context.Context, s stdio, f flags, x sandboxFlags, argv []string) error {
	report, err := openOutput(x.report) // before the command can plant anything there
	if err != nil {
		return err
	}
	if report != nil {
		defer report.Close()
	}
	box, err := newBox(s, f, x)
	if err != nil {
		return err
	}
	defer box.close()
	for _, w := range box.enforcement.Weaknesses {
		if w.ID == "unconfined" { // the others are in the report and in doctor
			fmt.Fprintf(s.Err, "codeagent: %s\n", w.What)
		}
	}
	stderr, err := newTee(s.Err)
	if err != nil {
		return err
	}
	outcome, err := box.runner.Run(ctx, box.policy, exec.Command{
		Argv: argv, Dir: box.workspace, Timeout: x.timeLimit,
		Foreground: true, Stdin: s.In, Stdout: s.Out, Stderr: stderr.file,
	}, nil)
	outcome.Output = stderr.end()
	if err != nil {
		return err
	}
	outcome.Limit = exec.Reached(box.policy.Limits, outcome)
	outcome.Verdict = exec.Classify(box.policy, outcome, box.resolver, box.workspace)
	r := newReport(box.enforcement, outcome)
	r.summarize(s.Err)
	if report != nil {
		if err := r.write(report); err != nil {
			return err
		}
	}
	if code := r.ExitCode; code != 0 {
		return statusError(code)
	}
	return nil
}
