//go:build linux

package keeper

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// These are the keeper's mounts, in its own mount namespace. They copy no content and change
// nothing on the host:
//
//	mounts of what stays writable are copied (open_tree)
//	everything becomes read-only (mount_setattr, recursive)
//	the session's private folder is mounted over /tmp and /var/tmp,
//	    a new /dev with a new tmpfs as /dev/shm and new terminals, a new /proc
//	the copies are attached again, each where it was
//	protected paths and the folders on the way to them are bound to themselves
//	something empty is mounted over each denied path
//
// Read-only mounts protect what Landlock does not handle: mode, owner, times and attributes. A
// folder that is bound to itself cannot be renamed, so a command cannot move a protected name away
// and create another one. All calls used here are in every kernel with Landlock ABI 3.

// mounter carries out spec.Mounts.
type mounter struct {
	plan *spec.Mounts
	// proc is a writable /proc that is mounted nowhere; the self-test tries Landlock on it.
	proc int
	// writable, readable and temps are copies of what is attached again: the last, one for each
	// path of plan.Private, are the private folder.
	writable, readable, temps []tree
	moved                     bool // see moveTemp
	// needed are the Landlock rules for the new mounts.
	needed []spec.Rule
	// empty is the first empty folder that was mounted over a denied one; 0 before that. The others
	// are copies of its mount.
	empty int
}

// tree is a copy of a mount with all mounts below it. It is not attached yet.
type tree struct {
	fd   int
	path string
	dir  bool
}

// mountAll makes the mounts of plan. It returns the descriptor of a /proc for the self-test, and
// the Landlock rules that the new mounts need.
func mountAll(plan *spec.Mounts) (proc int, rules []spec.Rule, err error) {
	m := &mounter{plan: plan, proc: -1}
	for _, step := range []func() error{
		m.takeTrees, m.newProc, m.lock, m.newDev, m.private, m.putAllBack, m.closeDev, m.protect, m.hide,
	} {
		if err := step(); err != nil {
			return -1, nil, err
		}
	}
	return m.proc, m.needed, nil
}

// takeTrees copies what is attached again later.
func (m *mounter) takeTrees() (err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("make mounts private", err)
	}
	if m.writable, err = takeAll(m.plan.Writable); err != nil {
		return err
	}
	if err := m.takeOverlays(); err != nil {
		return err
	}
	if m.readable, err = takeAll(m.plan.Readable); err != nil {
		return err
	}
	m.takeNamed()
	for range m.plan.Private {
		if m.moveTemp() {
			break
		}
		t, err := take(m.plan.Temp)
		if err != nil {
			return err
		}
		m.temps = append(m.temps, t)
	}
	return nil
}

// moveTemp makes an overlay of the private folder what is mounted at the first place that shows it. The others get
// copies of that mount (private): two overlays must not share layers.
func (m *mounter) moveTemp() bool {
	i := slices.IndexFunc(m.writable, func(t tree) bool { return t.path == m.plan.Temp })
	if i < 0 || !slices.ContainsFunc(m.plan.Overlays, func(o spec.Overlay) bool { return o.Path == m.plan.Temp }) {
		return false
	}
	m.moved = true
	m.temps, m.writable = append(m.temps, m.writable[i]), slices.Delete(m.writable, i, i+1)
	return true
}

// takeNamed copies what the command names of the host's /tmp. Threat: everybody may change entries there
// after codeagent looked, so that a file becomes a link or a pipe. A link is not passed, and a read-only
// mount does not stop writes to pipes and devices.
func (m *mounter) takeNamed() {
	for _, path := range m.plan.Named {
		t, err := take(path)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(t.fd, &st) == nil && (t.dir || st.Mode&unix.S_IFMT == unix.S_IFREG) && setReadOnly(t.fd, "", unix.MOUNT_ATTR_NODEV) == nil {
			m.readable = append(m.readable, t)
		} else {
			unix.Close(t.fd)
		}
	}
}

// lock makes everything read-only.
func (m *mounter) lock() error {
	for _, t := range m.readable {
		if err := setReadOnly(t.fd, "", 0); err != nil {
			return err
		}
	}
	return setReadOnly(unix.AT_FDCWD, "/", 0)
}

// take copies the mount tree at path. It refuses a symbolic link on the way: the paths are
// canonical, so a link there is new.
func take(path string) (tree, error) {
	at, err := kernel.OpenPath(path)
	if err != nil {
		return tree{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return tree{}, err
	}
	fd, err := unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return tree{}, &fs.PathError{Op: "open_tree", Path: path, Err: err}
	}
	return tree{fd, path, kernel.IsFolder(&st)}, nil
}

func takeAll(paths []string) ([]tree, error) {
	var out []tree
	for _, path := range paths {
		t, err := take(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an optional root that was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// put attaches a tree over the open file at.
func (t tree) put(at int) error {
	defer unix.Close(t.fd)
	if err := unix.MoveMount(t.fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return &fs.PathError{Op: "mount", Path: t.path, Err: err}
	}
	return nil
}

func (t tree) putAt(path string) error {
	at, err := kernel.OpenPath(path)
	if err != nil {
		unix.Close(t.fd)
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(at)
	return t.put(at)
}

// setReadOnly makes a mount and all below it read-only, and gives them the attributes more.
func setReadOnly(at int, path string, more uint64) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | more}
	return os.NewSyscallError("mount_setattr", unix.MountSetattr(at, path, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr))
}

// newProc mounts the /proc of the new PID namespace. Later it becomes read-only for the command,
// with everything else. It comes first: in a user namespace the kernel allows a new /proc only
// while an old one is fully visible (mount_too_revealing).
func (m *mounter) newProc() error {
	if m.plan.HostProc {
		old, err := take(kernel.ProcDir)
		m.proc = old.fd
		return err
	}
	const attrs = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	var err error
	if m.proc, err = newFilesystem("proc", attrs); err != nil {
		return err
	}
	return mountNew(kernel.ProcDir, "proc", attrs)
}

// mountNew mounts a new instance of a file system at path.
func mountNew(path, kind string, attrs int, options ...string) error {
	fd, err := newFilesystem(kind, attrs, options...)
	if err != nil {
		return err
	}
	return tree{fd: fd, path: path}.putAt(path)
}

// newFilesystem makes a new instance of a file system and mounts it nowhere. Each option is
// name=value, or only a name.
func newFilesystem(kind string, attrs int, options ...string) (int, error) {
	at, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen "+kind, err)
	}
	defer unix.Close(at)
	for _, o := range options {
		name, value, isString := strings.Cut(o, "=")
		if isString {
			err = unix.FsconfigSetString(at, name, value)
		} else {
			err = unix.FsconfigSetFlag(at, name)
		}
		if err != nil {
			return -1, os.NewSyscallError("fsconfig "+kind+" "+o, err)
		}
	}
	if err := unix.FsconfigCreate(at); err != nil {
		return -1, os.NewSyscallError("fsconfig "+kind, err)
	}
	fd, err := unix.Fsmount(at, unix.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return -1, os.NewSyscallError("fsmount "+kind, err)
	}
	return fd, nil
}

// private mounts the session's own folders over the shared ones.
func (m *mounter) private() error {
	if m.plan.Memory {
		if err := mountNew(kernel.ShmDir, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode=1777"); err != nil {
			return err
		}
		m.needed = append(m.needed, spec.Rule{Path: kernel.ShmDir, Access: spec.AccessWrite})
	}
	if m.plan.Terminals {
		if err := mountNew(kernel.PtsDir, "devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "newinstance", "ptmxmode=0666", "mode=620"); err != nil {
			return err
		}
		if !m.plan.Devices { // in a new /dev it is a link
			master, err := take(kernel.PtsDir + "/ptmx")
			if err == nil {
				err = master.putAt(kernel.Ptmx)
			}
			if err != nil && !errors.Is(err, unix.ELOOP) { // it is a link on most machines
				return err
			}
		}
		m.needed = append(m.needed, spec.Rule{Path: kernel.PtsDir, Access: accessTerminals}, spec.Rule{Path: kernel.Ptmx, Access: spec.AccessDevice, Optional: true})
	}
	for i, dir := range m.plan.Private {
		if i == len(m.temps) { // an overlay
			t, err := take(m.plan.Private[0])
			if err != nil {
				return err
			}
			m.temps = append(m.temps, t)
		}
		if err := m.temps[i].putAt(dir); err != nil {
			return err
		}
	}
	if !m.moved {
		return nil
	}
	t, err := take(m.plan.Private[0])
	t.path = m.plan.Temp
	m.writable = append(m.writable, t)
	return err
}

// protect pins the folders on the way to protected paths, and makes these paths read-only.
func (m *mounter) protect() error {
	granted, err := takeAll(m.plan.Granted)
	if err != nil {
		return err
	}
	paths := slices.Concat(m.plan.Pins, m.plan.Protected)
	// Outer ones first: a copy of an outer folder would cover what is bound inside it.
	slices.Sort(paths)
	for _, path := range paths {
		t, err := take(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed after codeagent looked
		}
		if err == nil && slices.Contains(m.plan.Protected, path) {
			err = setReadOnly(t.fd, "", 0)
		}
		if err == nil {
			err = t.putAt(t.path)
		}
		if err != nil {
			return err
		}
	}
	for _, t := range granted {
		if err := t.putAt(t.path); err != nil {
			return err
		}
	}
	return nil
}

// hide covers each denied path with something that cannot be opened: an empty folder without
// permissions, or a device on a nodev mount. Landlock cannot take away a right below a folder that
// a rule opens; a mount can.
func (m *mounter) hide() error {
	defer func() {
		if m.empty != 0 {
			unix.Close(m.empty)
		}
	}()
	for _, path := range m.plan.Hidden {
		at, err := kernel.OpenPath(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "open", Path: path, Err: err}
		}
		err = m.mask(at, path)
		unix.Close(at)
		if err != nil {
			return err
		}
	}
	return nil
}

// mask covers the open file at, whose path is path.
func (m *mounter) mask(at int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	if kernel.IsFolder(&st) {
		return m.maskFolder(at, path)
	}
	t, err := take(os.DevNull)
	if err != nil {
		return err
	}
	if err := setReadOnly(t.fd, "", unix.MOUNT_ATTR_NODEV); err != nil {
		return err
	}
	t.path = path
	return t.put(at)
}

// maskFolder mounts one empty folder over all denied folders. Copying its mount is faster than
// making a file system for each of them and removing it with the command.
func (m *mounter) maskFolder(at int, path string) error {
	if m.empty == 0 {
		fd, err := newFilesystem("tmpfs", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV, "mode=0")
		if err != nil {
			return err
		}
		if m.empty, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			return err
		}
		return tree{fd: fd, path: path}.put(at)
	}
	fd, err := unix.OpenTree(m.empty, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return &fs.PathError{Op: "open_tree", Path: path, Err: err}
	}
	return tree{fd: fd, path: path}.put(at)
}
