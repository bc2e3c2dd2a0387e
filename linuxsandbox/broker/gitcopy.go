//go:build linux

package broker

import (
	"errors"
	"os"
	"slices"
	"strconv"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// renameCopy performs a rename of settings, of an index or of a state.
func (h *moves) renameCopy(n *notify.Notification, c *calls.File, m *moveCall) notify.Reply {
	text, d := h.copied(n, m)
	if d != nil {
		return h.deny.refuse(n, c.Name, unix.EPERM, d, pinOf(m.From), pinOf(m.To))
	}
	if a, first := h.observer.beforeMove(m); first {
		return a
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	err := putSettings(&m.Move, text)
	// A granted single file is a mount of its own.
	if err == unix.EXDEV || err == unix.EBUSY || err == unix.EROFS {
		err = h.onHost(&m.Move, func(from, to int) error {
			host := m.Move
			host.From.Dir, host.To.Dir = from, to
			return putSettings(&host, text)
		})
	}
	if err != nil {
		return h.deny.performed(n, c.Name, m.To.Full(), err)
	}
	h.judge.Changed(m.From.Full(), m.To.Full())
	h.judge.Forget(&m.Old)
	return notify.Reply{}
}

// copied returns what the file at the end of m becomes, or the denial. What no grant could allow comes
// before what one could, so that nobody is asked in vain.
func (h *moves) copied(n *notify.Notification, m *moveCall) (text []byte, d *sandbox.Denial) {
	if d := h.judge.RefusesEntry(n, m.From, &m.Old, false); d != nil {
		return nil, d
	}
	d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: m.To.Full()}
	if git.IsIndex(m.To.Last) {
		text, err := kernel.ReadOnce(m.From.Dir, m.From.Last, &m.Old, judge.MaxIndex)
		if err == nil {
			text, err = git.Copy(m.To.Last, text, nil)
		}
		if err != nil {
			d.Note = err.Error()
			return nil, d
		}
		return text, nil
	}
	text, err := kernel.ReadOnce(m.From.Dir, m.From.Last, &m.Old, judge.MaxSettings)
	if _, file := git.State(m.To.Full()); file {
		if err == nil {
			text, err = git.Copy(m.To.Full(), text, settingsBefore(&m.Move))
		}
		if err != nil {
			d.Why = err.Error()
			return nil, d
		}
		return text, nil
	}
	if err == nil {
		text, err = git.CopySettings(text, settingsBefore(&m.Move))
	}
	switch own := h.judge.OwnGit(n, m.To.Path); {
	case err != nil:
		d.Why = err.Error()
	case own || h.judge.Granted(m.To.Full()):
		return text, nil
	}
	return nil, d
}

// settingsBefore is the text of the settings at the end of m.
func settingsBefore(m *judge.Move) (text []byte) {
	if m.There {
		text, _ = kernel.ReadOnce(m.To.Dir, m.To.Last, &m.Over, judge.MaxSettings)
	}
	return text
}

// putSettings writes text to a new file, gives it the name at the end of m, and removes the one at
// its beginning.
func putSettings(m *judge.Move, text []byte) error {
	last := m.To.Last + ".new" + strconv.FormatUint(m.Old.Ino, 36)
	fd, err := unix.Openat(m.To.Dir, last, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), last)
	_, err = f.Write(text)
	if err = errors.Join(err, unix.Fchown(fd, int(m.Old.Uid), int(m.Old.Gid)), unix.Fchmod(fd, m.Old.Mode&0o777), f.Close()); err == nil {
		err = unix.Renameat(m.To.Dir, last, m.To.Dir, m.To.Last)
	}
	if err != nil {
		_ = unix.Unlinkat(m.To.Dir, last, 0)
		return err
	}
	if m.From.Dir == m.To.Dir && m.From.Last == m.To.Last {
		return nil
	}
	return unix.Unlinkat(m.From.Dir, m.From.Last, 0)
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
		text, err := kernel.ReadOnce(s.Dir, s.Last, &st, judge.MaxSettings)
		if err != nil {
			return false
		}
		if text, err = git.CopySettings(text, nil); err != nil || putSettings(&judge.Move{From: s, To: s, Old: st}, text) != nil {
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
