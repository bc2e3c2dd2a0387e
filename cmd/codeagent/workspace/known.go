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
	ws, err := Unopened(ctx, s, f)
	if err != nil {
		return config.Config{}, err
	}
	return ws.Config, nil
}

// Unopened is a workspace that knows its settings and its paths, and nothing else.
func Unopened(ctx context.Context, s cli.Stdio, f cli.Flags) (*Workspace, error) {
	ws := &Workspace{Files: exec.OS{}, Stdio: s}
	sources, err := ws.locate(ctx, f)
	if err != nil {
		return nil, err
	}
	ws.recorded = ws.recorded.With(ws.Folder) // for what runs before a session does
	ws.Config, err = config.Load(ctx, sources)
	return ws, err
}

// locate finds codeagent's own files, the folder to work in, and the sources of the settings.
func (ws *Workspace) locate(ctx context.Context, f cli.Flags) (src config.Sources, err error) {
	if ws.Paths, ws.recorded, err = Places(ctx, ws.Stdio); err != nil {
		return src, err
	}
	if err := ws.enter(f.Folder); err != nil {
		return src, err
	}
	return ws.sources(f), nil
}
