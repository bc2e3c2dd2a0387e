//go:build linux

package broker

import (
	"cmp"
	"strings"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// This file denies the calls that no layer allows (judge/reach.go). Errors come in the order in
// which the kernel gives them without a sandbox: first whether the file exists, then the
// user's own permissions, then the policy. A call that fails before the permission check is
// not a denial and is not recorded.

// denials denies calls on files.
type denials struct {
	judge  denialJudge
	rights *rights
	walk   hiddenWalk
	log    recorder
	// hold denies the call, or keeps it until somebody has answered.
	hold func(n *notify.Notification, r refusal) notify.Reply
}

// recorder is the log of denials. Sees says whether calls are examined that fail without the broker.
type recorder interface {
	Record(n *notify.Notification, d sandbox.Denial)
	Sees() bool
}

type denialJudge interface {
	Denial(path string) *sandbox.Denial
	Unremovable(s pathwalk.Spot, st *unix.Stat_t, folder bool) unix.Errno
	Shut(kind sandbox.DenialKind, path string) bool // to reading, or to changes
}

// hiddenWalk finds the host's file that the mounts of a command hide.
type hiddenWalk interface {
	Hidden(c pathwalk.Caller, m pathwalk.Name) string
}

// refuse denies a call with one denial.
func (h *denials) refuse(n *notify.Notification, call string, errno unix.Errno, d *sandbox.Denial, pins ...pin) notify.Reply {
	return h.hold(n, refusal{denials: []*sandbox.Denial{d}, call: call, errno: errno, pins: pins})
}

// refuseLacking denies a change at path for a user who lacks l.
func (h *denials) refuseLacking(n *notify.Notification, call, path string, l lack, pins ...pin) notify.Reply {
	return h.refuseWeighed(n, refusal{denials: []*sandbox.Denial{h.judge.Denial(path)}, call: call, errno: unix.EACCES, pins: pins}, l)
}

// refuseWeighed denies a call for a user who lacks l. r.errno is for one who lacks nothing.
func (h *denials) refuseWeighed(n *notify.Notification, r refusal, l lack) notify.Reply {
	errno := r.errno
	for _, d := range r.denials {
		r.errno = h.rights.weigh(d, l, errno)
	}
	return h.hold(n, r)
}

// refuseFile denies access to the content of an existing file. mode is the mode for
// access(2).
func (h *denials) refuseFile(n *notify.Notification, call string, t *pathwalk.Target, mode uint32) notify.Reply {
	d := h.judge.Denial(t.Path)
	d.Probe = mode == unix.R_OK|unix.W_OK
	return h.refuseWeighed(n, refusal{denials: []*sandbox.Denial{d}, call: call, errno: unix.EACCES, pins: []pin{pinOfTarget(t)}}, h.rights.lacksAccess(t.FD, t.Path, mode))
}

// refuseNew denies the making of an entry, with exclusive set of a file by O_EXCL. besides is a right that
// the call lacks beside those on its folder.
func (h *denials) refuseNew(n *notify.Notification, call string, s pathwalk.Spot, exclusive bool, besides lack) notify.Reply {
	if s.Gone() || kernel.OnProc(s.Dir) {
		return notify.Failed(unix.ENOENT)
	}
	d := h.judge.Denial(s.Full())
	d.Exclusive = exclusive
	return h.refuseWeighed(n, refusal{denials: []*sandbox.Denial{d}, call: call, errno: unix.EACCES, pins: []pin{pinOf(s)}}, cmp.Or(h.rights.lacksEntry(s, nil), besides))
}

// refuseTemporary denies a file without a name (O_TMPFILE) in the folder dir.
func (h *denials) refuseTemporary(n *notify.Notification, o *openCall, dir int, path string) notify.Reply {
	var st unix.Stat_t
	switch err := unix.Fstat(dir, &st); {
	case err != nil:
		return notify.Failed(kernel.ErrnoOf(err))
	case !kernel.IsFolder(&st):
		return notify.Failed(unix.ENOTDIR)
	}
	return h.refuseLacking(n, o.call, path, h.rights.lacksAccess(dir, path, unix.W_OK|unix.X_OK), pin{fd: dir, path: path, asked: o.name.Path})
}

// refuseRemoval denies the removal of an entry. flags are those of unlinkat(2).
func (h *denials) refuseRemoval(n *notify.Notification, call string, s pathwalk.Spot, st *unix.Stat_t, flags int) notify.Reply {
	l := h.rights.lacksEntry(s, st)
	if l.errno == 0 {
		if errno := h.judge.Unremovable(s, st, flags == unix.AT_REMOVEDIR); errno != 0 {
			return notify.Failed(errno)
		}
	}
	return h.refuseWeighed(n, refusal{denials: []*sandbox.Denial{ofEntry(s, h.judge.Denial(s.Full()))}, call: call, errno: unix.EACCES, pins: []pin{pinOf(s)}}, l)
}

// slashed returns the errno of a call other than mkdir and rmdir whose path ends in a
// slash.
func slashed(s pathwalk.Spot, removal bool) unix.Errno {
	st, err := s.Stat()
	switch {
	case err != nil:
		return kernel.ErrnoOf(err)
	case !removal:
		return unix.EEXIST
	case kernel.IsFolder(&st):
		return unix.EISDIR
	}
	return unix.ENOTDIR
}

// refuseMove denies a rename where no layer allows the change of at least one end.
func (h *denials) refuseMove(n *notify.Notification, c *calls.File, m *moveCall) notify.Reply {
	if m.To.Gone() {
		return notify.Failed(unix.ENOENT)
	}
	if errno := m.look(); errno == unix.EACCES {
		return h.refuseShut(n, c, m)
	} else if errno != 0 {
		return notify.Failed(errno)
	}
	// Landlock denies even a rename between two names of one file, which changes nothing.
	if errno, is := m.settled(); is && errno != 0 {
		return notify.Failed(errno)
	}
	switch {
	case onOther(m.Old.Dev, m.To):
		return notify.Failed(unix.EXDEV)
	case kernel.IsFolder(&m.Old) && sandbox.Covers(m.From.Full(), m.To.Path):
		return notify.Failed(unix.EINVAL) // a folder into itself
	case sandbox.Covers(m.To.Full(), m.From.Path) && m.Exchange():
		return notify.Failed(unix.EINVAL)
	case sandbox.Covers(m.To.Full(), m.From.Path):
		return notify.Failed(unix.ENOTEMPTY) // over a folder that contains it
	}
	var over *unix.Stat_t
	if m.There {
		over = &m.Over
	}
	l := cmp.Or(h.rights.lacksEntry(m.From, &m.Old), h.rights.lacksEntry(m.To, over))
	if l.errno == 0 && m.There && !m.Exchange() && m.Old.Ino != m.Over.Ino {
		if errno := h.judge.Unremovable(m.To, over, kernel.IsFolder(&m.Old)); errno != 0 {
			return notify.Failed(errno)
		}
	}
	r := refusal{call: c.Name, errno: unix.EACCES, pins: []pin{pinOf(m.To), pinOf(m.From)}}
	if m.toWhose == judge.Nobodys {
		d := h.judge.Denial(m.To.Full())
		if !m.fills() {
			d = ofEntry(m.To, d)
		}
		r.denials = append(r.denials, d)
	}
	if m.fromWhose == judge.Nobodys {
		r.denials = append(r.denials, ofEntry(m.From, h.judge.Denial(m.From.Full())))
	}
	return h.refuseWeighed(n, r, l)
}

// refuseShut denies a rename from or to a folder without search permission.
func (h *denials) refuseShut(n *notify.Notification, c *calls.File, m *moveCall) notify.Reply {
	s := m.To
	if _, err := m.From.Stat(); err == unix.EACCES {
		s = m.From
	}
	return h.refuseNew(n, c.Name, s, false, lack{})
}

// refuseLink denies a hard link where no layer allows the change of at least one end.
func (h *denials) refuseLink(n *notify.Notification, c *calls.File, t *pathwalk.Target, to pathwalk.Spot, from, into judge.Whose) notify.Reply {
	switch {
	case t.FD < 0, to.Gone():
		return notify.Failed(unix.ENOENT)
	case onOther(t.Stat.Dev, to):
		return notify.Failed(unix.EXDEV)
	}
	if _, err := to.Stat(); err == nil {
		return notify.Failed(unix.EEXIST)
	}
	if kernel.IsFolder(&t.Stat) {
		return notify.Failed(unix.EPERM)
	}
	l := cmp.Or(h.rights.lacksSource(t), h.rights.lacksEntry(to, nil))
	// A link from a read-only place fails with EXDEV, as between two file systems. Programs
	// then copy the file instead.
	r := refusal{call: c.Name, errno: unix.EXDEV, pins: []pin{pinOf(to), pinOfTarget(t)}}
	if into == judge.Nobodys {
		r.denials, r.errno = append(r.denials, h.judge.Denial(to.Full())), unix.EACCES
	}
	if from == judge.Nobodys {
		r.denials = append(r.denials, h.judge.Denial(t.Path))
	}
	return h.refuseWeighed(n, r, l)
}

// onOther reports whether the folder of s is on another file system.
func onOther(dev uint64, s pathwalk.Spot) bool {
	var st unix.Stat_t
	return unix.Fstat(s.Dir, &st) == nil && st.Dev != dev
}

// unfound answers a call whose file the broker could not reach. EACCES means that a folder
// on the way has no search permission for the user, or that a capability is missing. Then
// only the written path says where the file would be.
func (h *denials) unfound(n *notify.Notification, call string, m pathwalk.Name, err error) notify.Reply {
	path := m.Written(int(n.TID))
	kind := sandbox.KindWrite
	if calls.MetadataOf(n.NR) != nil {
		kind = sandbox.KindMetadata
	}
	if err != unix.EACCES || path == "" || !h.log.Sees() {
		return notify.Failed(h.unread(n, call, kind, err))
	}
	r := refusal{denials: []*sandbox.Denial{{Kind: kind, Target: path}}, call: call, errno: unix.EACCES, pins: []pin{{fd: -1, path: path, asked: m.Path}}}
	return h.refuseWeighed(n, r, lack{errno: unix.EACCES, caps: capsAccess})
}

// performed answers a call that the broker has made or tried to make. If the call failed for
// want of permission and the command lacks root's capabilities for files that codeagent has,
// the missing capability is recorded as the reason.
func (h *denials) performed(n *notify.Notification, call, path string, err error) notify.Reply {
	errno := kernel.ErrnoOf(err)
	if errno != unix.EPERM && errno != unix.EACCES || h.rights.dropped&rootsCaps == 0 || !strings.HasPrefix(path, "/") {
		return notify.Failed(errno)
	}
	h.log.Record(n, sandbox.Denial{Kind: sandbox.KindCapability, Operation: call, Target: path, Errno: unix.ErrnoName(errno)})
	return notify.Failed(errno)
}

// unread answers a call whose arguments could not be read, or whose file could not be
// found. Usually err is the kernel's own answer. EPERM and ESRCH mean that the broker may
// not examine the caller, for example a program whose file is executable but not readable.
// That is a denial: such a call never proceeds.
func (h *denials) unread(n *notify.Notification, call string, kind sandbox.DenialKind, err error) unix.Errno {
	errno := kernel.ErrnoOf(err)
	if errno == unix.EPERM || errno == unix.ESRCH {
		h.log.Record(n, sandbox.Denial{Kind: kind, Operation: call, Target: call, Errno: unix.ErrnoName(notify.RefusedBlind)})
		return notify.RefusedBlind
	}
	return errno
}

// noteHidden records that a call failed because the command's mounts hide the host's file,
// if the policy would deny it too.
func (h *denials) noteHidden(n *notify.Notification, call string, kind sandbox.DenialKind, m pathwalk.Name, err error) {
	if err != unix.ENOENT {
		return
	}
	if path := h.walk.Hidden(n, m); path != "" && h.judge.Shut(kind, path) {
		h.log.Record(n, sandbox.Denial{Kind: kind, Operation: call, Target: path, Errno: "ENOENT"})
	}
}

// ofEntry adds to the denial of removing or replacing the entry at s that no grant would allow it.
func ofEntry(s pathwalk.Spot, d *sandbox.Denial) *sandbox.Denial {
	if s.Shown {
		d.Why = "the command is shown the host's entry there, and cannot remove or rename it"
	}
	return d
}
