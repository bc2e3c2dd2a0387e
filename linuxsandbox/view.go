//go:build linux

package linuxsandbox

import (
	"context"
	"sync"

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

// namespace returns the descriptor of the namespace; -1 for a nil view.
func (v *view) namespace() int {
	if v == nil {
		return -1
	}
	return v.mount
}

// OnDraft is OnDrafts for a backend of which everything works on d: the changes below roots, which are folders, go there,
// also those of backends that become apart from it. It says what stands against that on this machine, and mounts while
// the caller goes on: Mounted and each Start wait for that.
func (b *Backend) OnDraft(d sandbox.Draft, roots []string) (*Backend, error) {
	f, err := b.probe(nil)
	if err != nil {
		return nil, err
	}
	overlays, err := plan.Overlays(roots, d, f)
	if err != nil {
		return nil, startError("draft", err)
	}
	on, err := b.OnDrafts()
	if err != nil {
		return nil, err
	}
	on.mounting = sync.OnceValue(func() error { return on.mount(overlays, roots) })
	go on.mounting() // Close waits for it
	return on, nil
}

// Mounted waits until the backend works on its draft, if it has one.
func (b *Backend) Mounted() error {
	if b.mounting == nil {
		return nil
	}
	return b.mounting()
}

// mount makes the view.
func (b *Backend) mount(overlays []spec.Overlay, roots []string) error {
	f, err := b.probe(nil)
	if err != nil {
		return err
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
