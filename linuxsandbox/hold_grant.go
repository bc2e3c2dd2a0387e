//go:build linux

package linuxsandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"codeagent/linuxsandbox/netns"
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
	// fd is the folder that was granted, -1: there is none, or it is a file, whose
	// name may be given to another.
	fd int
}

// widen takes a grant up, and reports whether it reaches what was asked for.
func (b *broker) widen(key heldKey, g sandbox.Grant) bool {
	if g.Unsandboxed {
		return false // what runs in a sandbox stays in it
	}
	for _, path := range g.Write {
		if path != filepath.Clean(path) || !strings.HasPrefix(path, "/") || neverWritable(path) != "" || coveredBy(b.policy.Protected.Own, path) {
			return false
		}
	}
	policy := b.policy.With(g)
	if !allows(policy, key) {
		return false
	}
	b.policy, b.protection.policy = policy, b.protection.policy.With(g)
	for _, path := range g.Write {
		b.protection.granted = append(b.protection.granted, path)
		b.held.open(path)
	}
	return true
}

// allows reports whether what was asked for is open by now.
func (b *broker) allows(key heldKey) bool { return allows(b.policy, key) }

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
func (h *holding) open(path string) {
	i := slices.IndexFunc(h.roots, func(r *grantedRoot) bool { return r.path == path })
	if i >= 0 {
		h.roots[i].close()
		h.roots = slices.Delete(h.roots, i, i+1)
	}
	r := &grantedRoot{path: path, fd: -1}
	r.take()
	h.roots = append(h.roots, r)
}

// take opens the folder of a root, if there is one.
func (r *grantedRoot) take() {
	fd, err := openat2(unix.AT_FDCWD, r.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, unix.RESOLVE_NO_SYMLINKS)
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
	now, err := openHost(r.path)
	if err != nil {
		return false
	}
	defer unix.Close(now)
	return sameFile(now, r.fd)
}

// stands reports whether a write root is what it was when it was granted; it is
// if it was not granted to the running command.
func (h *holding) stands(root string) bool {
	for _, r := range h.roots {
		if r.path == root {
			return r.stands()
		}
	}
	return true
}

// renamed takes note that the broker gave what stood at one path the other name:
// a granted name may be given to another folder.
func (h *holding) renamed(paths ...string) {
	for _, r := range h.roots {
		if slices.Contains(paths, r.path) {
			r.close()
			r.fd = -1
		}
	}
}

// opens reports whether path was granted to the running command.
func (h *holding) opens(path string) bool {
	return slices.ContainsFunc(h.roots, func(r *grantedRoot) bool { return sandbox.Covers(r.path, path) })
}

// asHost is the host's own reference to the file or folder fd, which is called
// path: the command's mounts show what was granted as read-only. Where the host
// has another file there it is fd itself, which nothing can be changed by.
func (b *broker) asHost(fd int, path string) int {
	if b.mounts == nil {
		return fd
	}
	host, err := openHost(path)
	if err != nil {
		return fd
	}
	if !sameFile(host, fd) {
		unix.Close(host)
		return fd
	}
	unix.Close(fd)
	return host
}

func sameFile(a, b int) bool {
	var x, y unix.Stat_t
	return unix.Fstat(a, &x) == nil && unix.Fstat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}
