//go:build linux

package broker

import (
	"strconv"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// changeMetadata answers a call that changes mode, owner, times or attributes.
func (h *command) changeMetadata(n *notify.Notification, c *calls.Metadata) notify.Reply {
	m, err := c.File(n)
	if err != nil {
		return notify.Failed(h.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	do, err := c.Read(n)
	if err != nil {
		return notify.Failed(h.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	m.Path = h.judge.inMemory(m.Path)
	fd, err := h.walk.Open(n, m)
	if err != nil {
		h.noteHidden(n, c.Name, sandbox.KindMetadata, m, err)
		if err == unix.EACCES {
			h.session.mu.Lock()
			defer h.session.mu.Unlock()
			return h.unfound(n, c.Name, m, err)
		}
		return notify.Failed(h.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	if m.Itself {
		if a, done := h.metadataOfFresh(n, c, do, fd); done {
			unix.Close(fd)
			return a
		}
	}
	path := h.walk.PolicyPath(fd)
	if h.judge.roots.opens(path) {
		fd = h.walk.AsHost(fd, path)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH) // the caller is gone
	}
	d := h.judge.refusesMetadata(n, fd, path, &st)
	if d == nil && do.Refused(&st) {
		d = &sandbox.Denial{Kind: sandbox.KindCapability, Target: path}
	}
	if d == nil && do.Admits(&st) && h.judge.protection.above(path) {
		d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
	}
	if d == nil {
		if a, first := h.observer.beforeMetadata(n, do, fd, path); first {
			return a
		}
		return h.performed(n, c.Name, path, do.Apply(fd, &st))
	}
	errno := unix.EPERM
	if !d.Moot {
		errno = h.rights.weigh(d, h.rights.lacksChange(do, fd, path, &st), errno)
	}
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	return h.refuse(n, c.Name, errno, d, pin{fd: fd, path: path, asked: m.Path})
}

// metadataOfFresh answers a change by descriptor if the file is the fresh one. fd is the
// broker's own O_PATH descriptor of it.
func (h *command) metadataOfFresh(n *notify.Notification, c *calls.Metadata, do *calls.Change, fd int) (a notify.Reply, done bool) {
	var st unix.Stat_t
	if !h.fresh.held || unix.Fstat(fd, &st) != nil || !h.fresh.is(&st) || do.Refused(&st) || !n.Waits() {
		return notify.Reply{}, false
	}
	h.observer.note(h.fresh.path)
	// The command may have opened it through a mount that is read-only for it.
	if err := do.Apply(h.fresh.fd, &st); err != nil {
		return h.performed(n, c.Name, h.walk.PolicyPath(fd), err), true
	}
	return notify.Reply{}, true
}

// Programs that unpack an archive make a file and then set its owner, times and mode by
// descriptor. Finding the policy path of that file for each call takes longer than the calls
// themselves. So the broker remembers the last file that it made.
//
// This is safe. The policy let the command make the file, gave it a descriptor open for
// writing, and allows all changes at that place. The file is recognised by its inode, not
// by a name: the broker keeps it open, so that the number is not reused. A call that names
// the file by path is judged by that path. Whoever moves the file to a protected place
// later puts a file there that the command can write anyway.

// freshFile is that file.
type freshFile struct {
	held bool
	fd   int // opened with O_PATH, so that it holds nothing open for writing
	id   fileID
	path string // when it was made
}

// take remembers the new file that is open as fd.
func (f *freshFile) take(fd int, path string) {
	f.drop()
	ref, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstat(ref, &st); err != nil {
		unix.Close(ref)
		return
	}
	*f = freshFile{held: true, fd: ref, id: idOf(&st), path: path}
}

func (f *freshFile) is(st *unix.Stat_t) bool { return f.held && f.id == idOf(st) }

// removed drops the file when one of its names is removed, so that its space can be freed.
func (f *freshFile) removed(st *unix.Stat_t) {
	if f.is(st) {
		f.drop()
	}
}

func (f *freshFile) drop() {
	if f.held {
		unix.Close(f.fd)
		f.held = false
	}
}
