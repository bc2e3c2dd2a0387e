//go:build linux

package broker

import (
	"os"
	"slices"
	"sync"
	"time"

	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/umask"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Threat: settings of editors, agents and shells start programs, and repositories track such files. A
// checkout must bring back what the person's own commits contain, and no command may bring anything else.
// It does not matter which program asks. So such a file is made of memory, like a .git file (gitlinks.go):
//
//	open(O_CREAT|O_EXCL) ─▶ the broker makes nothing, and gives a file in memory
//	nobody can write to it any more ─▶ its content was there in the history, under this very path
//	                                ─▶ the broker writes what it compared to a new file at the path
//	                                ─▶ other content is recorded (sandbox.Unwritten): a person may be asked
//
// So a checkout is never left half done. A command gets such files only while it holds the lock of an index,
// as every checkout does; any other one must know at once that it cannot write there. A command may remove
// what it can bring back so, and nothing else.

// hostSpot returns s in the host's own folder, since the mounts of a command show protected folders as
// read-only. The caller closes it.
func hostSpot(walk hostWalk, s pathwalk.Spot) (pathwalk.Spot, error) {
	dir, err := kernel.DupAbove(s.Dir, kernel.LowestFD)
	if err == nil {
		s.Dir = walk.AsHost(dir, s.Path)
	}
	return s, err
}

// trackedFiles are the files that the command is making.
type trackedFiles struct {
	pending []trackedFile
	// kept is how many bytes of unwritten content are kept.
	kept  int
	judge trackedJudge
	log   trackedLog
	walk  hostWalk
	still sync.Locker // held while a file is made
}

// trackedJudge knows what commands removed, and what the session brought back.
type trackedJudge interface {
	HasLeft(path string, text []byte) bool
	Made(s pathwalk.Spot)
	Bring(s pathwalk.Spot)
}

type trackedLog interface {
	Record(n *notify.Notification, d sandbox.Denial)
	Supersede(target string)
}

// maxUnwritten bounds the content of one command that a person may be asked about.
const maxUnwritten = 1 << 20

// trackedFile is one of them. It owns its descriptors.
type trackedFile struct {
	memory int // cannot be written to through this descriptor
	at     pathwalk.Spot
	mode   umask.Mode
	before sandbox.Versions
	call   notify.Notification
	denial sandbox.Denial
	since  time.Time
}

// makeTracked gives the command a file in memory in place of the new one at s.
func (h *opens) makeTracked(n *notify.Notification, o *openCall, s pathwalk.Spot, before sandbox.Versions, d *sandbox.Denial) notify.Reply {
	switch _, err := s.Stat(); err {
	case unix.ENOENT:
	case nil:
		return notify.Failed(unix.EEXIST)
	default:
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if a, first := h.observer.beforeEntries(s); first {
		return a
	}
	mode, err := h.masks.For(n, o.mode)
	if err == nil && len(h.tracked.pending) == maxPending {
		err = unix.EMFILE
	}
	given, memory := -1, -1
	if err == nil {
		given, memory, err = memoryFile(o.flags & unix.O_APPEND)
	}
	defer unix.Close(given)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	p := trackedFile{memory: memory, mode: mode, before: before, call: *n, denial: *d, since: time.Now()}
	if p.at, err = hostSpot(h.walk, s); err != nil {
		unix.Close(memory)
		return notify.Failed(kernel.ErrnoOf(err))
	}
	p.denial.Operation = o.call
	h.tracked.pending = append(h.tracked.pending, p)
	return n.Give(given, o.cloexec())
}

// settle looks at the pending files. The last look is at all of them.
func (t *trackedFiles) settle(last bool) {
	t.pending = slices.DeleteFunc(t.pending, func(p trackedFile) bool {
		// A lease is refused while anybody has the file open for writing, or mapped so.
		_, err := unix.FcntlInt(uintptr(p.memory), unix.F_SETLEASE, unix.F_RDLCK)
		if err != nil && !last && time.Since(p.since) < linkPatience {
			return false
		}
		text, known := t.content(&p)
		t.log.Supersede(p.denial.Target)
		if !known || !t.install(&p, text) {
			if t.kept += len(text); t.kept > maxUnwritten {
				text = nil
			}
			p.denial.Unwritten = &sandbox.Unwritten{Content: text, Mode: p.mode.Bits}
			t.log.Record(&p.call, p.denial)
		}
		unix.Close(p.memory)
		p.at.Close()
		return true
	})
}

// content returns what is in memory now, nil if that is too long, and whether the history contains it. The file then
// gets the mode that it has there; only where that is not one does the command choose.
func (t *trackedFiles) content(p *trackedFile) (text []byte, known bool) {
	text = make([]byte, judge.MaxSettings)
	size, err := unix.Pread(p.memory, text, 0)
	if err != nil || size == judge.MaxSettings {
		return nil, false
	}
	text = text[:size]
	of := judge.Modes(p.before, text)
	p.mode.Bits &= 0o755
	if len(of) == 1 {
		p.mode.Bits = of[0] & (p.mode.Bits | p.mode.Bits>>2&0o111)
	}
	return text, len(of) > 0 || t.judge.HasLeft(p.at.Full(), text)
}

// install makes the file.
func (t *trackedFiles) install(p *trackedFile, text []byte) bool {
	t.still.Lock()
	defer t.still.Unlock()
	if t.walk.PolicyPath(p.at.Dir) != p.at.Path { // it was moved, perhaps to where this is no version
		return false
	}
	fd, err := unix.Openat(p.at.Dir, p.at.Last, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, p.mode.Bits)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), p.at.Last)
	_, err = f.Write(text)
	if err == nil && p.mode.Rest {
		err = unix.Fchmod(fd, p.mode.Bits)
	}
	if f.Close() != nil || err != nil {
		_ = unix.Unlinkat(p.at.Dir, p.at.Last, 0)
		return false
	}
	t.judge.Made(p.at)
	t.judge.Bring(p.at)
	return true
}
