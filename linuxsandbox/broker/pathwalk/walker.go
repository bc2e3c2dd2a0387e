//go:build linux

// Package pathwalk turns a path that a command used into an open file: the broker's own
// O_PATH descriptor of what the command would have reached, and its path in the policy. It
// opens files with O_PATH and the rights of the calling thread, reads /proc, and neither
// judges nor changes anything. Start with Walker.Target, the walk of a call that follows
// links.
package pathwalk

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Caller is a thread that waits in a system call.
type Caller interface {
	// Thread is its number in this process's PID namespace.
	Thread() int
	// Waits reports whether it still waits. If so, everything that was looked up under its
	// number until now was its own, not that of a later thread with the same number.
	Waits() bool
}

// Walker does the path walks for the calls of one command. Only one thread may use it.
type Walker struct {
	// Mounts describe how the command's view differs from the host's, nil for no difference.
	Mounts *Mounts
	// Instead returns the path to use in place of a call's path.
	Instead func(path string) string
	// OnHost reports whether changes at path are made on the host's own files.
	OnHost func(path string) bool

	view *view // nil until the first call
}

// Look opens the command's view, once.
func (w *Walker) Look(c Caller) error {
	if w.view != nil {
		return nil
	}
	v, err := lookAt(w.Mounts, c.Thread())
	if err != nil {
		return err
	}
	if !c.Waits() {
		v.close() // it may be the view of a later thread with the same number
		return unix.ESRCH
	}
	w.view = v
	return nil
}

// Open opens with O_PATH what the caller means by m.
func (w *Walker) Open(c Caller, m Name) (int, error) {
	if err := w.Look(c); err != nil {
		return -1, err
	}
	return w.view.open(c.Thread(), m)
}

// PolicyPath returns an open file's path in the policy. Look must have succeeded.
func (w *Walker) PolicyPath(fd int) string { return w.view.policyPath(fd) }

// HostPath returns the host's path of an open file of the command.
func (w *Walker) HostPath(fd int) string {
	return strings.TrimPrefix(w.view.policyPath(fd), HostsOwn)
}

// Hidden returns the path of the host's file that the command's own mounts hide from m, or
// "".
func (w *Walker) Hidden(c Caller, m Name) string {
	if w.view == nil {
		return ""
	}
	return w.view.hidden(c.Thread(), m)
}

// DeviceOf returns the device number of the folder at path in the command's view.
func (w *Walker) DeviceOf(c Caller, path string) (uint64, error) {
	if err := w.Look(c); err != nil {
		return 0, err
	}
	var st unix.Statx_t
	err := unix.Statx(w.view.root, strings.TrimPrefix(path, "/"), unix.AT_NO_AUTOMOUNT|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &st)
	return unix.Mkdev(st.Dev_major, st.Dev_minor), err
}

// Close closes the view.
func (w *Walker) Close() { w.view.close() }
