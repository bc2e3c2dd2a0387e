//go:build linux

package broker

import (
	"os"
	"path/filepath"
	"slices"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"golang.org/x/sys/unix"
)

// Threat: a folder of any name becomes a git directory when the last of its marks is made. Below
// somebody else's work tree the owner's git, started in it, takes it for one. So the call that
// completes the marks is made only where the folder has no hook and its settings name no program,
// and the settings are replaced by a copy first: descriptors from before reach the abandoned file.

// refusesMark returns the denial of making the entry at s because it completes a git directory that
// names programs, or nil.
func (r *repositories) refusesMark(n *notify.Notification, s pathwalk.Spot) *sandbox.Denial {
	if !git.IsMark(s.Last) || git.IsEntry(filepath.Base(s.Path)) || r.protection.isTemporary(s.Path) {
		return nil
	}
	if !r.files.inTurn() {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Why: "other sessions cannot be kept out"}
	}
	has := entriesOf(s.Dir)
	completes := git.Marked(func(name string) bool { return has(name) || protect.Fold(name) == protect.Fold(s.Last) }) && !git.Marked(has)
	if !completes || !r.belowForeign(n, s.Path) {
		return nil
	}
	if is, _ := r.positioned(n, s.Path); is {
		return nil // closed from its first moment
	}
	if !r.files.alone(s.Path) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Why: "it would make the folder a git directory, into which another session of codeagent could put hooks meanwhile"}
	}
	if has(git.Commondir) || protect.Fold(s.Last) == git.Commondir || !seal(s.Dir) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Note: "it would make the folder a git directory whose hooks or settings name programs"}
	}
	return nil
}

// seal reports whether the folder has no hooks and no settings that name programs. It replaces the
// settings by copies.
func seal(dir int) bool {
	for _, name := range git.Settings {
		s := pathwalk.Spot{Dir: dir, Last: name}
		st, err := s.Stat()
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return false
		}
		text, err := readOnce(s, &st, maxSettings)
		if err != nil {
			return false
		}
		if text, err = git.CopySettings(text, nil); err != nil || putSettings(&moveCall{from: s, to: s, old: st}, text) != nil {
			return false
		}
	}
	fd, err := kernel.Openat2(dir, git.Hooks, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return true
	}
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), git.Hooks)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return err == nil && !slices.ContainsFunc(names, git.IsHook)
}
