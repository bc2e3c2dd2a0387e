package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// flags are what the command line sets for every way of running.
type flags struct {
	sandbox, approval, model, folder string
	addDirs, addFiles                []string
	hosts, fetchHosts, settings      []string
}

// run is the whole program as a function: arguments and surroundings in, exit
// status out.
func run(args []string, s stdio) int {
	s.told = &told{w: s.Out}
	ctx, stop := withSignals(context.Background(), s)
	defer stop()
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.told)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if err == nil && s.told.err != nil {
		err = fmt.Errorf("write the output: %w", s.told.err)
	}
	var sig *signalError
	if errors.As(context.Cause(ctx), &sig) && err != nil {
		err = sig // whatever it led to, the signal is why
	}
	return report(s, err)
}

func newRoot(s stdio) *cobra.Command {
	f := &flags{}
	var o interactiveOptions
	root := &cobra.Command{
		Use:   "codeagent [PROMPT]",
		Short: "A coding agent whose commands run in a sandbox",
		Long: "codeagent works on the current folder with a language model. Every command runs in a\n" +
			"sandbox; what it refuses is told to the model, which may ask you for just that.\n" +
			"Without a model configured it plays a built-in tour with the real sandbox.",
		Version:       version, // without a template for it: text/template weighs 3 MB
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInteractive(cmd.Context(), s, *f, o, args)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{err: err, hints: []string{fmt.Sprintf("see %s --help", cmd.CommandPath())}}
	})
	p := root.PersistentFlags()
	p.StringVarP(&f.sandbox, "sandbox", "s", "", "what commands may touch: read-only, workspace-write, danger-full-access, strict")
	p.StringVarP(&f.approval, "ask-for-approval", "a", "", "when to ask: untrusted, on-request, on-failure, never")
	p.StringVarP(&f.model, "model", "m", "", "the model to use")
	p.StringVarP(&f.folder, "cd", "C", "", "work in this folder")
	p.StringArrayVar(&f.addDirs, "add-dir", nil, "a further folder that commands may write")
	p.StringArrayVar(&f.addFiles, "add-file", nil, "a single file that commands may write; it may be absent yet")
	p.StringArrayVar(&f.hosts, "allow-host", nil, "a host that commands and fetch_url may reach, as name:port")
	p.StringArrayVar(&f.fetchHosts, "allow-fetch", nil, "a host whose pages fetch_url may read, and commands may not, as name:port")
	p.StringArrayVarP(&f.settings, "config", "c", nil, "set one setting, as key=value")
	imageFlag(root.Flags(), &o.images)
	root.Flags().BoolVar(&o.ephemeral, "ephemeral", false, "keep no session of this run")
	root.AddCommand(newExec(s, f), newResume(s, f), newFork(s, f), newSessions(s, f), newUndo(s, f), newSandbox(s, f), newDoctor(s, f), newVersion(s))
	root.CompletionOptions.HiddenDefaultCmd = false
	explainArguments(root)
	return root
}

// explainArguments has every command say what it takes when it is given too much
// or too little.
func explainArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var usage *usageError
		if err == nil || errors.As(err, &usage) {
			return err
		}
		return &usageError{err: fmt.Errorf("%s: %w", cmd.CommandPath(), err), hints: []string{"usage: " + cmd.UseLine(), fmt.Sprintf("see %s --help", cmd.CommandPath())}}
	}
}

func newVersion(s stdio) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.Out, "codeagent", version)
			return err
		},
	}
}
