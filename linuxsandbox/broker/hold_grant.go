//go:build linux

package broker

import (
	"path/filepath"
	"slices"
	"strings"

	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// What is granted to a command that runs already is this broker's to do: the
// Landlock rules of the command stand, and so do its mounts. So a granted path
// becomes a brokered root (protect.go), and every change in it is judged under
// the wider policy and performed here: on the host's own files, since what lies
// outside is read-only in the command's mounts.

// grantedRoot is a path that a command may change since it runs.
type grantedRoot struct {
	path string
	// fd is the folder that was granted, -1: it does not exist, or is a file, whose
	// name may be given to another.
	fd int
}

// grantedRoots are those of one command, used by the broker's thread alone.
type grantedRoots struct{ list []*grantedRoot }

// widen takes a grant up, and reports whether it reaches what was asked for.
func (j *judge) widen(key heldKey, g sandbox.Grant) bool {
	if g.Unsandboxed {
		return false // what runs in a sandbox stays in it
	}
	for _, path := range g.Write {
		if path != filepath.Clean(path) || !strings.HasPrefix(path, "/") || spec.NeverWritable(path) != "" || sandbox.CoveredBy(j.policy.Protected.Own, path) {
			return false
		}
	}
	policy := j.policy.With(g)
	if !allows(policy, key) {
		return false
	}
	j.policy, j.protection.policy = policy, j.protection.policy.With(g)
	j.looks.done = nil // they were made under the policy before
	for _, path := range g.Write {
		j.protection.granted = append(j.protection.granted, path)
		j.roots.open(path)
	}
	return true
}

// allows reports whether what was asked for is open by now.
func (j *judge) allows(key heldKey) bool { return allows(j.policy, key) }

func allows(p sandbox.Policy, key heldKey) bool {
	switch key.kind {
	case sandbox.KindSocket:
		return slices.Contains(p.Sockets, key.target)
	case sandbox.KindNetwork:
		host, err := sandbox.ParseHostPort(key.target)
		return err == nil && (p.JudgeHost(host).Allowed || host.Port == 0 && netns.MayLookUp(&p, host.Host))
	}
	return aboutFile(key.kind) && p.JudgeWrite(key.target).Allowed
}

// open takes up a granted path. One that was granted before and is again is the
// folder that stands there now.
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

// take opens the folder of a root, if there is one.
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

// stands reports whether the folder of a root is the one that was granted. Where
// that was removed, which takes that it is granted, a new one may be made.
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

// stands reports whether a write root is what it was when it was granted; it is
// if it was not granted to the running command.
func (g *grantedRoots) stands(root string) bool {
	for _, r := range g.list {
		if r.path == root {
			return r.stands()
		}
	}
	return true
}

// renamed takes note that the broker gave what stood at one path the other name:
// a granted name may be given to another folder.
func (g *grantedRoots) renamed(paths ...string) {
	for _, r := range g.list {
		if slices.Contains(paths, r.path) {
			r.close()
			r.fd = -1
		}
	}
}

// opens reports whether path was granted to the running command.
func (g *grantedRoots) opens(path string) bool {
	return slices.ContainsFunc(g.list, func(r *grantedRoot) bool { return sandbox.Covers(r.path, path) })
}

// forgetFrom forgets all roots but the first count.
func (g *grantedRoots) forgetFrom(count int) {
	for _, r := range g.list[count:] {
		r.close()
	}
	g.list = g.list[:count]
}

// What a grant names may be a single file, a name that nothing has yet, or a
// folder. Landlock binds rules to files that are there and knows nothing of the
// entry that a file is, so that `rm`, `mv` and `mkdir` of just what was granted
// would fail, and a rule for the folder around it would open all of that. So the
// broker makes these changes, on the host's own files (hold_grant.go), as it does
// for what is granted to a command that runs.

// PlanGrants takes up what was granted. A folder keeps its own rule.
func (p *Protection) PlanGrants(granted, folders []string) {
	for _, path := range granted {
		if slices.Contains(folders, path) {
			p.entries = append(p.entries, path)
		} else {
			p.granted = append(p.granted, path)
		}
	}
}

// onHost reports whether the changes at path are made on the host's own files: it was
// granted, by itself or since the command runs.
func (j *judge) onHost(path string) bool {
	return j.roots.opens(path) || slices.Contains(j.protection.entries, path)
}

// openGrants makes roots of what was granted before the command runs.
func (j *judge) openGrants() {
	for _, path := range j.protection.granted {
		j.roots.open(path)
	}
}
