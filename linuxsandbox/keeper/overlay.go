//go:build linux

package keeper

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// A draft is an overlay at the path of a write root: the root is the lower layer, which overlayfs never
// changes, and what the command changes is in the upper layer. The layers are named by open files, since a
// path may have any characters. Overlayfs itself refuses the device 0:0, its mark of a deleted entry
// (ovl_mknod), and takes its other marks from attributes that it hides (userxattr).

// takeOverlays replaces the copies of folders that have an overlay.
func (m *mounter) takeOverlays() error {
	for _, o := range m.plan.Overlays {
		i := slices.IndexFunc(m.writable, func(t tree) bool { return t.path == o.Path })
		if i < 0 {
			continue // the root was removed meanwhile, so nothing can be changed there
		}
		t, err := newOverlay(o)
		if err != nil {
			return fmt.Errorf("draft of %s: %w", o.Path, err)
		}
		unix.Close(m.writable[i].fd)
		m.writable[i] = t
	}
	return nil
}

// mountBase attaches overlays in a namespace that later keepers copy. The kernel gives an upper layer to one overlay
// alone, but a copy of a namespace has the same overlays. All are made before one is attached: a root may lie in another.
func mountBase(overlays []spec.Overlay) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("make mounts private", err)
	}
	var all []tree
	for _, o := range overlays {
		t, err := newOverlay(o)
		if err != nil {
			return fmt.Errorf("draft of %s: %w", o.Path, err)
		}
		all = append(all, t)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].path < all[j].path })
	for _, t := range all {
		if err := t.putAt(t.path); err != nil {
			return err
		}
	}
	return nil
}

// newOverlay mounts an overlay, nowhere yet.
func newOverlay(o spec.Overlay) (t tree, err error) {
	if o.Work == "" {
		t, err := take(o.Upper)
		t.path = o.Path
		return t, err
	}
	var open []int
	defer func() {
		for _, fd := range open {
			unix.Close(fd)
		}
	}()
	// volatile: the kernel syncs nothing when the overlay goes, as the command ends.
	options := []string{"userxattr", "volatile"}
	for _, layer := range []struct{ name, path string }{{"lowerdir", o.Path}, {"upperdir", o.Upper}, {"workdir", o.Work}} {
		fd, err := kernel.OpenPath(layer.path)
		if err != nil {
			return t, fmt.Errorf("open %s: %w", layer.path, err)
		}
		open = append(open, fd)
		options = append(options, layer.name+"="+"/proc/self/fd/"+strconv.Itoa(fd))
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(open[0], &fs); err != nil {
		return t, os.NewSyscallError("fstatfs", err)
	}
	attrs := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if fs.Flags&unix.ST_NOEXEC != 0 {
		attrs |= unix.MOUNT_ATTR_NOEXEC
	}
	fd, err := newFilesystem("overlay", attrs, options...)
	switch {
	case errors.Is(err, unix.EINVAL):
		err = fmt.Errorf("overlayfs cannot keep changes in %s, whose file system may be an overlay, as in containers, or a network's (%w)", o.Upper, err)
	case errors.Is(err, unix.EPERM):
		err = fmt.Errorf("this kernel lets only root mount overlayfs, which Linux 5.11 changed (%w)", err)
	case errors.Is(err, unix.ENODEV):
		err = fmt.Errorf("this kernel has no overlayfs (%w)", err)
	}
	return tree{fd: fd, path: o.Path, dir: true}, err
}
