//go:build linux

// Package pathwalk turns a name that a command used into an open file: the broker's own
// reference (O_PATH) to what the command would have reached, and the path by which the
// policy knows it. It opens files for reference with the rights of the calling thread,
// reads /proc, and neither judges nor changes anything. Start with Walker.Target, the walk
// of a call that follows links.
package pathwalk

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Caller is a thread that waits in a system call.
type Caller interface {
	// Thread is its number, as this process counts.
	Thread() int
	// Waits reports whether it still waits: what was looked up under its number
	// until now was its own and not a later owner's.
	Waits() bool
}

// Walker finds what the calls of one command name. It is used by one thread.
type Walker struct {
	// Mounts are what the command sees otherwise than the host, nil: nothing.
	Mounts *Mounts
	// Instead is the path that stands for the path of a call.
	Instead func(path string) string
	// OnHost reports the paths whose changes are made on the host's own files.
	OnHost func(path string) bool

	view *view // nil until the first call
}

// Look opens what the command sees, once.
func (w *Walker) Look(c Caller) error {
	if w.view != nil {
		return nil
	}
	v, err := lookAt(w.Mounts, c.Thread())
	if err != nil {
		return err
	}
	if !c.Waits() {
		v.close() // it may be what a later owner of the number sees
		return unix.ESRCH
	}
	w.view = v
	return nil
}

// Open returns a reference to what the caller means by m.
func (w *Walker) Open(c Caller, m Name) (int, error) {
	if err := w.Look(c); err != nil {
		return -1, err
	}
	return w.view.open(c.Thread(), m)
}

// PolicyPath is what an open file of a command that was looked at is called in
// the policy.
func (w *Walker) PolicyPath(fd int) string { return w.view.policyPath(fd) }

// HostPath is what the host calls an open file of the command.
func (w *Walker) HostPath(fd int) string {
	return strings.TrimPrefix(w.view.policyPath(fd), HostsOwn)
}

// Hidden is the host's file that m would be, were it not that the command sees
// another one in that place; "" when there is no such file.
func (w *Walker) Hidden(c Caller, m Name) string {
	if w.view == nil {
		return ""
	}
	return w.view.hidden(c.Thread(), m)
}

// DeviceOf is the device number of the folder at path as the command sees it.
func (w *Walker) DeviceOf(c Caller, path string) (uint64, error) {
	if err := w.Look(c); err != nil {
		return 0, err
	}
	var st unix.Statx_t
	err := unix.Statx(w.view.root, strings.TrimPrefix(path, "/"), unix.AT_NO_AUTOMOUNT|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &st)
	return unix.Mkdev(st.Dev_major, st.Dev_minor), err
}

// Close lets go of what was looked at.
func (w *Walker) Close() { w.view.close() }
