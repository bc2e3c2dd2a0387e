package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"codeagent/config"
	"codeagent/hostfile"

	"github.com/spf13/cobra"
)

func newDoctor(s stdio, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can enforce, by trying it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDoctor(cmd.Context(), s, *f)
		},
	}
}

func runDoctor(ctx context.Context, s stdio, f flags) error {
	w := s.Out
	fmt.Fprintf(w, "codeagent %s on %s/%s, uid %d\n", version, runtime.GOOS, runtime.GOARCH, os.Getuid())
	box, err := newBox(ctx, s, f, sandboxFlags{})
	if err != nil {
		return err
	}
	defer box.close()
	box.describe(w)

	fmt.Fprintln(w)
	describeLayers(w, box.enforcement)
	box.describeEvidence(w)
	failed, err := box.tryAll(ctx, w)
	if err != nil {
		return err
	}
	describeWeaknesses(w, box.enforcement)
	fmt.Fprintln(w)
	box.describeModel(ctx, w)
	describeTerminal(s, w)
	if failed > 0 {
		return &hintError{err: fmt.Errorf("%d of the guarantees tried did not hold", failed), code: exitFailed}
	}
	return nil
}

// selfPath is this program's file.
func selfPath() string {
	exe, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return exe
}

// describe says which folders and files are used.
func (b *box) describe(w io.Writer) {
	fmt.Fprintf(w, "workspace %s\nsettings  %s", b.workspace, b.paths.File)
	if _, err := hostfile.Lstat(b.paths.File); err != nil {
		fmt.Fprint(w, " (none yet)")
	}
	fmt.Fprintf(w, "\nstate     %s\npreset    %s (%s)\napproval  %s (%s)\nshell     %s\n", b.paths.State,
		b.cfg.Sandbox.Mode, b.cfg.Origin("sandbox.mode"), b.cfg.AskForApproval, b.cfg.Origin("ask_for_approval"), b.shell())
	if own := ownBinaries(); runtime.GOOS == "linux" && len(own) > 0 {
		fmt.Fprintf(w, "helper    %s\n", own[len(own)-1]) // codeagent itself where there is none beside it
	}
	if rg := b.program("rg"); rg != "" {
		fmt.Fprintf(w, "search    %s\n", rg)
	} else {
		fmt.Fprintln(w, "search    our own (ripgrep is not installed, or lies where commands may write)")
	}
	if b.cfg.ProjectFile != "" {
		fmt.Fprintf(w, "note      %s exists and is not read: settings of a project are not taken over\n", b.cfg.ProjectFile)
	}
}

// describeModel asks the provider for its models, which costs no tokens.
func (b *box) describeModel(ctx context.Context, w io.Writer) {
	provider, name, ok := b.cfg.Choose(b.s.env)
	if !ok {
		fmt.Fprintln(w, "model    none configured: set OPENAI_API_KEY or OPENAI_BASE_URL; until then the tour plays")
		for _, offer := range b.lookForServers(ctx)() {
			fmt.Fprintf(w, "         %s\n", offer)
		}
		return
	}
	client, provider, err := b.client(provider, true)
	if lacks := provider.Lacks(b.s.env); err == nil && lacks != "" {
		err = &hintError{err: fmt.Errorf("no key: %s is not set", lacks), code: exitSignIn, hints: b.keyHints(provider)}
	}
	if err == nil {
		var served []string
		if served, err = client.Models(ctx); err == nil {
			fmt.Fprintf(w, "model    %s answers and serves %d models; it is spoken to over %s\n", provider.Address(), len(served), provider.Wire)
			describeLimits(w, name, b.cfg.LimitsOf(provider, name))
			return
		}
	}
	fmt.Fprintf(w, "model    %s: %v\n", provider.Address(), err)
	_, _, hints := exitOf(err)
	for _, h := range hints {
		fmt.Fprintf(w, "         %s\n", h)
	}
}

// describeLimits says what is known of a model that is named.
func describeLimits(w io.Writer, name string, l config.ModelLimits) {
	if name == "" {
		return
	}
	context := "not known (set models.NAME.context)"
	if l.Context > 0 {
		context = fmt.Sprintf("%d tokens", l.Context)
	}
	vision := l.Vision
	if vision == "" {
		vision = "not known"
	}
	fmt.Fprintf(w, "         %s: context %s, images %s\n", name, context, vision)
}

func describeTerminal(s stdio, w io.Writer) {
	if !s.interactive() {
		fmt.Fprintln(w, "terminal none here: codeagent needs one, codeagent exec does not")
		return
	}
	color := "colour"
	if s.env("NO_COLOR") != "" {
		color = "no colour (NO_COLOR)"
	}
	fmt.Fprintf(w, "terminal %s, %s\n", s.env("TERM"), color)
}
