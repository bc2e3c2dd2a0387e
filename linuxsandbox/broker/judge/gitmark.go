//go:build linux

package judge

import (
	"path/filepath"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
)

// Threat: a folder of any name becomes a git directory when the last of its marks is made. Below
// somebody else's work tree the owner's git, started in it, takes it for one. So the call that
// completes the marks is made only where the folder has no hook and its settings name no program,
// and the settings are replaced by a copy first: descriptors from before reach the abandoned file.

// RefusesMark returns the denial of making the entry at s because it completes a git directory that
// names programs, or nil.
func (j *Judge) RefusesMark(n *notify.Notification, s pathwalk.Spot) *sandbox.Denial {
	if !git.IsMark(s.Last) || git.IsEntry(filepath.Base(s.Path)) || j.protection.isTemporary(s.Path) {
		return nil
	}
	if !j.files.inTurn() {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Why: "other sessions cannot be kept out"}
	}
	has := entriesOf(s.Dir)
	completes := git.Marked(func(name string) bool { return has(name) || protect.Fold(name) == protect.Fold(s.Last) }) && !git.Marked(has)
	if !completes || !j.belowForeign(n, s.Path) {
		return nil
	}
	if is, _ := j.positioned(n, s.Path); is {
		return nil // closed from its first moment
	}
	if !j.files.alone(s.Path) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Why: "it would make the folder a git directory, into which another session of codeagent could put hooks meanwhile"}
	}
	if has(git.Commondir) || protect.Fold(s.Last) == git.Commondir || !j.seal(s.Dir) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Note: "it would make the folder a git directory whose hooks or settings name programs"}
	}
	return nil
}
