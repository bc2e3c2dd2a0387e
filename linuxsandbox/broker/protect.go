//go:build linux

package broker

import (
	"path/filepath"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// Protected names and paths lie inside write roots, and Landlock takes no right
// away below a root. Nor does it below a mount: it walks up from a file through
// all mounts, so that a workspace in /tmp has the rights of the folder that a
// command sees as /tmp. So where there is a broker, Landlock grants no folder for
// writing (landlock.go). Every folder among the write roots is brokered: each
// change in it is judged here and made by the broker. A call that proceeds can then
// change single files and devices that were granted, whatever it names when the
// kernel reads it (proceed.go).
//
// This file decides by names alone and looks at nothing.

// Protection says what of a policy the broker holds. It is read-only once made.
type Protection struct {
	policy sandbox.Policy
	// roots are the write roots that are folders.
	roots []string
	// temporary are those of them where names are not protected, own those of
	// these that no policy names.
	temporary, own []string
	// Fixed are places that no folder on the way to them may be moved from.
	Fixed []string
	// granted are single files and names, and what was opened since the command
	// runs: the broker makes the changes there, of what stands at the path too.
	granted []string
	// entries are granted folders: they may be removed, moved and replaced.
	entries []string
}

// PlanProtection makes the broker answer for the folders among the write roots. own
// are folders that a command with mounts has for itself.
func PlanProtection(p sandbox.Policy, folders, own []string) Protection {
	out := Protection{policy: p, roots: slices.Concat(folders, own), temporary: own, own: own}
	if slices.ContainsFunc(folders, p.Temporary) {
		out.temporary = append(slices.Clone(own), p.Temp)
	}
	exact := slices.DeleteFunc(slices.Clone(p.DenyRead), func(path string) bool { return !sandbox.CoveredBy(folders, path) })
	if len(out.roots) > 0 {
		out.Fixed = slices.Concat(p.Protected.Paths, p.Protected.Own, exact, out.roots)
	}
	return out
}

// any reports whether anything is brokered at all.
func (p *Protection) any() bool { return len(p.roots)+len(p.granted)+len(p.entries) > 0 }

// brokered reports whether the broker makes the changes of what stands at path: it
// lies in a write root or was granted.
func (p *Protection) brokered(path string) bool {
	inside := func(dir string) bool { return path != dir && sandbox.Covers(dir, path) }
	return slices.ContainsFunc(p.roots, inside) || slices.Contains(p.entries, path) || sandbox.CoveredBy(p.granted, path)
}

// isTemporary reports whether path lies in a folder for temporary files, and in no
// other root inside of that: names are not protected there.
func (p *Protection) isTemporary(path string) bool {
	deepest := ""
	for _, list := range [][]string{p.roots, p.granted} {
		for _, dir := range list {
			if len(dir) > len(deepest) && sandbox.Covers(dir, path) {
				deepest = dir
			}
		}
	}
	return slices.Contains(p.temporary, deepest)
}

// judge says why the policy keeps path as it is, or nil; then root is the write
// root that opens it.
func (p *Protection) judge(path string) (root string, d *sandbox.Denial) {
	judged := p.policy.JudgeWrite(path)
	if judged.Allowed {
		return judged.Rule, nil
	}
	for _, own := range p.own {
		if judged.Kind == sandbox.KindWrite && sandbox.Covers(own, path) {
			return own, nil
		}
	}
	return "", &sandbox.Denial{Kind: judged.Kind, Target: path}
}

// outside reports whether path lies in no write root.
func (p *Protection) outside(path string) bool {
	_, d := p.judge(path)
	return d != nil && d.Kind == sandbox.KindWrite
}

// holds reports whether a folder at path is, or lies on the way to, a place that
// must stay where it is.
func (p *Protection) holds(path string) bool {
	return slices.ContainsFunc(p.Fixed, func(f string) bool { return sandbox.Covers(path, f) })
}

// above reports whether path is a folder on the way to codeagent's own files, or to
// the folder for temporary files. Shut, it keeps every later session from starting;
// open to other users, it lets these replace what it holds.
func (p *Protection) above(path string) bool {
	holds := func(own string) bool { return path != own && sandbox.Covers(path, own) }
	return slices.ContainsFunc(p.policy.Protected.Own, holds) || p.policy.Temp != "" && holds(p.policy.Temp)
}

// writable reports whether the entry at path may be changed at all, by the broker
// or by the command itself.
func (p *Protection) writable(path string) bool {
	folder := filepath.Dir(path)
	return sandbox.CoveredBy(p.roots, folder) || sandbox.CoveredBy(p.granted, path) || slices.Contains(p.entries, path)
}

// leads reports whether a protected name has its first parts at path: what a
// folder or link there holds, or leads to, would count as protected.
func (p *Protection) leads(path string) bool {
	if p.holds(path) {
		return true
	}
	if p.isTemporary(path) {
		return false
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
func (p *Protection) mayJudge(name string) bool {
	return len(p.policy.DenyRead)+len(p.policy.DenyGlobs) > 0 ||
		slices.ContainsFunc(p.policy.Protected.Names, func(n string) bool { return filepath.Base(n) == name })
}
