//go:build linux

package broker

import (
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// The policy allows a command to delete and replace files in its write roots, because undo can
// restore them. What undo could not save is lost for good, so such a call is held like a denied
// one, or fails where nobody can be asked. It is judged last, right before the change is made, so
// that nobody is asked about a call that fails anyway. Writing into a file is not held: programs
// that do so keep what they do not overwrite.

// unsaved returns why the entry could not be restored; empty if it could, or if nobody says so.
func (h *command) unsaved(dir int, entry, path string) string {
	if h.observer.to == nil || h.judge.mayLose || !h.observes(path) {
		return ""
	}
	return h.observer.to.Unsaved(dir, entry, path)
}

func (h *command) observes(path string) bool {
	return h.judge.policy.Observes(path) && !h.judge.protection.isTemporary(path)
}

// takesOut reports whether a new name would take something that could not be restored to where
// deleting it is not judged, such as the folder for temporary files. The call then fails as
// between two file systems, and mv copies file by file.
func (h *command) takesOut(dir int, entry, path, to string) bool {
	return !h.observes(to) && h.unsaved(dir, entry, path) != ""
}

// losing returns the answer to a call that is about to delete, replace or empty the regular file
// with the state st, if it may not do so now. entry is the entry of the folder dir, or "." for
// the open file dir.
func (h *command) losing(n *notify.Notification, call string, st *unix.Stat_t, dir int, entry, path string, p pin) (a notify.Reply, stops bool) {
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size == 0 {
		return notify.Reply{}, false
	}
	why := h.unsaved(dir, entry, path)
	if why == "" {
		return notify.Reply{}, false
	}
	d := &sandbox.Denial{Kind: sandbox.KindLoss, Target: path, Why: "undo could not bring it back: " + why}
	return h.refuse(n, call, unix.EPERM, d, p), true
}

// losingEntry is losing for an entry that is removed or replaced: the last name of its file.
func (h *command) losingEntry(n *notify.Notification, call string, s pathwalk.Spot, st *unix.Stat_t) (a notify.Reply, stops bool) {
	if st.Nlink > 1 {
		return notify.Reply{}, false
	}
	return h.losing(n, call, st, s.Dir, s.Last, s.Full(), pinOf(s))
}

// losingTarget is losing for an open file that is emptied.
func (h *command) losingTarget(n *notify.Notification, call string, t *pathwalk.Target) (a notify.Reply, stops bool) {
	return h.losing(n, call, &t.Stat, t.FD, ".", t.Path, pinOfTarget(t))
}
