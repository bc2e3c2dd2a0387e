//go:build linux

package broker

import (
	"path/filepath"
	"sync"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A change observer (sandbox.ChangeObserver) gets a report before each change in a write
// root:
//
//	handle ─▶ allowed, about to be done ─▶ beforeEntries: not reported yet
//	                                           │ nothing is done
//	the observer reads the old state, without the lock ◀
//	handle, from the call's start ─▶ about to be done ─▶ beforeEntries: reported ─▶ done
//
// The second pass reads the arguments and walks the paths again. If it finds another file, it
// reports that one too. The broker's thread waits for the observer, and with it all other
// calls of the command: none can change what the observer is saving. Other commands continue,
// and report before they change the same file.
//
// If there is an observer, the broker makes every change in a write root (PlanProtection). Two
// kinds of change bypass it. Writes through an open descriptor: the broker reports the file
// when it is opened. Writes to single files that Landlock allows: they are reported before the
// command starts.

// observer reports changes to the command's change observer before they are made. Only the
// broker's thread uses it.
type observer struct {
	to sandbox.ChangeObserver // nil: nothing is reported
	// changed is Command.Changed; it may be nil.
	changed  func(path string)
	draft    sandbox.Draft // nil: the command runs on none
	reported reportedPaths
	// due are the reports to make before the call is handled again.
	due []dueReport

	judge observerJudge
	walk  *pathwalk.Walker
	still sync.Locker // held while a file's name is read
}

// observerJudge is what the observer asks of the judge.
type observerJudge interface {
	Observes(path string) bool  // undo keeps what is there
	OfCommand(path string) bool // in a folder that the command has for itself
	Unremovable(s pathwalk.Spot, st *unix.Stat_t, folder bool) unix.Errno
}

// dueReport is one call of the change observer. The report owns the descriptor dir.
type dueReport struct {
	dir        int
	name, path string
}

// MaxKeeps is the number of rounds after which a call fails. A command could otherwise change
// links outside the brokered roots during each report, so that the path leads elsewhere every
// time.
const MaxKeeps = 16

// knows reports whether the entry at path was reported, directly or through a folder above it:
// the observer has looked through that folder, or the entry was made since.
func (o *observer) knows(path string) bool {
	for len(path) > 1 {
		if o.reported.has(path) {
			return true
		}
		path = filepath.Dir(path)
	}
	return false
}

// unreported reports whether a report is due before the entry at path changes.
func (o *observer) unreported(path string) bool {
	return o.judge.Observes(path) && !o.knows(path)
}

// note reports a change at path to Command.Changed.
func (o *observer) note(path string) {
	if o.changed != nil && !o.judge.OfCommand(path) {
		o.changed(path)
	}
}

// copies answers a change of the file at path that would copy too much: overlayfs copies a file whole before its first
// change, also of its name or its mode.
func (o *observer) copies(path string) (a notify.Reply, stops bool) {
	if o.draft == nil || !o.draft.TooLarge(path) {
		return notify.Reply{}, false
	}
	return notify.Failed(unix.EFBIG), true
}

// beforeEntries is called right before entries change. first: a report is due, the call must
// not be done now, and a is the reply.
func (o *observer) beforeEntries(entries ...pathwalk.Spot) (a notify.Reply, first bool) {
	for _, s := range entries {
		path := s.Full()
		o.note(path)
		if o.to == nil || !o.unreported(path) {
			continue
		}
		if err := o.put(s.Dir, s.Last, path); err != nil {
			return notify.Failed(kernel.ErrnoOf(err)), true // a change that cannot be reported is not made
		}
	}
	return notify.Reply{Again: true}, len(o.due) > 0
}

// beforeRemoval is beforeEntries for an entry that is removed. If the kernel will refuse the
// removal, as for a folder that is not empty, the observer need not look.
func (o *observer) beforeRemoval(s pathwalk.Spot, st *unix.Stat_t, folder bool) (a notify.Reply, first bool) {
	o.note(s.Full())
	if o.to == nil || !o.unreported(s.Full()) || o.judge.Unremovable(s, st, folder) != 0 {
		return notify.Reply{}, false
	}
	return o.beforeEntries(s)
}

// beforeMove is beforeEntries for both ends of a rename. A moved folder takes its content
// along, so one report about the folder is enough.
func (o *observer) beforeMove(m *moveCall) (a notify.Reply, first bool) {
	over := m.There && !m.Exchange()
	if a, stops := o.copies(m.From.Full()); stops {
		return a, true
	}
	if a, stops := o.copies(m.To.Full()); stops && m.Exchange() {
		return a, true
	}
	o.note(m.From.Full())
	o.note(m.To.Full())
	if o.to == nil || over && o.unreported(m.To.Full()) && o.judge.Unremovable(m.To, &m.Over, kernel.IsFolder(&m.Old)) != 0 {
		return notify.Reply{}, false
	}
	return o.beforeEntries(m.From, m.To)
}

// beforeLink is beforeEntries for a file that gets a second name: it can be changed through
// that name later.
func (o *observer) beforeLink(n *notify.Notification, t *pathwalk.Target, to pathwalk.Spot) (a notify.Reply, first bool) {
	if a, first := o.beforeTarget(n, t, false); first {
		return a, true
	}
	return o.beforeEntries(to)
}

// beforeMetadata is beforeEntries for a file whose mode, owner or attributes change. A
// change of times is not reported (sandbox.ChangeObserver).
func (o *observer) beforeMetadata(n *notify.Notification, do *calls.Change, fd int, path string) (a notify.Reply, first bool) {
	if a, stops := o.copies(path); stops {
		return a, true
	}
	o.note(path)
	if o.to == nil || do.OfTimes() {
		return notify.Reply{}, false
	}
	o.still.Lock()
	defer o.still.Unlock()
	// session.mu is held, so that no command can change the name that is read here.
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	return o.beforeFile(n, fd, o.walk.PolicyPath(fd), &st)
}

// beforeFile is beforeEntries for the open file fd at path. A file without a name is not
// reported. session.mu is held, so that no command changes the name meanwhile.
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
		return notify.Reply{}, false // it has another name by now
	}
	return notify.Failed(kernel.ErrnoOf(err)), true
}

// beforeFolder is beforeEntries for a folder itself, without its content.
func (o *observer) beforeFolder(fd int, path string) (a notify.Reply, first bool) {
	if o.reported.has(path + "/.") {
		return notify.Reply{}, false
	}
	if err := o.put(fd, ".", path); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	return notify.Reply{Again: true}, true
}

// beforeTarget is beforeEntries for the existing file t, which is about to be written, or emptied at once.
func (o *observer) beforeTarget(n *notify.Notification, t *pathwalk.Target, emptied bool) (a notify.Reply, first bool) {
	if !emptied {
		if a, stops := o.copies(t.Path); stops {
			return a, true
		}
	}
	o.note(t.Path)
	if o.to == nil {
		return notify.Reply{}, false
	}
	if t.Spot.Dir >= 0 && t.Path == t.Spot.Full() {
		return o.beforeEntries(t.Spot)
	}
	return o.beforeFile(n, t.FD, t.Path, &t.Stat) // a link in /proc led to it
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

// report makes the due reports, and returns whether there were any.
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
	// maxReported and maxReportedBytes bound the number and the total length of the remembered
	// paths. A command chooses both.
	maxReported      = 1 << 16
	maxReportedBytes = 8 << 20
)

// reportedPaths are the paths that were reported. For a folder that was reported as "." the
// path ends in "/.". Beyond the bounds all are forgotten, and so reported again.
type reportedPaths struct {
	paths map[string]bool
	bytes int
}

func (t *reportedPaths) has(path string) bool { return t.paths[path] }

func (t *reportedPaths) add(path string) {
	if t.has(path) {
		return
	}
	if t.paths == nil || len(t.paths) >= maxReported || t.bytes+len(path) > maxReportedBytes {
		*t = reportedPaths{paths: map[string]bool{}}
	}
	t.paths[path] = true
	t.bytes += len(path)
}
