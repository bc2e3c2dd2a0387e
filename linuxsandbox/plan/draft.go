//go:build linux

package plan

import (
	"errors"
	"fmt"
	"slices"

	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// OnDraft has the command's changes go to d. A write root that is a file or is gone stays shut then: overlayfs
// has layers of folders alone.
func (p *Plan) OnDraft(d sandbox.Draft, f Facts) error {
	if err := draftable(f); err != nil {
		return err
	}
	if len(p.Absent)+len(p.Made)+len(p.granted) > 0 {
		return errors.New("bug: a policy for a draft has granted paths that the broker opens on the host")
	}
	folder := func(path string) bool {
		st, err := kernel.StatPath(path)
		return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
	}
	var roots []string
	for i, rule := range p.Spec.Rules {
		if rule.Access != spec.AccessWrite {
			continue
		}
		if !folder(rule.Path) {
			p.Spec.Rules[i].Access = spec.AccessRead
			p.Mounts.Writable = slices.DeleteFunc(p.Mounts.Writable, func(path string) bool { return path == rule.Path })
			continue
		}
		roots = append(roots, rule.Path)
	}
	overlays, err := Overlays(roots, d, f)
	if err == nil {
		p.Mounts.Overlays = overlays
	}
	return err
}

func draftable(f Facts) error {
	switch {
	case f.Outer != "" && f.Broker:
		return fmt.Errorf("a draft needs mounts of codeagent's own, and %s makes them here", f.Outer)
	case !f.Namespaces:
		return fmt.Errorf("a draft needs mounts of its own: %s", f.NamespacesWhy)
	case !f.Broker:
		return fmt.Errorf("a draft needs the broker, which sees what changes: %s", f.NoBroker)
	}
	return nil
}

// Overlays plans that the changes below roots, which are folders, go to d.
func Overlays(roots []string, d sandbox.Draft, f Facts) (out []spec.Overlay, err error) {
	if err := draftable(f); err != nil {
		return nil, err
	}
	mounts, err := mountPoints()
	if err != nil {
		return nil, fmt.Errorf("draft: %w", err)
	}
	for _, root := range roots {
		for _, at := range mounts {
			if at != root && sandbox.Covers(root, at) {
				return nil, fmt.Errorf("no draft can cover %s: %s is a mount in it, and overlayfs shows one file system alone", root, at)
			}
		}
		upper, work, err := d.Layer(root)
		if err != nil {
			return nil, fmt.Errorf("draft: %w", err)
		}
		out = append(out, spec.Overlay{Path: root, Upper: upper, Work: work})
	}
	return out, nil
}

// mountPoints lists where something is mounted (proc_pid_mountinfo(5)).
func mountPoints() (out []string, err error) {
	text, err := cgroup.Kernel{}.Read("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	all, err := kernel.Mounts(text)
	for _, m := range all {
		out = append(out, m.Path)
	}
	return out, err
}
