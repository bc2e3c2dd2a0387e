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

// A change observer (sandbox.ChangeObserver) gets a report before a change in a write root
// is made:
//
//	handle ─▶ allowed, and about to be done ─▶ beforeEntries: not reported yet
//	                                               │ nothing is done
//	the observer looks at the old state, no lock held ◀
//	handle, from the call's start ─▶ about to be done ─▶ beforeEntries: reported ─▶ done
//
// The second pass reads and resolves everything anew, and reports what it finds under
// another name by then. The broker's thread waits for the observer, and with it the other
// calls of the command: nothing that the command asks for can change what is being kept.
// Other commands go on, and report before they change it.
//
// Where there is an observer, the broker makes every change in a write root by itself
// (PlanProtection). Two kinds of change bypass it. Writes through a descriptor that is open
// already: the broker reports the file when it is opened. Single files that Landlock opens:
// they are reported before the command starts.

// observer reports changes to the change observer of a command before they are
// made. The broker's thread alone uses it.
type observer struct {
	to       sandbox.ChangeObserver // nil: nothing is reported
	reported reportedPaths
	// due are the reports to make before the call is handled again.
	due []dueReport

	judge   *judge
	walk    *pathwalk.Walker
	session *Session
}

// dueReport is one call of the change observer; dir is a descriptor of its own.
type dueReport struct {
	dir        int
	name, path string
}

const (
	// MaxKeeps is after how many rounds a call fails whose names lead elsewhere each
	// time: links outside of the brokered roots can be turned while a change observer works.
	MaxKeeps = 16
)

// knows reports whether the entry at path was reported, directly or through a folder
// above it: the observer looked through that folder, or the entry was made since.
func (o *observer) knows(path string) bool {
	for len(path) > 1 {
		if o.reported.has(path) {
			return true
		}
		path = filepath.Dir(path)
	}
	return false
}

// unreported tells whether a report is due before the entry at path changes.
func (o *observer) unreported(path string) bool {
	return o.judge.policy.Observes(path) && !o.judge.protection.isTemporary(path) && !o.knows(path)
}

// beforeEntries is called right before entries change. first: a report is due, so that the
// call must not be done now; then a is its reply.
func (o *observer) beforeEntries(entries ...pathwalk.Spot) (a notify.Reply, first bool) {
	if o.to == nil {
		return notify.Reply{}, false
	}
	for _, s := range entries {
		path := s.Full()
		if !o.unreported(path) {
			continue
		}
		if err := o.put(s.Dir, s.Last, path); err != nil {
			return notify.Failed(kernel.ErrnoOf(err)), true // what cannot be reported is not done
		}
	}
	return notify.Reply{Again: true}, len(o.due) > 0
}

// beforeRemoval is beforeEntries for an entry that is removed. The kernel refuses a removal
// that cannot be done: the observer need not look through a folder that is not empty.
func (o *observer) beforeRemoval(s pathwalk.Spot, st *unix.Stat_t, folder bool) (a notify.Reply, first bool) {
	if o.to == nil || !o.unreported(s.Full()) || o.judge.unremovable(s, st, folder) != 0 {
		return notify.Reply{}, false
	}
	return o.beforeEntries(s)
}

// beforeMove is beforeEntries for both ends of a rename. A folder that is moved takes
// along what is in it, so one report names it as an entry.
func (o *observer) beforeMove(m *moving) (a notify.Reply, first bool) {
	over := m.there && !m.exchange()
	if o.to == nil || over && o.unreported(m.to.Full()) && o.judge.unremovable(m.to, &m.over, kernel.IsFolder(&m.old)) != 0 {
		return notify.Reply{}, false
	}
	return o.beforeEntries(m.from, m.to)
}

// beforeLink is beforeEntries for a file that gets another name: it can be changed by
// that one from then on.
func (o *observer) beforeLink(n *notify.Notification, t *pathwalk.Target, to pathwalk.Spot) (a notify.Reply, first bool) {
	if a, first := o.beforeTarget(n, t); first {
		return a, true
	}
	return o.beforeEntries(to)
}

// beforeMetadata is beforeEntries for a file whose mode, owner or attributes change. A
// change of times is not reported (sandbox.ChangeObserver).
func (o *observer) beforeMetadata(n *notify.Notification, do *calls.Change, fd int) (a notify.Reply, first bool) {
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
	return o.beforeFile(n, fd, o.walk.PolicyPath(fd), &st)
}

// beforeFile is beforeEntries for the open file fd, which is called path. A file
// that has lost its name is not reported. session.mu is held, so that no command
// changes the name meanwhile.
func (o *observer) beforeFile(n *notify.Notification, fd int, path string, st *unix.Stat_t) (a notify.Reply, first bool) {
	if !o.unreported(path) || st.Nlink == 0 {
		return notify.Reply{}, false
	}
	if kernel.IsFolder(st) {
		return o.beforeFolder(fd, path)
	}
	var now unix.Stat_t
	dir, err := o.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: filepath.Dir(path)})
	if err == nil {
		s := o.walk.SpotIn(dir, filepath.Base(path), false)
		defer s.Close()
		if now, err = s.Stat(); err == nil && now.Dev == st.Dev && now.Ino == st.Ino {
			return o.beforeEntries(s)
		}
	}
	if err == nil || err == unix.ENOENT || err == unix.ENOTDIR {
		return notify.Reply{}, false // it has another name now
	}
	return notify.Failed(kernel.ErrnoOf(err)), true
}

// beforeFolder is beforeEntries for a folder itself, without what is in it.
func (o *observer) beforeFolder(fd int, path string) (a notify.Reply, first bool) {
	if o.reported.has(path + "/.") {
		return notify.Reply{}, false
	}
	if err := o.put(fd, ".", path); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	return notify.Reply{Again: true}, true
}

// beforeTarget is beforeEntries for the file that t has found, and is about to be written.
func (o *observer) beforeTarget(n *notify.Notification, t *pathwalk.Target) (a notify.Reply, first bool) {
	if o.to == nil {
		return notify.Reply{}, false
	}
	if t.Spot.Dir >= 0 && t.Path == t.Spot.Full() {
		return o.beforeEntries(t.Spot)
	}
	return o.beforeFile(n, t.FD, t.Path, &t.Stat) // a link of /proc led to it
}

// put makes a report due.
func (o *observer) put(dir int, name, path string) error {
	own, err := kernel.DupAbove(dir, kernel.LowestFD)
	if err != nil {
		for _, d := range o.due {
			unix.Close(d.dir)
		}
		o.due = nil
		return err
	}
	o.due = append(o.due, dueReport{own, name, path})
	return nil
}

// report makes the reports that are due, and returns whether there were any.
func (o *observer) report() bool {
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
		o.reported.add(key)
	}
	o.due = o.due[:0]
	return true
}

const (
	// maxReported and maxToldBytes bound how many reported paths are remembered, and how long they
	// are: a command chooses both.
	maxReported      = 1 << 16
	maxReportedBytes = 8 << 20
)

// reportedPaths are the paths that were reported. A folder that was reported as "." has "/."
// behind its path. Beyond the bounds all are forgotten, and reported once more.
type reportedPaths struct {
	paths map[string]struct{}
	bytes int
}

func (t *reportedPaths) has(path string) bool {
	_, ok := t.paths[path]
	return ok
}

func (t *reportedPaths) add(path string) {
	if t.has(path) {
		return
	}
	if t.paths == nil || len(t.paths) >= maxReported || t.bytes+len(path) > maxReportedBytes {
		*t = reportedPaths{paths: map[string]struct{}{}}
	}
	t.paths[path] = struct{}{}
	t.bytes += len(path)
}
