package workspace

import (
	"context"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/exec"
)

// Settings returns the settings of a run without opening a workspace: no sandbox is started
// and nothing is written.
func Settings(ctx context.Context, s cli.Stdio, f cli.Flags) (config.Config, error) {
	ws := &Workspace{Files: exec.OS{}, Stdio: s}
	var err error
	if ws.Paths, ws.recorded, err = Places(ctx, s); err != nil {
		return config.Config{}, err
	}
	if err := ws.enter(f.Folder); err != nil {
		return config.Config{}, err
	}
	sources, err := ws.sources(f)
	if err != nil {
		return config.Config{}, err
	}
	return config.Load(ctx, sources)
}
