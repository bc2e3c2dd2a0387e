package extensions

import (
	"slices"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// Protect protects the files in write roots that the commands of hooks name: otherwise a command
// could change what a hook does.
func (f Found) Protect(ws *workspace.Workspace, p sandbox.Policy) sandbox.Policy {
	if len(f.Hooks) == 0 || p.Unconfined {
		return p
	}
	p = p.Clone()
	for _, h := range f.Hooks {
		for _, name := range named.Read(h.Command, ws.Folder, ws.Stdio.Env("HOME"), nil).Paths() {
			file, err := sandbox.Canonical(ws.Files, "/", name)
			if err != nil || !sandbox.CoveredBy(sandbox.PathsOf(p.Write), file) {
				continue
			}
			if mode, err := ws.Files.Lstat(file); err == nil && mode.IsRegular() {
				p.Protected.Paths = append(p.Protected.Paths, file)
			}
		}
	}
	slices.Sort(p.Protected.Paths)
	p.Protected.Paths = slices.Compact(p.Protected.Paths)
	return p
}
