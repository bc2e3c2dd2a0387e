//go:build linux

package broker

import (
	"strings"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Here calls are refused that nothing lets happen (reach.go). The order of errors
// is the kernel's without a sandbox: first what is there and what is not, then the
// user's own permissions, then the policy. What fails before the permissions is
// no refusal, and nothing is written down of it.

// refuser answers those calls.
type refuser struct {
	judge  *judge
	rights *rights
	held   *holding
	log    *evidence
	walk   *pathwalk.Walker
}

// refuseFile answers for the content of a file that is there. mode is what
// access(2) would be asked for.
func (f *refuser) refuseFile(n *notify.Notification, call string, t *pathwalk.Target, mode uint32) notify.Reply {
	d := f.judge.denial(t.Path)
	errno := f.rights.weigh(d, f.rights.lacksAccess(t.FD, t.Path, mode), unix.EACCES)
	return f.held.refuse(n, refusal{denial: d, call: call, errno: errno, pins: []pin{pinOfTarget(t)}})
}

// refuseNew answers for an entry to be made. besides is a right that it takes
// beside those on its folder.
func (f *refuser) refuseNew(n *notify.Notification, call string, s pathwalk.Spot, besides lack) notify.Reply {
	if s.Gone() || kernel.OnProc(s.Dir) {
		return notify.Failed(unix.ENOENT)
	}
	d := f.judge.denial(s.Full())
	errno := f.rights.weigh(d, firstLack(f.rights.lacksEntry(s, nil), besides), unix.EACCES)
	return f.held.refuse(n, refusal{denial: d, call: call, errno: errno, pins: []pin{pinOf(s)}})
}

// refuseTemporary answers for a file without a name in the folder dir.
func (f *refuser) refuseTemporary(n *notify.Notification, o *opening, dir int, path string) notify.Reply {
	var st unix.Stat_t
	switch err := unix.Fstat(dir, &st); {
	case err != nil:
		return notify.Failed(kernel.ErrnoOf(err))
	case !kernel.IsFolder(&st):
		return notify.Failed(unix.ENOTDIR)
	}
	d := f.judge.denial(path)
	errno := f.rights.weigh(d, f.rights.lacksAccess(dir, path, unix.W_OK|unix.X_OK), unix.EACCES)
	return f.held.refuse(n, refusal{denial: d, call: o.call, errno: errno, pins: []pin{{fd: dir, path: path, asked: o.name.Path}}})
}

// refuseRemoval answers for an entry to be taken away. flags are unlinkat's.
func (f *refuser) refuseRemoval(n *notify.Notification, call string, s pathwalk.Spot, st *unix.Stat_t, flags int) notify.Reply {
	d := f.judge.denial(s.Full())
	l := f.rights.lacksEntry(s, st)
	if l.errno == 0 {
		if errno := f.judge.unremovable(s, st, flags == unix.AT_REMOVEDIR); errno != 0 {
			return notify.Failed(errno)
		}
	}
	return f.held.refuse(n, refusal{denial: d, call: call, errno: f.rights.weigh(d, l, unix.EACCES), pins: []pin{pinOf(s)}})
}

// slashed is what a call about an entry that is no folder's comes to when a slash
// follows its name.
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

// refuseMove answers for a rename of which at least one end is nobody's.
func (f *refuser) refuseMove(n *notify.Notification, c *calls.File, m *moving) notify.Reply {
	if m.to.Gone() {
		return notify.Failed(unix.ENOENT)
	}
	if errno := m.look(); errno == unix.EACCES {
		return f.refuseShut(n, c, m)
	} else if errno != 0 {
		return notify.Failed(errno)
	}
	// Two names of one file are refused by Landlock too, though nothing is to be done.
	if errno, is := m.settled(); is && errno != 0 {
		return notify.Failed(errno)
	}
	switch {
	case onOther(m.old.Dev, m.to):
		return notify.Failed(unix.EXDEV)
	case kernel.IsFolder(&m.old) && sandbox.Covers(m.from.Full(), m.to.Path):
		return notify.Failed(unix.EINVAL) // into itself
	case sandbox.Covers(m.to.Full(), m.from.Path) && m.exchange():
		return notify.Failed(unix.EINVAL)
	case sandbox.Covers(m.to.Full(), m.from.Path):
		return notify.Failed(unix.ENOTEMPTY) // over what it stands in
	}
	var over *unix.Stat_t
	if m.there {
		over = &m.over
	}
	l := firstLack(f.rights.lacksEntry(m.from, &m.old), f.rights.lacksEntry(m.to, over))
	if l.errno == 0 && m.there && !m.exchange() && m.old.Ino != m.over.Ino {
		if errno := f.judge.unremovable(m.to, over, kernel.IsFolder(&m.old)); errno != 0 {
			return notify.Failed(errno)
		}
	}
	r := refusal{call: c.Name, pins: []pin{pinOf(m.to), pinOf(m.from)}}
	if m.toWhose == nobodys {
		r.denial = f.judge.denial(m.to.Full())
	}
	if m.fromWhose == nobodys {
		r.add(f.judge.denial(m.from.Full()))
	}
	r.errno = f.rights.weigh(r.denial, l, unix.EACCES)
	if r.also != nil {
		f.rights.weigh(r.also, l, unix.EACCES)
	}
	return f.held.refuse(n, r)
}

// refuseShut answers for a rename in or to a folder in which nothing can be
// looked up.
func (f *refuser) refuseShut(n *notify.Notification, c *calls.File, m *moving) notify.Reply {
	s := m.to
	if _, err := m.from.Stat(); err == unix.EACCES {
		s = m.from
	}
	return f.refuseNew(n, c.Name, s, lack{})
}

// refuseLink answers for a second name of which at least one end is nobody's.
func (f *refuser) refuseLink(n *notify.Notification, c *calls.File, t *pathwalk.Target, to pathwalk.Spot, from, into whose) notify.Reply {
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
	l := firstLack(f.rights.lacksSource(t), f.rights.lacksEntry(to, nil))
	// Out of what may only be read, a link is refused as one to another file
	// system: programs make a copy then.
	r, errno := refusal{call: c.Name, pins: []pin{pinOf(to), pinOfTarget(t)}}, unix.EXDEV
	if into == nobodys {
		r.denial, errno = f.judge.denial(to.Full()), unix.EACCES
	}
	if from == nobodys {
		r.add(f.judge.denial(t.Path))
	}
	r.errno = f.rights.weigh(r.denial, l, errno)
	if r.also != nil {
		f.rights.weigh(r.also, l, errno)
	}
	return f.held.refuse(n, r)
}

// add takes up the denial of the other end.
func (r *refusal) add(d *sandbox.Denial) {
	if r.denial == nil {
		r.denial = d
	} else {
		r.also = d
	}
}

// onOther reports whether the folder of s is on another file system.
func onOther(dev uint64, s pathwalk.Spot) bool {
	var st unix.Stat_t
	return unix.Fstat(s.Dir, &st) == nil && st.Dev != dev
}

// unfound answers a call whose file the broker could not get to. Where a folder
// on the way cannot be passed, that is the user's own permissions, or the want of
// a capability; where the file is to be is then known from its name alone.
func (f *refuser) unfound(n *notify.Notification, call string, m pathwalk.Name, err error) notify.Reply {
	path := m.Written(int(n.TID))
	kind := sandbox.KindWrite
	if calls.MetadataOf(n.NR) != nil {
		kind = sandbox.KindMetadata
	}
	if err != unix.EACCES || path == "" || !f.log.sees() {
		return notify.Failed(f.unread(n, call, kind, err))
	}
	d := &sandbox.Denial{Kind: kind, Target: path}
	errno := f.rights.weigh(d, lack{errno: unix.EACCES, caps: capsAccess}, unix.EACCES)
	return f.held.refuse(n, refusal{denial: d, call: call, errno: errno, pins: []pin{{fd: -1, path: path, asked: m.Path}}})
}

// performed answers a call that the broker has done, or tried to. Where root would
// have been let, the capability that was dropped is the reason.
func (f *refuser) performed(n *notify.Notification, call, path string, err error) notify.Reply {
	errno := kernel.ErrnoOf(err)
	if errno != unix.EPERM && errno != unix.EACCES || f.rights.dropped&rootsCaps == 0 || !strings.HasPrefix(path, "/") {
		return notify.Failed(errno)
	}
	f.log.record(n, sandbox.Denial{Kind: sandbox.KindCapability, Operation: call, Target: path, Errno: unix.ErrnoName(errno)})
	return notify.Failed(errno)
}

// unread answers a call whose arguments could not be read, or whose file could not
// be found. Mostly that is the kernel's own answer. Where the broker may not look at
// the caller, as at a program whose file may be executed and not read, it is a
// refusal: such a call never proceeds.
func (f *refuser) unread(n *notify.Notification, call string, kind sandbox.DenialKind, err error) unix.Errno {
	errno := kernel.ErrnoOf(err)
	if errno == unix.EPERM || errno == unix.ESRCH {
		f.log.record(n, sandbox.Denial{Kind: kind, Operation: call, Target: call, Errno: unix.ErrnoName(notify.RefusedBlind)})
		return notify.RefusedBlind
	}
	return errno
}

// noteHidden writes down that a call failed because the host's file is not in the
// command's sight. It would be refused as well.
func (f *refuser) noteHidden(n *notify.Notification, call string, kind sandbox.DenialKind, m pathwalk.Name, err error) {
	if err != unix.ENOENT {
		return
	}
	path := f.walk.Hidden(n, m)
	if path != "" && !f.judge.policy.JudgeWrite(path).Allowed {
		f.log.record(n, sandbox.Denial{Kind: kind, Operation: call, Target: path, Errno: "ENOENT"})
	}
}
