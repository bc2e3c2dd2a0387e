//go:build linux

package linuxsandbox

import (
	"context"

	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/plan"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// view is the mount namespace of a session that works on a draft. One keeper mounts the overlays in it and ends; each
// later keeper joins it and gets a copy, with the same overlays, in which it mounts what it always does. So all
// commands, servers and file workers of the session see the same files, at the same time.
type view struct {
	user, mount int // descriptors; user is that of the owner's Namespaces, -1 for root
	roots       []string
	owner       *Backend
}

// namespace returns the descriptor of the namespace, -1 if there is none.
func (v *view) namespace() int {
	if v == nil {
		return -1
	}
	return v.mount
}

// WorkOn has the changes below roots, which are folders, go to d: those of all later commands of b, and of those of
// backends that become apart from it. Call it before the first Start.
func (b *Backend) WorkOn(d sandbox.Draft, roots []string) error {
	f, err := b.probe(nil)
	if err != nil {
		return err
	}
	overlays, err := plan.Overlays(roots, d, f)
	if err != nil {
		return startError("draft", err)
	}
	order := spec.Spec{Probe: true, Mounts: &spec.Mounts{Overlays: overlays, Base: true, HostProc: f.NoPIDs != ""}}
	k, err := b.startProbe(&order)
	if err != nil {
		return err
	}
	defer k.reap()
	defer k.close()
	if err := k.sendSpec(context.Background(), order); err != nil {
		return err
	}
	kind, _, fds, err := k.receive(context.Background())
	closeAll(fds)
	if err != nil {
		return err
	}
	if kind != control.FrameReady {
		return startError("draft", unexpected(kind))
	}
	mount, err := netns.OpenNamespace(k.pid, "mnt")
	if err != nil {
		return startError("draft", err)
	}
	b.view = &view{user: b.namespaces.User, mount: mount, roots: roots, owner: b}
	return nil
}

func (v *view) covers(path string) bool { return sandbox.CoveredBy(v.roots, path) }

// close releases the namespace with the backend that made it.
func (v *view) close(b *Backend) {
	if v != nil && v.owner == b {
		unix.Close(v.mount)
	}
}
