package workspace

import (
	"context"
	"maps"
	"strings"
	"time"

	"codeagent/config"
	"codeagent/exec"
	"codeagent/sandbox"
)

// statusTime and statusSize bound a status command and its output.
const (
	statusTime = 2 * time.Second
	statusSize = 1 << 10
)

// Branch returns what is checked out in the folder, or "".
func (ws *Workspace) Branch(ctx context.Context) string {
	if !inRepository(ws.Folder) {
		return "" // no git needs to be started to learn that
	}
	name, err := ws.git.Branch(ctx, ws.Folder)
	if err != nil {
		return ""
	}
	return name
}

// inRepository reports whether git could find a repository that holds folder.
func inRepository(folder string) bool {
	_, is := config.TopOf(folder)
	return is
}

// StatusLine runs the user's tui.status_command and returns the first line that it prints. The
// command runs in a sandbox in which it can write nothing and has no network, and it has two
// seconds. vars are added to its environment. The result is "" if no command is set, if it fails,
// or if there is no sandbox.
func (ws *Workspace) StatusLine(ctx context.Context, vars map[string]string) string {
	command := ws.Config.TUI.StatusCommand
	if command == "" || ws.confined == nil {
		return ""
	}
	p := ws.Policy.Clone()
	only := sandbox.Policy{
		Read: p.Read, DenyRead: p.DenyRead, DenyGlobs: p.DenyGlobs, Protected: sandbox.ProtectedNames{Own: p.Protected.Own, Hidden: p.Protected.Hidden},
		Limits: sandbox.Limits{CPUSeconds: 2, Processes: p.Limits.Processes}, Env: p.Env,
	}
	only.Env.Set = maps.Clone(only.Env.Set)
	if only.Env.Set == nil {
		only.Env.Set = map[string]string{}
	}
	maps.Copy(only.Env.Set, vars)
	var out []byte // what the command prints to stdout
	o, err := ws.confined.Run(ctx, only, exec.Command{
		Argv: []string{ws.Shell(), "-c", command}, Dir: ws.Folder, Timeout: statusTime, Apart: true,
		Tap: func(data []byte) { out = append(out, data[:min(len(data), statusSize-len(out))]...) },
	}, nil)
	if err != nil || o.TimedOut || o.Failed() {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimLeft(string(out), "\n"), "\n")
	return strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
}
