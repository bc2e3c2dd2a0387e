package sandboxcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"codeagent/approvals/learn"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/learning"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/exec"
	"codeagent/sandbox"
)

// codeagent sandbox --learn lets one command do what the sandbox would deny, except what is
// protected or closed to reading, and prints the settings under which it would have
// succeeded. This leaves the sandbox, and only the user at a terminal can start it: no tool
// call and no setting leads here, and inside a sandbox the broker that it needs is not
// available.

// beginLearning returns the lesson for argv, after the person said yes.
func beginLearning(ctx context.Context, b *workspace.Workspace, x flags, argv []string) (*learn.Lesson, error) {
	if b.Policy.Unconfined {
		return nil, cli.Usage(errors.New("--learn: commands run without a sandbox, so there is nothing to learn"), "use --sandbox workspace-write")
	}
	if keys := b.Config.Managed("sandbox."); len(keys) > 0 {
		return nil, cli.Usage(fmt.Errorf("--learn lets a command leave the sandbox, which the managed settings do not allow (%s)", keys[0]))
	}
	if err := learning.Ask(ctx, b.Stdio, b.Enforcement, "--learn", "", argv, x.yes); err != nil {
		return nil, err
	}
	return &learn.Lesson{Command: strings.Join(argv, " ")}, nil
}

// learned writes the settings that l's command needs to w.
func learned(b *workspace.Workspace, w io.Writer, l *learn.Lesson, o exec.Outcome) error {
	denials, guessed, all := l.Learned()
	needs, left := sandbox.Suggest(b.Policy, b.Files, b.Stdio.Env("HOME"), o.Argv, denials)
	s, err := config.Write(b.Config, b.Place, needs, denials)
	if err != nil {
		return err
	}
	return learning.Needs{
		Header: fmt.Sprintf("What this command needs beyond the sandbox (status %d): %s", exitStatus(o), strings.Join(o.Argv, " ")),
		Where:  fmt.Sprintf("For %s: each line replaces the one of its name in [sandbox].", b.Paths.File),
		TOML:   s.TOML, Guessed: guessed, Left: slices.Concat(s.Left, left), Stays: learning.Stays(o.Verdict.Denials), All: all,
	}.Write(w)
}
