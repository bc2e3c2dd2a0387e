package main

import (
	"context"
	"errors"
	"strings"

	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sessionscmd"

	"github.com/spf13/cobra"
)

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
	r := sessionscmd.Which{Fork: fork}
	var o interactiveOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.NoScreen(); err != nil {
				return err
			}
			r.Pick = pickSession(s, *f, fork)
			from, rest, err := r.Find(cmd.Context(), s, *f, args)
			if err != nil {
				return err
			}
			o.from = from
			return runInteractive(cmd.Context(), s, *f, o, rest)
		},
	}
	attach.Flag(cmd.Flags(), &o.images)
	r.Add(cmd, strings.Fields(use)[0])
	return cmd
}

// newExecFrom is `exec resume` or `exec fork`.
func newExecFrom(s cli.Stdio, f *cli.Flags, x *execFlags, verb, short string, fork bool) *cobra.Command {
	r := sessionscmd.Which{Fork: fork}
	cmd := &cobra.Command{
		Use: verb + " (ID | --last) [PROMPT | -]", Short: short,
		Long: verb + " takes the prompt as exec does, and works in the session's own folder unless --cd names another.",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExecFrom(cmd.Context(), s, *f, *x, r, args)
		},
	}
	r.Add(cmd, verb)
	return cmd
}

func runExecFrom(ctx context.Context, s cli.Stdio, f cli.Flags, x execFlags, r sessionscmd.Which, args []string) error {
	from, rest, err := r.Find(ctx, s, f, args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return &cli.UsageError{Err: errors.New("with --last there is no ID: it takes one prompt")}
	}
	x.from = from
	return runExec(ctx, s, f, x, rest)
}
