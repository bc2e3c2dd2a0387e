//go:build linux

package broker

import (
	"path/filepath"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A change observer (sandbox.ChangeObserver) is told before a change in a write root is made:
//
//	handle ─▶ allowed, and about to be done ─▶ keepEntries: not told yet
//	                                               │ nothing is done
//	the change observer looks at the old state, no lock held ◀
//	handle, from the call's start ─▶ about to be done ─▶ keepEntries: told ─▶ done
//
// The second look reads and resolves everything anew: what it finds under another
// name by then is told as well. The broker's thread waits for the change observer, and with
// it the other calls of the command, so nothing that the command asks for can
// change what is being kept. Other commands go on, and tell before they change it.
//
// A broker makes every change in a write root by itself where there is a change observer
// (planProtection). What can be changed without it is what a descriptor was opened
// for before, which is told at the open, and single files that Landlock opens,
// which are told before the command starts (keep_start.go).

// observer reports changes to the change observer of a command before they are
// made. The broker's thread alone uses it.
type observer struct {
	to   sandbox.ChangeObserver // nil: nothing is reported
	told toldPaths
	// due are those to be told before the call is handled again.
	due []dueKeep

	judge   *judge
	walk    *pathwalk.Walker
	session *Session
}

// dueKeep is one call of the change observer; dir is a descriptor of its own.
type dueKeep struct {
	dir        int
	name, path string
}

const (
	// MaxKeeps is after how many rounds a call fails whose names lead elsewhere each
	// time: links outside of the brokered roots can be turned while a change observer works.
	MaxKeeps = 16
)

// knows reports whether the entry at path was told, or one above it: then what
// is below it was looked through, or was made since.
func (o *observer) knows(path string) bool {
	for len(path) > 1 {
		if o.told.has(path) {
			return true
		}
		path = filepath.Dir(path)
	}
	return false
}

// untold reports whether somebody is to be told before the entry at path changes.
func (o *observer) untold(path string) bool {
	return o.judge.policy.Observes(path) && !o.judge.protection.isTemporary(path) && !o.knows(path)
}

// keepEntries is asked right before entries change. first: somebody is to be told
// before, so that the call must not be done now; then a is its reply.
func (o *observer) keepEntries(entries ...pathwalk.Spot) (a notify.Reply, first bool) {
	if o.to == nil {
		return notify.Reply{}, false
	}
	for _, s := range entries {
		path := s.Full()
		if !o.untold(path) {
			continue
		}
		if err := o.put(s.Dir, s.Last, path); err != nil {
			return notify.Failed(kernel.ErrnoOf(err)), true // what cannot be told is not done
		}
	}
	return notify.Reply{Again: true}, len(o.due) > 0
}

// keepRemoval is keepEntries for an entry that is taken away. What stands in the
// way of that is left to the kernel to tell: a change observer need not look through a
// folder that stays because it is not empty.
func (o *observer) keepRemoval(s pathwalk.Spot, st *unix.Stat_t, folder bool) (a notify.Reply, first bool) {
	if o.to == nil || !o.untold(s.Full()) || o.judge.unremovable(s, st, folder) != 0 {
		return notify.Reply{}, false
	}
	return o.keepEntries(s)
}

// keepMove is keepEntries for both ends of a rename. A folder that is moved takes
// along what is in it, so it is told as the entry that it is.
func (o *observer) keepMove(m *moving) (a notify.Reply, first bool) {
	over := m.there && !m.exchange()
	if o.to == nil || over && o.untold(m.to.Full()) && o.judge.unremovable(m.to, &m.over, kernel.IsFolder(&m.old)) != 0 {
		return notify.Reply{}, false
	}
	return o.keepEntries(m.from, m.to)
}

// keepLink is keepEntries for a file that gets another name: it can be changed by
// that one from then on.
func (o *observer) keepLink(n *notify.Notification, t *pathwalk.Target, to pathwalk.Spot) (a notify.Reply, first bool) {
	if a, first := o.keepTarget(n, t); first {
		return a, true
	}
	return o.keepEntries(to)
}

// keepMetadata is keepEntries for a file whose mode, owner or attributes change. A
// change of times is told to nobody (sandbox.ChangeObserver).
func (o *observer) keepMetadata(n *notify.Notification, do *calls.Change, fd int) (a notify.Reply, first bool) {
	if o.to == nil || do.OfTimes() {
		return notify.Reply{}, false
	}
	o.session.mu.Lock()
	defer o.session.mu.Unlock()
	// The name that it has now, while no command can give it another.
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	return o.keepFile(n, fd, o.walk.PolicyPath(fd), &st)
}

// keepFile is keepEntries for the open file fd, which is called path. Nothing is
// told of one that has lost its name. session.mu is held, so that no command
// changes the name meanwhile.
func (o *observer) keepFile(n *notify.Notification, fd int, path string, st *unix.Stat_t) (a notify.Reply, first bool) {
	if !o.untold(path) || st.Nlink == 0 {
		return notify.Reply{}, false
	}
	if kernel.IsFolder(st) {
		return o.keepFolder(fd, path)
	}
	var now unix.Stat_t
	dir, err := o.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: filepath.Dir(path)})
	if err == nil {
		s := o.walk.SpotIn(dir, filepath.Base(path), false)
		defer s.Close()
		if now, err = s.Stat(); err == nil && now.Dev == st.Dev && now.Ino == st.Ino {
			return o.keepEntries(s)
		}
	}
	if err == nil || err == unix.ENOENT || err == unix.ENOTDIR {
		return notify.Reply{}, false // it is called so no more
	}
	return notify.Failed(kernel.ErrnoOf(err)), true
}

// keepFolder is keepEntries for a folder itself, without what is in it.
func (o *observer) keepFolder(fd int, path string) (a notify.Reply, first bool) {
	if o.told.has(path + "/.") {
		return notify.Reply{}, false
	}
	if err := o.put(fd, ".", path); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	return notify.Reply{Again: true}, true
}

// keepTarget is keepEntries for the file that t has found, and is about to be written.
func (o *observer) keepTarget(n *notify.Notification, t *pathwalk.Target) (a notify.Reply, first bool) {
	if o.to == nil {
		return notify.Reply{}, false
	}
	if t.Spot.Dir >= 0 && t.Path == t.Spot.Full() {
		return o.keepEntries(t.Spot)
	}
	return o.keepFile(n, t.FD, t.Path, &t.Stat) // a link of /proc led to it
}

// put makes a call of the change observer due, or none at all.
func (o *observer) put(dir int, name, path string) error {
	own, err := kernel.DupAbove(dir, kernel.LowestFD)
	if err != nil {
		for _, d := range o.due {
			unix.Close(d.dir)
		}
		o.due = nil
		return err
	}
	o.due = append(o.due, dueKeep{own, name, path})
	return nil
}

// tell makes the calls that are due, and reports whether any were.
func (o *observer) tell() bool {
	if len(o.due) == 0 {
		return false
	}
	for _, d := range o.due {
		o.to.BeforeChange(d.dir, d.name, d.path)
		unix.Close(d.dir)
		key := d.path
		if d.name == "." {
			key += "/."
		}
		o.told.add(key)
	}
	o.due = o.due[:0]
	return true
}

const (
	// maxTold and maxToldBytes bound how many paths are remembered, and how long they
	// are: a command chooses both.
	maxTold      = 1 << 16
	maxToldBytes = 8 << 20
)

// toldPaths are the paths that a change observer was told of, those of folders told as "." with
// "/." behind them. Beyond the bounds it forgets all: then they are told once more.
type toldPaths struct {
	paths map[string]struct{}
	bytes int
}

func (t *toldPaths) has(path string) bool {
	_, ok := t.paths[path]
	return ok
}

func (t *toldPaths) add(path string) {
	if t.has(path) {
		return
	}
	if t.paths == nil || len(t.paths) >= maxTold || t.bytes+len(path) > maxToldBytes {
		*t = toldPaths{paths: map[string]struct{}{}}
	}
	t.paths[path] = struct{}{}
	t.bytes += len(path)
}
