package sandboxcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// codeagent sandbox --learn lets one command do what the sandbox would deny, except what is
// protected or closed to reading, and prints the settings under which it would have
// succeeded. This leaves the sandbox, and only the user at a terminal can start it: no tool
// call and no setting leads here, and inside a sandbox the broker that it needs is not
// available.

// learnWords is printed once, before the command starts.
const learnWords = "codeagent: --learn counts as running outside the sandbox: nothing is refused\n" +
	"but what is protected or closed to reading\n"

// beginLearning returns the lesson for argv, after the person said yes.
func beginLearning(ctx context.Context, b *workspace.Workspace, x flags, argv []string) (*approvals.Lesson, error) {
	switch {
	case b.Policy.Unconfined:
		return nil, cli.Usage(errors.New("--learn: commands run without a sandbox, so there is nothing to learn"), "use --sandbox workspace-write")
	case !slices.Contains(b.Enforcement.Active(), "notify"):
		return nil, workspace.CannotConfine(errors.New("--learn: "+workspace.NoNotify), false)
	}
	fmt.Fprint(b.Stdio.Err, learnWords)
	if !x.yes {
		if !cli.IsTerminal(b.Stdio.In) || !cli.IsTerminal(b.Stdio.Err) {
			return nil, cli.Usage(errors.New("--learn asks before it starts the command, and there is no terminal to ask on"), "--yes starts it without the question")
		}
		fmt.Fprintf(b.Stdio.Err, "  $ %s\nRun it? [y/N] ", visible.Line(strings.Join(argv, " ")))
		yes, err := hostfile.Within(ctx, func() (bool, error) { return saidYes(b.Stdio.In), nil })
		if err != nil {
			return nil, err // a signal ends the question
		}
		if !yes {
			return nil, cli.Hinted(cli.ExitRefused, errors.New("not run"))
		}
	}
	return &approvals.Lesson{Command: strings.Join(argv, " ")}, nil
}

// saidYes reads one line, byte by byte: what follows belongs to the command.
func saidYes(in io.Reader) bool {
	line := make([]byte, 0, 8)
	for one := make([]byte, 1); len(line) < cap(line); {
		n, err := in.Read(one)
		if n == 0 || one[0] == '\n' {
			break
		}
		line = append(line, one[0])
		if err != nil {
			break
		}
	}
	answer := strings.ToLower(strings.TrimSpace(string(line)))
	return answer == "y" || answer == "yes"
}

// learned writes the settings that l's command needs to w.
func learned(b *workspace.Workspace, w io.Writer, l *approvals.Lesson, o exec.Outcome) error {
	denials, guessed, all := l.Learned()
	s, err := config.Write(b.Config, b.Place, sandbox.Suggest(b.Policy, b.Stdio.Env("HOME"), nil, denials))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# What this command needs beyond the sandbox (status %d): %s\n", exitStatus(o), visible.Line(strings.Join(o.Argv, " ")))
	left := stillRefused(b, denials, o)
	switch {
	case s.TOML == "" && len(s.Left)+len(left) == 0:
		fmt.Fprintln(out, "# Nothing.")
	case s.TOML != "":
		for _, host := range guessed {
			fmt.Fprintf(out, "# %s: the port is a guess, it was only looked up\n", visible.Line(host))
		}
		fmt.Fprintf(out, "# For %s: each line replaces the one of its name in [sandbox].\n%s", b.Paths.File, s.TOML)
	}
	for _, one := range s.Left {
		fmt.Fprintf(out, "# No setting opens %s\n", visible.Line(one))
	}
	for _, one := range left {
		fmt.Fprintf(out, "# Stays refused: %s\n", visible.Line(one))
	}
	if !all {
		fmt.Fprintln(out, "# There is more than this list can hold.")
	}
	return out.Flush()
}

// stillRefused names what no settings allow: what was refused while the command learned, and
// what was done then but should not be opened.
func stillRefused(b *workspace.Workspace, learned []sandbox.Denial, o exec.Outcome) []string {
	var out []string
	add := func(d sandbox.Denial) {
		if one := string(d.Kind) + " " + d.Target; !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	for _, d := range o.Verdict.Denials {
		// Only for what is closed to reading, the output is the sole evidence.
		if !d.Moot && (d.Evidence != sandbox.EvidenceOutput || d.Kind == sandbox.KindRead) {
			add(d)
		}
	}
	for _, d := range learned {
		if sandbox.Suggest(b.Policy, b.Stdio.Env("HOME"), nil, []sandbox.Denial{d}).Empty() {
			add(d)
		}
	}
	return out
}
