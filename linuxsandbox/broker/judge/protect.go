//go:build linux

package judge

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"codeagent/internal/git"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/resolved"
)

// Protected names and paths lie inside write roots, and Landlock cannot take away a right
// below a root that has it. Mounts do not help: Landlock walks up from a file through all
// mounts, so that a workspace in /tmp gets the rights of the folder that the command sees
// as /tmp. So where there is a broker, Landlock grants no folder for writing
// (keeper/landlock.go). Every folder among the write roots is brokered: the broker judges
// each change in it and makes it. A call that proceeds can then change only single files
// and devices that were granted, whatever it names when the kernel reads it
// (notify/proceed.go).
//
// This file decides by names alone and does no IO.

// Protection is the part of a policy that the broker enforces.
type Protection struct {
	policy resolved.Policy
	// roots are the write roots that are folders.
	roots []string
	// temporary are the roots where names are not protected. own are the folders that the
	// command has for itself and that no policy names.
	temporary, own []string
	// Fixed are paths that must stay: no folder on the way to one may be moved.
	Fixed []string
	// granted are single files and missing names, and what was granted to the running
	// command. The broker also replaces and removes the file at the path itself.
	granted []string
	// entries are granted folders. They may be removed, moved and replaced.
	entries []string
}

// PlanProtection makes the broker enforce the policy in folders, the folders among the
// write roots, and in own, the folders that a command with mounts has for itself.
func PlanProtection(p resolved.Policy, folders, own []string) Protection {
	out := Protection{policy: p, roots: slices.Concat(folders, own), temporary: own, own: own}
	for _, root := range p.Roots {
		if root.Origin == sandbox.FromTemp && slices.Contains(folders, root.Path) {
			out.temporary = append(slices.Clone(own), root.Path)
		}
	}
	exact := slices.DeleteFunc(slices.Clone(p.DenyRead), func(path string) bool { return !sandbox.CoveredBy(folders, path) })
	if len(out.roots) > 0 {
		out.Fixed = slices.Concat(p.Protected.Paths, p.Protected.Own, exact, out.roots)
	}
	return out
}

// Shared are the roots in which other sessions could write, too. Caches are not among them: all sessions have them.
func (p *Protection) Shared() []string {
	return slices.DeleteFunc(slices.Clone(p.roots), func(root string) bool {
		origin, _ := p.policy.Origin(root)
		return origin == sandbox.FromCache || slices.Contains(p.temporary, root)
	})
}

// any reports whether any path is brokered.
func (p *Protection) any() bool { return len(p.roots)+len(p.granted)+len(p.entries) > 0 }

// brokered reports whether the broker makes the changes at path: path lies in a write root
// or was granted.
func (p *Protection) brokered(path string) bool {
	inside := func(dir string) bool { return path != dir && sandbox.Covers(dir, path) }
	return slices.ContainsFunc(p.roots, inside) || slices.Contains(p.entries, path) || sandbox.CoveredBy(p.granted, path)
}

// isTemporary reports whether the deepest root around path is a folder for temporary files.
// Names are not protected there.
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

// freedom says which names are not protected at path: 0 none, 1 those that are data in packages, 2 all.
func (p *Protection) freedom(path string) int {
	switch {
	case p.isTemporary(path):
		return 2
	case p.policy.InPackages(path):
		return 1
	}
	return 0
}

// judge returns the write root that allows changes at path, or the denial.
func (p *Protection) judge(path string) (root string, d *sandbox.Denial) {
	return p.answer(path, p.policy.JudgeWrite(path))
}

func (p *Protection) answer(path string, judged sandbox.Judgement) (root string, d *sandbox.Denial) {
	if judged.Allowed {
		return judged.Rule, nil
	}
	for _, own := range p.own {
		if judged.Kind == sandbox.KindWrite && sandbox.Covers(own, path) {
			return own, nil
		}
	}
	return "", &sandbox.Denial{Kind: judged.Kind, Target: cmp.Or(judged.Locked, path), Note: judged.Reason}
}

// outside reports whether path lies in no write root.
func (p *Protection) outside(path string) bool {
	_, d := p.judge(path)
	return d != nil && d.Kind == sandbox.KindWrite
}

// holds reports whether path is, or contains, a path that must stay in place.
func (p *Protection) holds(path string) bool {
	return slices.ContainsFunc(p.Fixed, func(f string) bool { return sandbox.Covers(path, f) })
}

// above reports whether path is a folder above codeagent's own files or above the folder for
// temporary files. A mode without search permission there would keep every later session
// from starting. A mode that admits other users would let them replace what it contains.
func (p *Protection) above(path string) bool {
	holds := func(own string) bool { return path != own && sandbox.Covers(path, own) }
	return slices.ContainsFunc(p.policy.Protected.Own, holds) || p.policy.Temp != "" && holds(p.policy.Temp)
}

// writable reports whether the entry at path may be changed, by the broker or by the command
// itself.
func (p *Protection) writable(path string) bool {
	folder := filepath.Dir(path)
	return sandbox.CoveredBy(p.roots, folder) || sandbox.CoveredBy(p.granted, path) || slices.Contains(p.entries, path)
}

// leads reports whether path is the first part of a protected name or path. A folder moved
// there, or a link made there, would bring content under protected names.
func (p *Protection) leads(path string) bool {
	if p.holds(path) {
		return true
	}
	if p.isTemporary(path) {
		return false
	}
	return protect.Leads(p.policy.Protected.Names, path)
}

// gitFolders lists the folders above path that would make path protected if they were git
// directories: path is, or lies below, one of their protected entries. It stops at root.
func gitFolders(root, path string) []string {
	var out []string
	for {
		i := strings.LastIndexByte(path, '/')
		dir := path[:max(i, 1)]
		if i < 0 || dir == path || !sandbox.Covers(root, dir) {
			return out
		}
		if _, of := protect.GitEntry(path[i+1:]); of || git.IsIndex(path[i+1:]) {
			out = append(out, dir)
		}
		path = dir
	}
}

// mayJudge reports whether judge could deny an entry of this name because of the name, and
// not only because of its folder.
func (p *Protection) mayJudge(name string) bool {
	return len(p.policy.DenyRead)+len(p.policy.DenyGlobs) > 0 ||
		protect.Possible(p.policy.Protected.Names, name)
}
