package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// toolCaches are the caches without which a tool does not work at all, by the variable that
// sets their folder. The user's own caches stay read-only: what a sandboxed command writes
// to a cache would become part of programs built outside the sandbox.
var toolCaches = []struct{ variable, name string }{
	{"GOCACHE", "go-build"}, // the go command fails without a writable one
}

func caches(p config.Paths) string { return filepath.Join(filepath.Dir(p.Temp), "tools") }

// withCaches gives commands caches of their own, one set per workspace, so that one project's
// commands cannot poison another's builds. They are kept for the next session. A variable
// that the policy sets is not changed.
func (ws *Workspace) withCaches(p sandbox.Policy) (sandbox.Policy, error) {
	if len(p.Write) == 0 || p.Unconfined || ws.Config.Sandbox.Mode != config.WorkspaceWrite {
		return p, nil
	}
	sum := sha256.Sum256([]byte(ws.Folder))
	p = p.Clone()
	for _, c := range toolCaches {
		if _, set := p.Env.Set[c.variable]; set {
			continue
		}
		// The path is canonical: the folder above is, and MkdirAll followed no link. A command of
		// another session with this folder in a write root (allow_home, add_dirs) may put a link
		// there at any time. Therefore this is not checked again here: opening the root follows no
		// link.
		dir := filepath.Join(caches(ws.Paths), hex.EncodeToString(sum[:8]), c.name)
		if err := hostfile.MkdirAll(dir, 0o700); err != nil {
			return p, err
		}
		if p.Env.Set == nil {
			p.Env.Set = map[string]string{}
		}
		p.Env.Set[c.variable] = dir
		p.Write = append(p.Write, sandbox.Root{Path: dir, Cache: true})
	}
	return p, nil
}
