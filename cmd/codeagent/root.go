package main

import (
	"context"
	"errors"
	"fmt"

	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/doctor"
	"codeagent/cmd/codeagent/sandboxcmd"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/undocmd"
	"codeagent/sandbox"

	"github.com/spf13/cobra"
)

// run is the whole program as a function: arguments and surroundings in, exit
// status out.
func run(args []string, s cli.Stdio) int {
	s.Text = &cli.Output{W: s.Out}
	s.Version, s.HelperSum = version, helperSum
	ctx, stop := withSignals(context.Background(), s)
	defer stop()
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Text)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if err == nil && s.Text.Err != nil {
		err = fmt.Errorf("write the output: %w", s.Text.Err)
	}
	var sig *cli.SignalError
	if errors.As(context.Cause(ctx), &sig) && err != nil {
		var left *sandbox.LeftError
		if errors.As(err, &left) {
			err = errors.Join(sig, left)
		} else {
			err = sig // whatever it led to, the signal is why
		}
	}
	return cli.Report(s, err)
}

func newRoot(s cli.Stdio) *cobra.Command {
	f := &cli.Flags{}
	var o interactiveOptions
	root := &cobra.Command{
		Use:   "codeagent [PROMPT]",
		Short: "A coding agent whose commands run in a sandbox",
		Long: "codeagent works on the current folder with a language model. Every command runs in a\n" +
			"sandbox; what it refuses is told to the model, which may ask you for just that.\n" +
			"Without a model configured it plays a built-in tour with the real sandbox.",
		Version:       s.Version, // without a template for it: text/template weighs 3 MB
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInteractive(cmd.Context(), s, *f, o, args)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &cli.UsageError{Err: err, Hints: []string{fmt.Sprintf("see %s --help", cmd.CommandPath())}}
	})
	p := root.PersistentFlags()
	p.StringVarP(&f.Sandbox, "sandbox", "s", "", "what commands may touch: read-only, workspace-write, danger-full-access, strict")
	p.StringVarP(&f.Approval, "ask-for-approval", "a", "", "when to ask: untrusted, on-request, on-failure, never")
	p.StringVarP(&f.Model, "model", "m", "", "the model to use")
	p.StringVarP(&f.Folder, "cd", "C", "", "work in this folder")
	p.StringArrayVar(&f.AddDirs, "add-dir", nil, "a further folder that commands may write")
	p.StringArrayVar(&f.AddFiles, "add-file", nil, "a single file that commands may write; it may be absent yet")
	p.StringArrayVar(&f.Hosts, "allow-host", nil, "a host that commands and fetch_url may reach, as name:port")
	p.StringArrayVar(&f.FetchHosts, "allow-fetch", nil, "a host whose pages fetch_url may read, and commands may not, as name:port")
	p.StringArrayVarP(&f.Settings, "config", "c", nil, "set one setting, as key=value")
	attach.Flag(root.Flags(), &o.images)
	root.Flags().BoolVar(&o.ephemeral, "ephemeral", false, "keep no session of this run")
	root.AddCommand(newExec(s, f), newResume(s, f), newFork(s, f), sessionscmd.New(s, f), undocmd.New(s, f), sandboxcmd.New(s, f), doctor.New(s, f), newVersion(s))
	root.CompletionOptions.HiddenDefaultCmd = false
	cli.ExplainArguments(root)
	return root
}

func newVersion(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.Out, "codeagent", s.Version)
			return err
		},
	}
}
