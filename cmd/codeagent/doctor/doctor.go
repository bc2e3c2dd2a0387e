// Package doctor is `codeagent doctor`: it reports the settings, what the sandbox enforces
// on this machine, and whether the provider answers. It tries each guarantee, first outside
// and then inside the sandbox, on targets in a folder of its own. Read run first, then
// tries.go.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/languages"
	"codeagent/cmd/codeagent/providers"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"

	"github.com/spf13/cobra"
)

// New returns the command `codeagent doctor`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can enforce, by trying it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), s, *f)
		},
	}
}

// Report returns what the command prints. An error is of what was found, too.
func Report(ctx context.Context, s cli.Stdio, f cli.Flags) (string, error) {
	var text bytes.Buffer
	s.Text = &cli.Output{W: &text}
	err := run(ctx, s, f)
	return text.String(), err
}

func run(ctx context.Context, s cli.Stdio, f cli.Flags) error {
	ws, err := workspace.OpenReport(ctx, s, f)
	if err != nil {
		return err
	}
	defer ws.Close()
	var body bytes.Buffer
	describe(ws, &body)
	fmt.Fprintln(&body)
	failed, err := describeSandbox(ctx, ws, &body)
	if err != nil {
		return err
	}
	verdict := verdictOf(ws.Enforcement, ws.Cannot, failed)
	fmt.Fprintf(s.Text, "sandbox: %s\n\ncodeagent %s on %s/%s, uid %d\n%s\n", verdict, f.Process.Version, runtime.GOOS, runtime.GOARCH, os.Getuid(), body.String())
	describeModel(ctx, ws, s.Text)
	describeLanguages(ctx, ws, s.Text)
	describeTerminal(s, s.Text)
	switch {
	case ws.Cannot != nil:
		code, _, hints := cli.ExitOf(ws.Cannot)
		hints = slices.DeleteFunc(hints, func(h string) bool { return strings.HasPrefix(h, "codeagent doctor ") })
		return cli.Hinted(code, errors.New(verdict), hints...)
	case failed > 0:
		return cli.Hinted(cli.ExitFailed, fmt.Errorf("%d of the guarantees tried did not hold", failed))
	}
	return nil
}

// describeSandbox prints what confines commands here, and returns how many of the tries
// failed.
func describeSandbox(ctx context.Context, b *workspace.Workspace, w io.Writer) (failed int, err error) {
	if b.Runner == nil {
		layers := layersThere(b)
		describeMissing(w, layers, b.Cannot)
		describeAppArmor(ctx, w, layers, appArmorFile, selfPath())
		return 0, nil
	}
	b.Settle()
	describeLayers(w, b.Enforcement)
	describeAppArmor(ctx, w, b.Enforcement.Layers, appArmorFile, selfPath())
	describeEvidence(b, w)
	describeBackends(b, w)
	describeDrafts(ctx, b, w)
	if failed, err = tryAll(ctx, b, w); err == nil {
		describeWeaknesses(w, b.Enforcement)
	}
	return failed, err
}

// describeBackends tries each backend that has a table in the settings.
func describeBackends(b *workspace.Workspace, w io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(b.Config.Backends)) {
		kind, err := b.Config.BackendKind(name)
		said := "the sandbox of this system, reported by codeagent doctor --backend " + config.Native
		if err == nil && kind != config.Native {
			var e sandbox.Enforcement
			if e, err = b.Try(name); err == nil {
				said = "works: " + strings.Join(e.Active(), ", ")
			}
		}
		if err != nil {
			said = "does not work: " + whyCannot(err)
		}
		fmt.Fprintf(w, "backend   %s (%s): %s\n", name, kind, said)
	}
}

// layersThere returns the layers of this machine if no command can run under the present
// policy: those of another policy if that can be enforced, else those the kernel reports.
func layersThere(b *workspace.Workspace) []sandbox.Layer {
	if b.Enforcement.Backend == "" && b.Offered != nil {
		if e, err := exec.New(exec.Options{Backend: b.Offered}).Enforcement(sandbox.ReadOnly()); err == nil {
			return e.Layers
		}
	}
	if len(b.Enforcement.Layers) > 0 {
		return b.Enforcement.Layers
	}
	return linuxsandbox.Survey()
}

func whyCannot(err error) string {
	var start *sandbox.StartError
	if !errors.As(err, &start) {
		return err.Error()
	}
	if start.Stage == "backend" || start.Stage == "policy" {
		return start.Err.Error()
	}
	return start.Stage + ": " + start.Err.Error()
}

// verdictOf returns the report's result in one sentence. cannot is why no command can run,
// nil if commands can; failed is how many tries failed.
func verdictOf(e sandbox.Enforcement, cannot error, failed int) string {
	unconfined := e.Weak("unconfined")
	open := make([]string, 0, len(e.Weaknesses))
	for _, w := range e.Weaknesses {
		open = append(open, w.ID)
	}
	switch {
	case cannot != nil:
		return "cannot run commands here: " + whyCannot(cannot)
	case e.Backend == (exec.Plain{}).Name() || unconfined:
		return "off: commands run without one, and may do all that the user may"
	case failed > 0:
		return fmt.Sprintf("does not hold: %d of the guarantees tried failed", failed)
	case len(open) == 0:
		return "complete"
	}
	return "works, but not all is enforced on this machine: " + strings.Join(open, ", ")
}

func selfPath() string {
	exe, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return exe
}

// describe prints which folders and files are used.
func describe(b *workspace.Workspace, w io.Writer) {
	fmt.Fprintf(w, "workspace %s\nsettings  %s", b.Folder, b.Paths.File)
	if _, err := hostfile.Lstat(b.Paths.File); err != nil {
		fmt.Fprint(w, " (none yet)")
	}
	fmt.Fprintf(w, "\nstate     %s\npreset    %s (%s)\napproval  %s (%s)\nshell     %s\n", b.Paths.State,
		b.Config.Sandbox.Mode, b.Config.Origin("sandbox.mode"), b.Config.AskForApproval, b.Config.Origin("ask_for_approval"), b.Shell())
	if own := workspace.OwnPrograms(); runtime.GOOS == "linux" && len(own) > 0 {
		helper := own[1]
		if _, err := hostfile.Lstat(helper); err != nil {
			helper = own[0] // codeagent itself, if there is no helper beside it
		}
		fmt.Fprintf(w, "helper    %s\n", helper)
	}
	if extra, err := workspace.Extra(b.Process); err == nil {
		fmt.Fprintf(w, "extra     %s\n", extra[0])
	} else {
		fmt.Fprintf(w, "extra     %v; the backend wasm and the memory of patterns need it\n", err)
	}
	describePatterns(b, w)
	if keys := b.Config.Managed(""); len(keys) > 0 {
		fmt.Fprintf(w, "managed   %s decides at most: %s\n", config.ManagedFile, strings.Join(keys, ", "))
	}
	if b.Config.ProjectFile != "" {
		fmt.Fprintf(w, "note      %s is ignored: codeagent reads no settings of a project\n", b.Config.ProjectFile)
	}
}

// describePatterns says what is known of which call follows which step, and whether more will be.
func describePatterns(b *workspace.Workspace, w io.Writer) {
	book, notice := workspace.ReadPatterns(context.Background(), b.Paths)
	here := 0
	for k := range book {
		if k.Project == b.Folder {
			here++
		}
	}
	said := short.Count(here, "pattern") + " of this folder, " + short.Count(len(book), "pattern") + " in all"
	if err := b.PatternsKept(); b.Config.Patterns == "off" {
		said = fmt.Sprintf("off (%s)", b.Config.Origin("speculation.patterns"))
	} else if err != nil {
		said += "; no more are kept: " + err.Error()
	}
	fmt.Fprintf(w, "patterns  %s\n", said)
	if notice != "" {
		fmt.Fprintf(w, "          %s\n", notice)
	}
}

// describeModel asks the provider for its models, which costs no tokens.
func describeModel(ctx context.Context, b *workspace.Workspace, w io.Writer) {
	provider, name, ok := b.Config.Choose(b.Stdio.Env)
	if !ok {
		fmt.Fprintln(w, "model    none configured: start codeagent and choose one, or set OPENAI_API_KEY or OPENAI_BASE_URL; without a model codeagent plays the tour")
		for _, offer := range providers.Of(b).Servers(ctx) {
			fmt.Fprintf(w, "         %s\n", offer)
		}
		return
	}
	client, provider, err := providers.Of(b).Client(provider, true)
	from := provider.KeySource(b.Stdio.Env)
	if err == nil {
		var served []string
		if served, err = client.Models(ctx); err == nil {
			api := map[string]string{config.Chat: "chat completions", config.Responses: "responses"}[provider.Wire]
			fmt.Fprintf(w, "model    %s: %s; API: %s\n", provider.Address(), short.Count(len(served), "model"), api)
			fmt.Fprintf(w, "         key: %s\n", cmp.Or(from, "none"))
			describeLimits(w, name, b.Config.LimitsOf(provider, name))
			return
		}
	}
	fmt.Fprintf(w, "model    %s: %v\n         key: %s\n", provider.Address(), err, cmp.Or(from, "none"))
	_, _, hints := cli.ExitOf(err)
	for _, h := range hints {
		fmt.Fprintf(w, "         %s\n", h)
	}
}

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

// describeLanguages starts each installed language server in the sandbox. It prints nothing where no server is installed.
func describeLanguages(ctx context.Context, b *workspace.Workspace, w io.Writer) {
	for i, found := range languages.New(languages.Options{Workspace: b}).Try(ctx) {
		said := "works"
		if found.Err != nil {
			said = found.Err.Error()
		}
		fmt.Fprintf(w, "%-8s %s (%s): %s\n", map[bool]string{true: "language"}[i == 0], found.Name, found.Program, said)
	}
}

func describeTerminal(s cli.Stdio, w io.Writer) {
	if !s.Interactive() {
		fmt.Fprintln(w, "terminal none here: codeagent needs one, codeagent exec does not")
		return
	}
	color := "colour"
	if s.Env("NO_COLOR") != "" {
		color = "no colour (NO_COLOR)"
	}
	fmt.Fprintf(w, "terminal %s, %s\n", s.Env("TERM"), color)
}
