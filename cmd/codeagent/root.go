package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"codeagent/cmd/codeagent/acpcmd"
	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/completion"
	"codeagent/cmd/codeagent/doctor"
	"codeagent/cmd/codeagent/execcmd"
	"codeagent/cmd/codeagent/helpcmd"
	"codeagent/cmd/codeagent/mcpcmd"
	"codeagent/cmd/codeagent/patternscmd"
	"codeagent/cmd/codeagent/permissionscmd"
	"codeagent/cmd/codeagent/rulescmd"
	"codeagent/cmd/codeagent/sandboxcmd"
	"codeagent/cmd/codeagent/screen"
	"codeagent/cmd/codeagent/serverscmd"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/trycmd"
	"codeagent/cmd/codeagent/undocmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/eventlog"
	"codeagent/internal/visible"

	"github.com/spf13/cobra"
)

// run is the whole program as a function: it takes the arguments and the environment, and
// returns the exit status. quit ends the process at once.
func run(args []string, s cli.Stdio, quit func(code int)) int {
	s.Text = &cli.Output{W: s.Out}
	f := &cli.Flags{Process: cli.Process{Version: version, HelperSum: helperSum, OpenFiles: openFiles(), Lent: new(atomic.Bool), Log: new(eventlog.Log)}}
	ctx, stop := withSignals(context.Background(), s, f.Process.Lent, quit)
	defer stop()
	root := newRoot(s, f)
	if len(args) > 0 && isCompletion(args[0]) {
		completion.Add(root, s, f)
	}
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Text)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if err == nil && s.Text.Err != nil {
		err = fmt.Errorf("write the output: %w", s.Text.Err)
	}
	err = cli.BySignal(ctx, err)
	status, message, _ := cli.ExitOf(err)
	if lost := f.Process.Log.Ended(status, message); lost != nil {
		fmt.Fprintf(s.Err, "codeagent: --log: %s\n", visible.Line(lost.Error()))
	}
	return cli.Report(s, err)
}

// isCompletion reports whether a shell asks what may come next on a command line.
func isCompletion(command string) bool { return strings.HasPrefix(command, cobra.ShellCompRequestCmd) }

func newRoot(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var o screen.Options
	root := &cobra.Command{
		Use:   "codeagent [PROMPT]",
		Short: "A coding agent whose commands run in a sandbox",
		Long: "codeagent works on the current folder with a language model. Every command runs in a\n" +
			"sandbox; the model learns what was denied and may ask you for just that.\n" +
			"Without a model configured it offers a built-in tour with the real sandbox.",
		Version:       f.Process.Version, // no version template: text/template adds 3 MB
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if isCompletion(cmd.Name()) {
				return nil
			}
			return workspace.OpenLog(cmd.Context(), s, *f, cmd.CommandPath())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return screen.Run(cmd.Context(), s, *f, o, args)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usage(cli.NamedFlag(err), fmt.Sprintf("see %s --help", cmd.CommandPath()))
	})
	p := root.PersistentFlags()
	p.StringVarP(&f.Sandbox, "sandbox", "s", "", "what commands may touch: read-only, workspace-write, danger-full-access, strict")
	p.StringVar(&f.Backend, "backend", "", "what confines commands: native, bwrap, wasm, or the NAME of a [backends.NAME]")
	p.StringVarP(&f.Approval, "ask-for-approval", "a", "", "when to ask: untrusted, on-request, on-failure, granular, never")
	p.StringVarP(&f.Model, "model", "m", "", "the model to use")
	p.StringVarP(&f.Profile, "profile", "p", "", "use the settings of [profiles.NAME] in config.toml")
	p.StringVarP(&f.Folder, "cd", "C", "", "work in this folder")
	p.StringArrayVar(&f.AddDirs, "add-dir", nil, "a further folder that commands may write")
	p.StringArrayVar(&f.AddFiles, "add-file", nil, "a single file that commands may write; it may be absent yet, and become a folder")
	p.StringArrayVar(&f.Hosts, "allow-host", nil, "hosts that commands and fetch_url may reach, as name:port, *.example.com:443 or 10.0.0.0/8:443")
	p.StringArrayVar(&f.FetchHosts, "allow-fetch", nil, "hosts whose pages fetch_url may read, and commands may not, in the same forms")
	p.StringArrayVarP(&f.Settings, "config", "c", nil, "set one setting, as key=value")
	p.StringVar(&f.Log, "log", "", "add a line to this file for each event; - is stderr")
	p.StringVar(&f.LogLevel, "log-level", "", "log events of this level and above: "+strings.Join(eventlog.Levels(), ", ")+" (default info)")
	cli.DraftFlag(root.Flags(), f)
	attach.Flag(root.Flags(), &o.Images)
	root.Flags().BoolVar(&o.Ephemeral, "ephemeral", false, "keep no session of this run")
	mcp := mcpcmd.New(s, f)
	mcp.AddCommand(serverscmd.New(s, f)...)
	root.AddCommand(execcmd.New(s, f), execcmd.NewReview(s, f), screen.NewResume(s, f), screen.NewFork(s, f), sessionscmd.New(s, f), undocmd.New(s, f), sandboxcmd.New(s, f), trycmd.New(s, f), acpcmd.New(s, f), doctor.New(s, f), mcp, patternscmd.New(s, f), permissionscmd.New(s, f), rulescmd.New(s, f), newVersion(s))
	root.SetHelpCommand(helpcmd.New(s))
	root.CompletionOptions.HiddenDefaultCmd = false
	cli.ExplainArguments(root)
	cli.RefuseEmpty(root)
	return root
}

func newVersion(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(s.Out, "codeagent", cmd.Root().Version)
			return err
		},
	}
}
