package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/eventlog"
	"codeagent/hostfile"
	"codeagent/internal/mask"
	"codeagent/sandbox"
)

// OpenLog opens the log that --log or CODEAGENT_LOG names, and logs that command begins.
// Lines are added to the file. Like other files that a flag names it is found through no link
// that a command may have made.
func OpenLog(ctx context.Context, s cli.Stdio, f cli.Flags, command string) error {
	level := cmp.Or(f.LogLevel, "info")
	if !slices.Contains(eventlog.Levels(), level) { // also where nothing is logged
		return cli.Usage(fmt.Errorf("--log-level: invalid value %q; use one of %s", level, strings.Join(eventlog.Levels(), ", ")))
	}
	name, from := f.Log, "--log"
	if name == "" {
		name, from = s.Env("CODEAGENT_LOG"), "CODEAGENT_LOG"
	}
	if name == "" {
		return nil
	}
	out := s.Err
	if name != "-" {
		var err error
		if out, err = openLog(ctx, s, f, name); err != nil {
			var known *cli.HintError
			if errors.As(err, &known) {
				return err
			}
			return cli.Usage(fmt.Errorf("%s: %w", from, err))
		}
	}
	f.Process.Log.Open(out, level, mask.New(s.Environ, sandbox.SecretName))
	f.Process.Log.Began(f.Process.Version, command, os.Getpid())
	return nil
}

func openLog(ctx context.Context, s cli.Stdio, f cli.Flags, name string) (*os.File, error) {
	_, ground, err := Places(ctx, s)
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	// A repository may come with links, so the workspace counts as ground before it is opened.
	roots := []string{here}
	if folder, err := Enter(s, f); err == nil {
		roots = append(roots, folder)
	}
	for _, dir := range f.AddDirs {
		if dir, err := sandbox.Canonical(hostfile.OS{}, here, dir); err == nil {
			roots = append(roots, dir)
		}
	}
	path, err := ground.With(roots...).Resolve(here, name)
	if err != nil {
		return nil, err
	}
	return hostfile.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}
