//go:build linux

package broker

import (
	"errors"
	"io"
	"os"
	"strconv"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// copies reports whether m gives the closed git directory at its end new settings, an index or a state. Then the broker
// performs it by renameCopy.
func (h *moves) copies(n *notify.Notification, m *moveCall) bool {
	j := h.judge
	settings := git.IsSettings(m.to.Last)
	if j.repos.isState(n, m.to.Full()) && !m.exchange() && m.old.Mode&unix.S_IFMT == unix.S_IFREG {
		return j.refusesPlace(n, m.to.Full(), j.repos.foreign) == nil
	}
	if !settings && !git.IsIndex(m.to.Last) || m.exchange() || m.old.Mode&unix.S_IFMT != unix.S_IFREG || j.protection.isTemporary(m.to.Full()) {
		return false
	}
	_, d := j.protection.judge(m.to.Full())
	return (d == nil || d.Kind == sandbox.KindProtected && settings) && j.repos.closed(n, m.to.Path)
}

// renameCopy performs a rename of settings, of an index or of a state.
func (h *moves) renameCopy(n *notify.Notification, c *calls.File, m *moveCall) notify.Reply {
	text, d := h.copied(n, m)
	if d != nil {
		return h.deny.refuse(n, c.Name, unix.EPERM, d, pinOf(m.from), pinOf(m.to))
	}
	if a, first := h.observer.beforeMove(m); first {
		return a
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	err := putSettings(m, text)
	// A granted single file is a mount of its own.
	if err == unix.EXDEV || err == unix.EBUSY || err == unix.EROFS {
		err = h.onHost(m, func(from, to int) error {
			host := *m
			host.from.Dir, host.to.Dir = from, to
			return putSettings(&host, text)
		})
	}
	if err != nil {
		return h.deny.performed(n, c.Name, m.to.Full(), err)
	}
	h.judge.session.changed(m.from.Full(), m.to.Full())
	h.judge.session.own.removed(&m.old)
	return notify.Reply{}
}

// copied returns what the file at the end of m becomes, or the denial. What no grant could allow comes
// before what one could, so that nobody is asked in vain.
func (h *moves) copied(n *notify.Notification, m *moveCall) (text []byte, d *sandbox.Denial) {
	if d := h.judge.refusesEntry(n, m.from, &m.old, false); d != nil {
		return nil, d
	}
	d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: m.to.Full()}
	if git.IsIndex(m.to.Last) {
		text, err := readOnce(m.from, &m.old, maxIndex)
		if err == nil {
			text, err = git.Copy(m.to.Last, text, nil)
		}
		if err != nil {
			d.Note = err.Error()
			return nil, d
		}
		return text, nil
	}
	text, err := readOnce(m.from, &m.old, maxSettings)
	if _, file := git.State(m.to.Full()); file {
		if err == nil {
			text, err = git.Copy(m.to.Full(), text, settingsBefore(m))
		}
		if err != nil {
			d.Why = err.Error()
			return nil, d
		}
		return text, nil
	}
	if err == nil {
		text, err = git.CopySettings(text, settingsBefore(m))
	}
	switch _, own := h.judge.repos.git(n, m.to.Path); {
	case err != nil:
		d.Why = err.Error()
	case own || h.judge.repos.granted(m.to.Full()):
		return text, nil
	}
	return nil, d
}

// maxSettings and maxIndex bound what a command may give a closed git directory, in bytes.
const maxSettings, maxIndex = 1 << 20, 256 << 20

// readOnce reads the regular file at s, of at most most bytes.
func readOnce(s pathwalk.Spot, st *unix.Stat_t, most int64) ([]byte, error) {
	fd, err := kernel.Openat2(s.Dir, s.Last, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), s.Last)
	defer f.Close()
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Dev != st.Dev || now.Ino != st.Ino || now.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, unix.EAGAIN
	}
	if now.Size > most {
		return nil, unix.EFBIG
	}
	text := make([]byte, now.Size)
	_, err = io.ReadFull(f, text)
	return text, err
}

// settingsBefore is the text of the settings at the end of m.
func settingsBefore(m *moveCall) (text []byte) {
	if m.there {
		text, _ = readOnce(m.to, &m.over, maxSettings)
	}
	return text
}

// putSettings writes text to a new file, gives it the name at the end of m, and removes the one at
// its beginning.
func putSettings(m *moveCall, text []byte) error {
	last := m.to.Last + ".new" + strconv.FormatUint(m.old.Ino, 36)
	fd, err := unix.Openat(m.to.Dir, last, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), last)
	_, err = f.Write(text)
	if err = errors.Join(err, unix.Fchown(fd, int(m.old.Uid), int(m.old.Gid)), unix.Fchmod(fd, m.old.Mode&0o777), f.Close()); err == nil {
		err = unix.Renameat(m.to.Dir, last, m.to.Dir, m.to.Last)
	}
	if err != nil {
		_ = unix.Unlinkat(m.to.Dir, last, 0)
		return err
	}
	if m.from.Dir == m.to.Dir && m.from.Last == m.to.Last {
		return nil
	}
	return unix.Unlinkat(m.from.Dir, m.from.Last, 0)
}
