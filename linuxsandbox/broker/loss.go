//go:build linux

package broker

import (
	"encoding/hex"
	"path/filepath"
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// The policy allows a command to delete and replace files in its write roots, because undo can
// restore them. Files that undo could not save would be lost for good. Such a call is held like a
// denied one, or fails if nobody can be asked. This check comes last, right before the change, so
// that nobody is asked about a call that fails anyway. Writes into a file are not held, because
// programs that write that way keep the rest of its content.

// losses holds such calls.
type losses struct {
	to     sandbox.ChangeObserver // nil: nothing is kept
	judge  lossJudge
	refuse refuseOne
}

// lossJudge is what losses ask of the judge.
type lossJudge interface {
	AllowsLoss() bool              // a person has allowed it to the command
	OfRepository(path string) bool // the file is among the objects of a repository elsewhere
	Observes(path string) bool     // undo keeps what is there
}

// unsaved returns why the entry could not be restored. It is empty if the entry could be restored,
// or if there is no observer.
func (h *losses) unsaved(dir int, entry, path string) string {
	switch {
	case h.to == nil || h.judge.AllowsLoss():
		return ""
	case h.judge.OfRepository(path) && gitObject(filepath.Base(path)):
		return "it is an object of a repository elsewhere" // which undo does not keep: others use it too
	case !h.judge.Observes(path):
		return ""
	}
	return h.to.Unsaved(dir, entry, path)
}

// gitObject reports whether git keeps objects in a file of this name: one, or a pack of them. Files that
// git is still writing have other names.
func gitObject(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) >= 38 || strings.HasPrefix(name, "pack-") && (strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx"))
}

// takesOut reports whether a rename would move something that cannot be restored to a place where
// deletions are not judged, such as the folder for temporary files. The call then fails as if the
// place were on another file system, and mv copies file by file.
func (h *losses) takesOut(dir int, entry, path, to string) bool {
	return !h.judge.Observes(to) && h.unsaved(dir, entry, path) != ""
}

// losing returns the answer to a call that is about to delete, replace or empty the regular file
// with the state st. stops is false if the call may proceed. entry is the entry in the folder dir,
// or "." for the open file dir.
func (h *losses) losing(n *notify.Notification, call string, st *unix.Stat_t, dir int, entry, path string, p pin) (a notify.Reply, stops bool) {
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
func (h *losses) losingEntry(n *notify.Notification, call string, s pathwalk.Spot, st *unix.Stat_t) (a notify.Reply, stops bool) {
	if st.Nlink > 1 && !s.Shown { // moving.fill writes to that one
		return notify.Reply{}, false
	}
	return h.losing(n, call, st, s.Dir, s.Last, s.Full(), pinOf(s))
}

// losingTarget is losing for an open file that is emptied.
func (h *losses) losingTarget(n *notify.Notification, call string, t *pathwalk.Target) (a notify.Reply, stops bool) {
	return h.losing(n, call, &t.Stat, t.FD, ".", t.Path, pinOfTarget(t))
}
