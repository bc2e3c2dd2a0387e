//go:build linux

package broker

import (
	"path"
	"strings"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Landlock and the mounts decide about reading, and nobody else. With Spec.Reads the filter asks
// about opens that only read too. The broker makes those of granted paths, for which Landlock has no rule.
// Each other one proceeds, and the broker records those that the kernel is about to refuse.
//
// A command that changes the path after the broker has looked at it can keep a refused read out of
// the record. It gains nothing by that: the call has no more rights than any other one.

// readView is a replica of what the keeper opens for reading.
type readView struct {
	// asked: the filter asks about opens that only read.
	asked bool
	// access is that of Landlock's rules by their paths, and closed for what stays shut whatever they
	// open: something empty is mounted there.
	access map[string]spec.Access
}

// closed is not an access that a keeper knows.
const closed spec.Access = "closed"

func readingOf(s *spec.Spec) readView {
	r := readView{asked: s.Ask && s.Reads}
	if !r.asked {
		return r
	}
	r.access = map[string]spec.Access{}
	for _, rule := range s.Rules {
		if was, ok := r.access[rule.Path]; !ok || was == spec.AccessList {
			r.access[rule.Path] = rule.Access
		}
	}
	if m := s.Mounts; m != nil {
		if m.Memory {
			r.access[kernel.ShmDir] = spec.AccessWrite
		}
		if m.Terminals {
			r.access[kernel.PtsDir], r.access[kernel.Ptmx] = spec.AccessRead, spec.AccessDevice
		}
		for _, dir := range m.Private {
			r.access[dir] = spec.AccessWrite // Landlock walks up through what is mounted in it
		}
	}
	for _, path := range s.Unreadable {
		r.access[path] = closed
	}
	return r
}

// What a path is to a command that reads it.
type readable int

const (
	shutToAll readable = iota
	listable           // a folder can be listed
	fullyOpen
)

// of returns what may be read at the canonical path.
func (r *readView) of(name string) readable {
	best := shutToAll
	for at := name; ; {
		switch access := r.access[at]; {
		case access == closed:
			return shutToAll
		case access == spec.AccessRead, access == spec.AccessWrite, access == spec.AccessDevice && at == name:
			best = fullyOpen
		case access == spec.AccessList:
			best = max(best, listable)
		}
		up := strings.LastIndexByte(at, '/')
		if up < 0 || at == "/" {
			return best
		}
		at = at[:max(up, 1)]
	}
}

// reads answers calls that only read.
type reads struct {
	rules   notify.Rules
	walk    *pathwalk.Walker
	reading readView
	judge   readJudge
	rights  *rights
	log     readLog
	deny    *denials
	// learn is sandbox.Command.Learn.
	learn func(sandbox.Denial) (sandbox.Grant, bool)
	// openOld opens a granted file for the caller.
	openOld func(n *notify.Notification, o *openCall, t *pathwalk.Target) notify.Reply
}

type readJudge interface {
	JudgeRead(path string) sandbox.Judgement
	Shut(kind sandbox.DenialKind, path string) bool // to reading, or to changes
	GrantedAt(path string) bool
	Denial(path string) *sandbox.Denial
}

type readLog interface {
	Record(n *notify.Notification, d sandbox.Denial)
	Described(n *notify.Notification, d sandbox.Denial) sandbox.Denial
	Missed() // something could not be seen
}

// read answers an open that only reads.
func (h *reads) read(n *notify.Notification, o *openCall) notify.Reply {
	if h.reading.asked && o.flags&unix.O_PATH == 0 {
		if a, done := h.seenRead(n, o); done {
			return a
		}
	}
	return h.rules.Proceed(notify.ByLandlock)
}

// seenRead makes the open of a granted path, and records one that the kernel is about to refuse. done is
// false for all that proceeds: an open fails here only if the caller cannot be examined.
func (h *reads) seenRead(n *notify.Notification, o *openCall) (a notify.Reply, done bool) {
	m := o.name
	m.NoFollow, m.Others = o.flags&unix.O_NOFOLLOW != 0, true
	fd, path, err := h.openToRead(n, m, o.resolve)
	switch err {
	case nil:
		defer unix.Close(fd)
		t := pathwalk.Target{FD: fd, Path: path}
		switch {
		case h.judge.GrantedAt(path) && !h.judge.Shut(sandbox.KindRead, path) && unix.Fstat(fd, &t.Stat) == nil && o.opensOld(&t.Stat):
			return h.openOld(n, o, &t), true
		case h.reading.of(path) != fullyOpen:
			h.noteClosed(n, o, fd, path)
		case h.learn != nil:
			h.learnRead(n, o.call, path)
		case h.rights.dropped&capsAccess != 0 && unix.Faccessat2(fd, "", unix.R_OK, unix.AT_EMPTY_PATH|unix.AT_EACCESS) == unix.EACCES && !kernelFile(fd):
			h.noteRefused(n, o, sandbox.Denial{Kind: sandbox.KindCapability, Target: path}, lack{}, unix.EACCES)
		}
	case unix.EPERM, unix.ESRCH:
		return notify.Failed(h.deny.unread(n, o.call, sandbox.KindRead, err)), true
	case unix.EACCES:
		h.noteMasked(n, o, m)
	case unix.ENOENT:
		h.deny.noteHidden(n, o.call, sandbox.KindRead, m, err)
		if h.rights.mounted && h.rights.keep&capsAccess != 0 {
			h.noteMasked(n, o, m) // the command may search what is mounted over a closed folder
		}
	}
	return notify.Reply{}, false
}

// learnRead lets Command.Learn know what the policy does not open: what is read, and the program that reads,
// whose start is no open. Both pass anyway.
func (h *reads) learnRead(n *notify.Notification, call, path string) {
	d := h.log.Described(n, sandbox.Denial{Kind: sandbox.KindRead, Operation: call})
	for _, d.Target = range []string{path, d.Executable} {
		if strings.HasPrefix(d.Target, "/") && h.judge.Shut(sandbox.KindRead, d.Target) {
			_, _ = h.learn(d)
		}
	}
}

// opensOld reports whether an existing file of that kind is one that openOld opens.
func (o *openCall) opensOld(st *unix.Stat_t) bool {
	return kernel.IsFolder(st) || st.Mode&unix.S_IFMT == unix.S_IFREG && o.flags&unix.O_DIRECTORY == 0
}

// openToRead opens with O_PATH what the call names, and returns its path in the policy. Of the limits of
// openat2 it heeds those that can lead elsewhere, or keep the call from a link.
func (h *reads) openToRead(n *notify.Notification, m pathwalk.Name, resolve uint64) (fd int, path string, err error) {
	if resolve &= pathwalk.Resolves; resolve&(kernel.Scopes|unix.RESOLVE_NO_SYMLINKS) == 0 {
		if fd, err = h.walk.Straight(n, m); err != unix.ELOOP {
			return fd, m.Path, err
		}
		if fd, err = h.walk.Open(n, m); err == nil {
			path = h.walk.PolicyPath(fd)
		}
		return fd, path, err
	}
	t, err := h.walk.ScopedTarget(n, m, !m.NoFollow, resolve)
	if err != nil {
		return -1, "", err
	}
	t.Spot.Close()
	if t.FD < 0 {
		return -1, "", unix.ENOENT
	}
	return t.FD, t.Path, nil
}

// noteClosed records the open of an existing file that is not open for reading, unless the kernel
// fails it for another reason, or reading it takes no right.
func (h *reads) noteClosed(n *notify.Notification, o *openCall, fd int, path string) {
	var st unix.Stat_t
	if !strings.HasPrefix(path, "/") || unix.Fstat(fd, &st) != nil || st.Nlink == 0 {
		return
	}
	folder := kernel.IsFolder(&st)
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFLNK, kind == unix.S_IFSOCK:
		return
	case folder && h.reading.of(path) == listable:
		return
	case !folder && o.flags&unix.O_DIRECTORY != 0:
		return
	}
	d := sandbox.Denial{Kind: sandbox.KindRead, Target: path}
	switch judged := h.judge.JudgeRead(path); {
	case judged.Final:
		d.Why = judged.Rule
	case judged.Allowed && folder:
		d.Why = "a folder above a place that is closed to reading cannot be listed"
	case judged.Allowed:
		d.Why = "only what was there at the start can be read beside a place that is closed to reading"
	}
	h.noteRefused(n, o, d, h.rights.lacksAccess(fd, path, unix.R_OK), unix.EACCES)
}

// noteMasked records an open below a folder over which something empty is mounted, or below one
// that only a missing capability would let root search.
func (h *reads) noteMasked(n *notify.Notification, o *openCall, m pathwalk.Name) {
	if !h.rights.mounted && h.rights.dropped&capsAccess == 0 {
		return
	}
	at, rest, err := h.walk.Reached(n, m)
	if err != nil || !strings.HasPrefix(at, "/") {
		return
	}
	target := path.Join(at, rest)
	if h.reading.of(at) != shutToAll || h.reading.of(target) != shutToAll {
		if h.rights.dropped&capsAccess != 0 && unix.Faccessat2(unix.AT_FDCWD, at, unix.X_OK, unix.AT_EACCESS) == unix.EACCES {
			h.noteRefused(n, o, sandbox.Denial{Kind: sandbox.KindCapability, Target: target}, lack{}, unix.EACCES)
		}
		return
	}
	host := unix.Faccessat2(unix.AT_FDCWD, target, unix.R_OK, 0)
	if host == unix.ENOENT || host == unix.ENOTDIR {
		return // it would not exist without the mount either
	}
	l := lack{}
	if host != nil {
		l = lack{errno: kernel.ErrnoOf(host), caps: capsAccess}
	}
	d := sandbox.Denial{Kind: sandbox.KindRead, Target: target}
	if judged := h.judge.JudgeRead(target); judged.Final {
		d.Why = judged.Rule
	}
	h.noteRefused(n, o, d, l, unix.EACCES)
}

// access answers access(2) for writing, which only reports. Mounts answer it, not Landlock: the kernel says
// EROFS where the command's mounts are read-only, which is recorded.
func (h *reads) access(n *notify.Notification, c *calls.File) notify.Reply {
	m, err := c.First(n)
	if !h.rights.mounted || err != nil {
		return h.rules.Proceed(notify.ByCaller)
	}
	m.NoFollow = n.NR == unix.SYS_FACCESSAT2 && n.Args[3]&unix.AT_SYMLINK_NOFOLLOW != 0
	fd, err := h.walk.Open(n, m)
	if err != nil {
		if err == unix.EPERM {
			h.log.Missed() // it cannot be examined: what the kernel answers is not seen
		}
		return h.rules.Proceed(notify.ByCaller)
	}
	defer unix.Close(fd)
	path := h.walk.PolicyPath(fd)
	err = unix.Faccessat2(fd, "", c.Flags(n)&(unix.R_OK|unix.W_OK|unix.X_OK), unix.AT_EMPTY_PATH|unix.AT_EACCESS)
	if err == unix.EROFS || err == unix.EACCES && h.rights.dropped&capsAccess != 0 {
		l := h.rights.lacksAccess(fd, path, unix.W_OK)
		if h.judge.GrantedAt(path) && !h.judge.Shut(sandbox.KindWrite, path) && n.Waits() {
			return notify.Failed(l.errno) // granted meanwhile: the broker opens it past the mount
		}
		h.noteRefused(n, &openCall{call: c.Name, name: m}, *h.judge.Denial(path), l, kernel.ErrnoOf(err))
	}
	return h.rules.Proceed(notify.ByCaller)
}

// noteRefused records the denial of a read or a probe that the kernel is about to refuse with errno, to a user who
// lacks l.
func (h *reads) noteRefused(n *notify.Notification, o *openCall, d sandbox.Denial, l lack, errno unix.Errno) {
	d.Operation, d.Errno = o.call, unix.ErrnoName(h.rights.weigh(&d, l, errno))
	if o.name.Path != d.Target {
		d.Requested = o.name.Path
	}
	h.log.Record(n, d)
}
