//go:build linux

package judge

import (
	"path/filepath"
	"slices"
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// A running command's Landlock rules and mounts cannot be widened. So the broker carries
// out what is granted to it: a granted path becomes a brokered root (protect.go). The
// broker judges every change in it under the wider policy and makes the change on the
// host's own files, since the command's mounts show what lies outside as read-only.

// grantedRoot is a path that was granted to a command.
type grantedRoot struct {
	path string
	// fd is the granted folder. It is -1 where the path does not exist, or is a file, whose
	// name may be given to another file.
	fd int
}

// grantedRoots are the granted paths of one command. Only the broker's thread uses them.
type grantedRoots struct{ list []*grantedRoot }

// Law is the policy by which a Judge decides, for whoever may change it. The handlers have only the Judge.
type Law struct{ judge *Judge }

// Request is what a denied call needs.
type Request struct {
	Kind   sandbox.DenialKind
	Target string
}

// Pinned reports whether a question is about a file. The grant then covers the file that
// was shown.
func (r Request) Pinned() bool {
	return AboutFile(r.Kind) || r.Kind == sandbox.KindSocket && strings.HasPrefix(r.Target, "/")
}

// AboutFile reports whether a denial of kind k is lifted by a grant to write its target.
func AboutFile(k sandbox.DenialKind) bool {
	return k == sandbox.KindWrite || k == sandbox.KindMetadata || k == sandbox.KindProtected
}

// Widen applies a grant, and reports whether it covers what was asked for.
func (l Law) Widen(r Request, g sandbox.Grant) bool {
	if g.Unsandboxed {
		return false // a sandboxed command stays in the sandbox
	}
	j := l.judge
	if r.Kind == sandbox.KindLoss {
		j.mayLose = true
		return true
	}
	for _, path := range g.Write {
		if path != filepath.Clean(path) || !j.grantable(path) {
			return false
		}
	}
	policy := j.policy.With(g)
	if !allows(policy, r) {
		return false
	}
	j.policy, j.protection.policy = policy, j.protection.policy.With(g)
	j.looks.done = nil // they were made under the narrower policy
	for _, path := range g.Write {
		j.protection.granted = append(j.protection.granted, path)
		j.roots.open(path)
	}
	return true
}

// grantable reports whether any grant opens path for writing.
func (j *Judge) grantable(path string) bool {
	return strings.HasPrefix(path, "/") && spec.NeverWritable(path) == "" && !sandbox.CoveredBy(j.policy.Protected.Own, path)
}

// Grantable reports whether a grant would let the command write path. A write grant does not open a path that is
// closed to reading.
func (l Law) Grantable(path string) bool {
	return l.judge.grantable(path) && l.judge.policy.JudgeWrite(path).Kind != sandbox.KindRead
}

// Learnable reports whether path may be granted although no person reads the question: it is not protected.
func (l Law) Learnable(n *notify.Notification, path string) bool {
	all := l.judge.policy.Plus([]string{"/"}, nil)
	return all.JudgeWrite(path).Allowed && !slices.ContainsFunc(gitFolders("/", path), func(dir string) bool { return l.judge.foreignGit(n, dir) })
}

// Allows reports whether the policy allows what was asked for.
func (l Law) Allows(r Request) bool { return allows(l.judge.policy, r) }

func allows(p resolved.Policy, r Request) bool {
	switch r.Kind {
	case sandbox.KindSocket:
		return slices.Contains(p.Sockets, r.Target)
	case sandbox.KindNetwork:
		host, err := sandbox.ParseHostPort(r.Target)
		return err == nil && p.JudgeHost(host).Allowed
	}
	return AboutFile(r.Kind) && p.JudgeWrite(r.Target).Allowed
}

// Policy returns the policy as it is at each moment.
func (l Law) Policy() *resolved.Policy { return &l.judge.policy }

// Narrow takes back what c revokes.
func (l Law) Narrow(c sandbox.Revocation) {
	j := l.judge
	had := j.policy.Roots
	j.policy, j.protection.policy = j.policy.Closed(c), j.protection.policy.Closed(c)
	// Landlock rules from the start still open single files. A command that bypasses the broker this
	// way gains no more than an open descriptor would give it.
	j.reach = slices.DeleteFunc(j.reach, func(path string) bool {
		root := func(r sandbox.Root) bool { return r.Path == path }
		return slices.ContainsFunc(had, root) && !slices.ContainsFunc(j.policy.Roots, root)
	})
	j.looks.done = nil // they used the wider policy
}

// KeepAll takes back that a person allowed losses.
func (l Law) KeepAll() { l.judge.mayLose = false }

// Close closes the granted folders.
func (l Law) Close() { l.judge.roots.forgetFrom(0) }

// State is what a Law was at a moment.
type State struct {
	policy     resolved.Policy
	protection Protection
	// roots is the number of granted roots.
	roots int
}

// State returns what the law is now.
func (l Law) State() State { return State{l.judge.policy, l.judge.protection, len(l.judge.roots.list)} }

// Restore takes back what was granted since s.
func (l Law) Restore(s State) {
	l.judge.policy, l.judge.protection = s.policy, s.protection
	l.judge.roots.forgetFrom(s.roots)
}

// open adds a granted path. A path that is granted again means the folder that is there
// now.
func (g *grantedRoots) open(path string) {
	i := slices.IndexFunc(g.list, func(r *grantedRoot) bool { return r.path == path })
	if i >= 0 {
		g.list[i].close()
		g.list = slices.Delete(g.list, i, i+1)
	}
	r := &grantedRoot{path: path, fd: -1}
	r.take()
	g.list = append(g.list, r)
}

// take opens the folder of a root, if it exists.
func (r *grantedRoot) take() {
	fd, err := kernel.Openat2(unix.AT_FDCWD, r.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, unix.RESOLVE_NO_SYMLINKS)
	if err == nil {
		r.fd = fd
	}
}

func (r *grantedRoot) close() {
	if r.fd >= 0 {
		unix.Close(r.fd)
	}
}

// stands reports whether the folder of a root is still the granted one. If that folder was
// removed, which needs the same grant, a new one may take its place.
func (r *grantedRoot) stands() bool {
	var st unix.Stat_t
	if r.fd >= 0 && unix.Fstat(r.fd, &st) == nil && st.Nlink == 0 {
		r.close()
		r.fd = -1
	}
	if r.fd < 0 {
		r.take()
		return true
	}
	now, err := pathwalk.OpenHost(r.path)
	if err != nil {
		return false
	}
	defer unix.Close(now)
	return kernel.SameFile(now, r.fd)
}

// stands reports whether a write root is still the file or folder that was granted. It is
// true for roots that were not granted this way.
func (g *grantedRoots) stands(root string) bool {
	for _, r := range g.list {
		if r.path == root {
			return r.stands()
		}
	}
	return true
}

// replaced records that the broker removed, renamed or exchanged what was at paths: another folder may take a granted
// name. The Landlock rule and the mount of a folder granted before the start end with that folder. So the broker makes
// what comes in its place, and changes it, on the host, as for a granted name that did not exist.
func (g *grantedRoots) replaced(p *Protection, paths ...string) {
	for _, path := range paths {
		switch i := slices.IndexFunc(g.list, func(r *grantedRoot) bool { return r.path == path }); {
		case i >= 0:
			g.list[i].close()
			g.list[i].fd = -1
		case slices.Contains(p.entries, path):
			p.granted = append(p.granted, path)
			p.Fixed = slices.DeleteFunc(slices.Clone(p.Fixed), func(f string) bool { return f == path })
			g.open(path)
		}
	}
}

// opens reports whether path lies in a granted root.
func (g *grantedRoots) opens(path string) bool {
	return slices.ContainsFunc(g.list, func(r *grantedRoot) bool { return sandbox.Covers(r.path, path) })
}

// forgetFrom removes all roots but the first count.
func (g *grantedRoots) forgetFrom(count int) {
	for _, r := range g.list[count:] {
		r.close()
	}
	g.list = g.list[:count]
}

// A grant may name a single file, a name that does not exist yet, or a folder. Landlock
// binds rules to existing files, and a rule on a file gives no right over its directory
// entry. So `rm`, `mv` and `mkdir` of exactly the granted path would fail, and a rule on
// the folder around it would open the whole folder. So the broker makes these changes on
// the host's own files, as it does for grants to a running command.

// PlanGrants adds the paths granted before the start. A folder keeps its Landlock rule.
func (p *Protection) PlanGrants(granted, folders []string) {
	for _, path := range granted {
		if slices.Contains(folders, path) {
			p.entries = append(p.entries, path)
		} else {
			p.granted = append(p.granted, path)
		}
	}
}

// onHost reports whether the broker changes path on the host's own files: path lies in a
// granted root, or is itself a granted folder.
func (j *Judge) onHost(path string) bool {
	return j.roots.opens(path) || slices.Contains(j.protection.entries, path)
}
