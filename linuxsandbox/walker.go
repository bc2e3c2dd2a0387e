//go:build linux

package linuxsandbox

import (
	"strings"

	"golang.org/x/sys/unix"
)

// caller is a thread that waits in a system call.
type caller interface {
	// Thread is its number, as this process counts.
	Thread() int
	// Waits reports whether it still waits: what was looked up under its number
	// until now was its own and not a later owner's.
	Waits() bool
}

// walker finds what the calls of one command name. It is used by one thread.
type walker struct {
	// mounts are what the command sees otherwise than the host, nil: nothing.
	mounts *mounts
	// instead is the path that stands for the path of a call.
	instead func(path string) string
	// onHost reports the paths whose changes are made on the host's own files.
	onHost func(path string) bool

	view *view // nil until the first call
}

// look opens what the command sees, once.
func (w *walker) look(c caller) error {
	if w.view != nil {
		return nil
	}
	v, err := lookAt(w.mounts, c.Thread())
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

// open returns a reference to what the caller means by m.
func (w *walker) open(c caller, m name) (int, error) {
	if err := w.look(c); err != nil {
		return -1, err
	}
	return w.view.open(c.Thread(), m)
}

// policyPath is what an open file of a command that was looked at is called in
// the policy.
func (w *walker) policyPath(fd int) string { return w.view.policyPath(fd) }

// hostPath is what the host calls an open file of the command.
func (w *walker) hostPath(fd int) string {
	return strings.TrimPrefix(w.view.policyPath(fd), hostsOwn)
}

// hidden is the host's file that m would be, were it not that the command sees
// another one in that place; "" when there is none.
func (w *walker) hidden(c caller, m name) string {
	if w.view == nil {
		return ""
	}
	return w.view.hidden(c.Thread(), m)
}

// deviceOf is the device number of the folder at path as the command sees it.
func (w *walker) deviceOf(c caller, path string) (uint64, error) {
	if err := w.look(c); err != nil {
		return 0, err
	}
	var st unix.Statx_t
	err := unix.Statx(w.view.root, strings.TrimPrefix(path, "/"), unix.AT_NO_AUTOMOUNT|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &st)
	return unix.Mkdev(st.Dev_major, st.Dev_minor), err
}

// close lets go of what was looked at.
func (w *walker) close() { w.view.close() }
