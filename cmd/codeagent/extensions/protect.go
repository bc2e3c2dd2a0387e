package extensions

import (
	"path"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/hooks"
	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// Protect protects the files in write roots that the commands of hooks name: otherwise a command
// could change what a hook does. What such files load in turn is not known.
func (f Found) Protect(ws *workspace.Workspace, p sandbox.Policy) sandbox.Policy {
	if len(f.Hooks) == 0 || p.Unconfined {
		return p
	}
	p = p.Clone()
	for _, h := range f.Hooks {
		command := expanded(h.Command, hooks.Variables(ws.Folder))
		for _, name := range append(named.Read(command, ws.Folder, ws.Stdio.Env("HOME"), nil).Paths(), modules(ws, command)...) {
			p.ProtectFile(ws.Files, "the command of a hook names it", ws.Folder, name)
		}
	}
	return p
}

// expanded replaces the variables that codeagent sets for a hook.
func expanded(command string, variables map[string]string) string {
	for name, value := range variables {
		command = strings.NewReplacer("${"+name+"}", value, "$"+name, value).Replace(command)
	}
	return command
}

// mostModules bounds the entries of a folder that are compared with the name of a module.
const mostModules = 5000

// modules returns the files in the workspace that a word names as a module: "python3 -m tools.check"
// runs tools/check.py, or what is in tools/check.
func modules(ws *workspace.Workspace, command string) (names []string) {
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"", r) })
	for i, word := range words {
		dotted := strings.Contains(strings.Trim(word, "."), ".")
		if strings.ContainsAny(word, "/$") || !dotted && (i == 0 || words[i-1] != "-m") {
			continue
		}
		name := path.Join(ws.Folder, strings.ReplaceAll(word, ".", "/"))
		for _, dir := range []string{path.Dir(name), name} {
			entries, _ := hostfile.ReadDir(dir, mostModules)
			for _, e := range entries {
				if stem, _, _ := strings.Cut(e.Name(), "."); dir == name || stem == path.Base(name) {
					names = append(names, path.Join(dir, e.Name()))
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
