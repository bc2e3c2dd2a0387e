//go:build linux

package linuxsandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// Protected names and paths lie inside write roots, and Landlock takes no right
// away below a root. So where there is a broker, Landlock grants a write root
// that can hold any of them to read alone: the root is brokered, and every
// change in it is judged here and done by the broker. What the broker lets
// proceed is safe whatever it names when the kernel reads it:
//
//	in a brokered root        Landlock refuses: nothing but reading is granted
//	outside of all roots      Landlock refuses, as ever. What names something there
//	                          already when the broker looks is refused by it (outside.go)
//	in any other root         nothing there is protected
//
// The other roots are the session's own folder for temporary files, the shared
// ones, and single files. A rename or link of which one end lies in a brokered
// root is the broker's too, since Landlock wants a right at both ends.
//
// This file decides by names alone and looks at nothing.

// protection says what of a policy the broker holds. It is read-only once made.
type protection struct {
	policy sandbox.Policy
	// guarded are the brokered roots, free the folders where Landlock decides.
	guarded, free []string
	// fixed are places that no folder on the way to them may be moved from.
	fixed []string
	// granted are single files and names, and what was opened since the command
	// runs: the broker makes the changes there, of what stands at the path too.
	granted []string
	// entries are granted folders: they may be removed, moved and replaced.
	entries []string
}

// planProtection says which of the write roots that are folders are brokered:
// those of the policy, and any other one that holds a protected path or such a
// root. Protected names do not count in folders for temporary files. every: what a
// Keeper is told of is brokered although nothing in it may be protected.
func planProtection(p sandbox.Policy, folders []string, every bool) protection {
	out := protection{policy: p}
	paths := slices.Concat(p.Protected.Paths, p.Protected.Own)
	if len(paths)+len(p.Protected.Names) == 0 && !every {
		out.free = folders
		return out
	}
	for _, dir := range folders {
		named := slices.ContainsFunc(p.Write, func(r sandbox.Root) bool { return r.Path == dir })
		inside := func(path string) bool { return sandbox.Covers(dir, path) }
		// A brokered root is as good as a protected path: rights granted above it
		// would reach into it.
		if named || slices.ContainsFunc(paths, inside) || slices.ContainsFunc(p.Write, func(r sandbox.Root) bool { return inside(r.Path) }) {
			out.guarded = append(out.guarded, dir)
		} else {
			out.free = append(out.free, dir)
		}
	}
	if len(out.guarded) > 0 {
		out.fixed = slices.Concat(paths, out.guarded, out.free)
	}
	return out
}

// any reports whether anything is brokered at all.
func (p *protection) any() bool { return len(p.guarded)+len(p.granted)+len(p.entries) > 0 }

// brokered reports whether the broker makes the changes of what stands at path:
// it lies in a brokered root or was granted, and lies in no other folder inside
// of that.
func (p *protection) brokered(path string) bool {
	deepest, brokered := 0, false
	for _, dir := range p.guarded {
		if len(dir) > deepest && path != dir && sandbox.Covers(dir, path) {
			deepest, brokered = len(dir), true
		}
	}
	if slices.Contains(p.entries, path) {
		deepest, brokered = len(path), true
	}
	for _, dir := range p.granted {
		if len(dir) > deepest && sandbox.Covers(dir, path) {
			deepest, brokered = len(dir), true
		}
	}
	if !brokered {
		return false
	}
	for _, dir := range p.free {
		if len(dir) > deepest && sandbox.Covers(dir, path) {
			return false
		}
	}
	return true
}

// judge says why the policy keeps path as it is, or nil; then root is the write
// root that opens it.
func (p *protection) judge(path string) (root string, d *sandbox.Denial) {
	judged := p.policy.JudgeWrite(path)
	if judged.Allowed {
		return judged.Rule, nil
	}
	return "", &sandbox.Denial{Kind: judged.Kind, Target: path}
}

// outside reports whether path lies in no write root.
func (p *protection) outside(path string) bool {
	return p.policy.JudgeWrite(path).Kind == sandbox.KindWrite
}

// holds reports whether a folder at path is, or lies on the way to, a place that
// must stay where it is.
func (p *protection) holds(path string) bool {
	return slices.ContainsFunc(p.fixed, func(f string) bool { return sandbox.Covers(path, f) })
}

// writable reports whether the entry at path may be changed at all, by the broker
// or by the command itself.
func (p *protection) writable(path string) bool {
	folder := filepath.Dir(path)
	return coveredBy(p.guarded, folder) || coveredBy(p.free, folder) || coveredBy(p.granted, path) || slices.Contains(p.entries, path)
}

// leads reports whether a protected name has its first parts at path: what a
// folder or link there holds, or leads to, would count as protected.
func (p *protection) leads(path string) bool {
	if p.holds(path) {
		return true
	}
	for _, name := range p.policy.Protected.Names {
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			if strings.HasSuffix(path, "/"+dir) {
				return true
			}
		}
	}
	return false
}

// gitNames are the entries of a git directory that it takes programs to run and
// places to trust from (sandbox.GitProtected).
var gitNames = []string{"config", "config.worktree", "hooks", "commondir", "gitdir"}

// gitFolders are the folders of path that, if they are git directories, make it
// one of gitNames or what lies below one. None is above root, which was granted.
func gitFolders(root, path string) []string {
	var out []string
	for {
		i := strings.LastIndexByte(path, '/')
		dir := path[:max(i, 1)]
		if i < 0 || dir == path || !sandbox.Covers(root, dir) {
			return out
		}
		if slices.Contains(gitNames, path[i+1:]) {
			out = append(out, dir)
		}
		path = dir
	}
}

// mayJudge reports whether an entry called name could be refused by judge for
// more than where it lies.
func (p *protection) mayJudge(name string) bool {
	return len(p.policy.DenyRead) > 0 ||
		slices.ContainsFunc(p.policy.Protected.Names, func(n string) bool { return filepath.Base(n) == name })
}
