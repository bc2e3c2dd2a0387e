//go:build linux

package broker

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/umask"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Threat: settings of editors, agents and shells start programs, and repositories track such files. A
// checkout must bring back what the person's own commits contain, and no command may bring anything else.
// Which program asks says nothing. So such a file is made of memory, like a .git file (gitlinks.go):
//
//	open(O_CREAT|O_EXCL) ─▶ the broker makes nothing, and gives a file in memory
//	nobody can write to it any more ─▶ its content was there in the history, under this very path
//	                                ─▶ the broker writes what it compared to a new file at the path
//	                                ─▶ other content is recorded (sandbox.Unwritten): a person may be asked
//
// So a checkout is never left half done. A command gets such files only while it holds the lock of an index,
// as every checkout does; any other one must know at once that it cannot write there. A command may remove
// what it can bring back so, and nothing else.

// history is what the person's own commits contain, as far as it was asked for.
type history struct {
	versions func(top, name string) sandbox.Versions // nil: nothing is known
	known    map[place]sandbox.Versions
	// due is what must be asked before the call is handled again.
	due   []place
	judge *judge
}

// place is a path in a work tree.
type place struct{ top, name string }

// maxPlaces bounds what is asked for one command. The rest counts as unknown to the history.
const maxPlaces = 1024

// ask asks what is due, with no lock held, and returns whether there was anything. The answer may start
// git, which must not begin with the rights of this thread.
func (h *history) ask() bool {
	if len(h.due) == 0 {
		return false
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, p := range h.due {
			h.known[p] = h.versions(p.top, p.name)
		}
	}()
	<-done
	h.due = h.due[:0]
	return true
}

// onlyNamed reports whether nothing protects the entry at s but a name that repositories track.
func (h *history) onlyNamed(n *notify.Notification, s pathwalk.Spot) bool {
	j, path := h.judge, s.Full()
	return !git.IsMark(s.Last) && j.protection.policy.JudgeWrite(path).Kind == sandbox.KindProtected &&
		j.refusesJudged(n, path, j.protection.policy.JudgeTracked(path), j.repos.closes) == nil
}

// checksOut reports whether nothing protects the entry at s but such a name, in a work tree, while the session
// holds the lock of an index.
func (h *history) checksOut(n *notify.Notification, s pathwalk.Spot) bool {
	if !h.judge.session.own.locking() || !h.onlyNamed(n, s) {
		return false
	}
	top, _ := h.workTree(n, s.Path)
	return top != ""
}

// before returns what the entry at s was before the session, if only its name protects it. Until that is
// known the call must be handled again.
func (h *history) before(n *notify.Notification, s pathwalk.Spot) (v sandbox.Versions, known bool) {
	if h.versions == nil || !h.onlyNamed(n, s) {
		return v, true
	}
	top, of := h.workTree(n, s.Path)
	p := place{of, strings.TrimPrefix(s.Full(), top+"/")}
	if v, known = h.known[p]; known || p.top == "" || len(h.known) == maxPlaces {
		return v, true
	}
	if h.known == nil {
		h.known = map[place]sandbox.Versions{}
	}
	h.due = append(h.due, p)
	return v, false
}

// workTree returns the top of the work tree around dir, and the one whose history it has: itself or, where the
// session made it, the one around it that somebody else made. What a .git file says, or a clone, counts nothing.
func (h *history) workTree(n *notify.Notification, dir string) (top, of string) {
	j := h.judge
	for at := dir; ; at = filepath.Dir(at) {
		found, is := git.Top(at, func(entry string) error {
			_, err := j.walk.Lstat(n, entry)
			return err
		})
		if at = found; !is {
			return top, ""
		}
		if top == "" {
			top = at
		}
		if !j.session.own.at(n, j.walk, filepath.Join(at, git.Entry)) {
			return top, at
		}
		if at == "/" {
			return top, ""
		}
	}
}

// ownTree reports whether path is in a work tree that the session made, folder and repository, and that is in
// no other one. What editors and shells run there is the session's.
func (h *history) ownTree(n *notify.Notification, path string) bool {
	j := h.judge
	top, of := h.workTree(n, filepath.Dir(path))
	st, err := j.walk.Lstat(n, top)
	return top != "" && of == "" && err == nil && j.session.own.madeTree(&st, top) && !j.repos.belowForeign(n, top)
}

// restores reports whether the command could make the entry at s again as it is, or the session brought it. What
// the command then removes, it may put back under this path.
func (h *history) restores(n *notify.Notification, s pathwalk.Spot, st *unix.Stat_t) (restores, known bool) {
	own := &h.judge.session.own
	brought := own.hasBrought(st) && h.onlyNamed(n, s)
	before, known := h.before(n, s)
	switch {
	case !brought && (!known || kernel.IsFolder(st)):
		return before.Folder, known // only an empty folder can be removed
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return brought, true
	}
	text, err := readOnce(s, st, maxSettings)
	if restores = brought || err == nil && len(modes(before, text)) > 0; restores && err == nil {
		own.leave(s.Full(), text)
	}
	return restores, true
}

// hostSpot returns s in the host's own folder, since the mounts of a command show protected folders as
// read-only. The caller closes it.
func hostSpot(walk *pathwalk.Walker, s pathwalk.Spot) (pathwalk.Spot, error) {
	dir, err := kernel.DupAbove(s.Dir, kernel.LowestFD)
	if err == nil {
		s.Dir = walk.AsHost(dir, s.Path)
	}
	return s, err
}

// modes returns the modes with which v has text, also with the line ends of core.autocrlf: they add no word to it.
func modes(v sandbox.Versions, text []byte) (all []uint32) {
	lf := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if !bytes.Equal(bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n")), text) {
		lf = text
	}
	for b := range v.Blobs {
		if git.IsObject(b.ID, "blob", text) || git.IsObject(b.ID, "blob", lf) {
			mode := uint32(0o644)
			if b.Executable {
				mode = 0o755
			}
			all = append(all, mode)
		}
	}
	return all
}

// trackedFiles are the files that the command is making.
type trackedFiles struct {
	pending []trackedFile
	// kept is how many bytes of unwritten content are kept.
	kept  int
	judge *judge
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
		t.judge.log.Supersede(p.denial.Target)
		if !known || !t.install(&p, text) {
			if t.kept += len(text); t.kept > maxUnwritten {
				text = nil
			}
			p.denial.Unwritten = &sandbox.Unwritten{Content: text, Mode: p.mode.Bits}
			t.judge.log.Record(&p.call, p.denial)
		}
		unix.Close(p.memory)
		p.at.Close()
		return true
	})
}

// content returns what is in memory now, nil if that is too long, and whether the history contains it. The file then
// gets the mode that it has there; only where that is not one does the command choose.
func (t *trackedFiles) content(p *trackedFile) (text []byte, known bool) {
	text = make([]byte, maxSettings)
	size, err := unix.Pread(p.memory, text, 0)
	if err != nil || size == maxSettings {
		return nil, false
	}
	text = text[:size]
	of := modes(p.before, text)
	p.mode.Bits &= 0o755
	if len(of) == 1 {
		p.mode.Bits = of[0] & (p.mode.Bits | p.mode.Bits>>2&0o111)
	}
	return text, len(of) > 0 || t.judge.session.own.hasLeft(p.at.Full(), text)
}

// install makes the file.
func (t *trackedFiles) install(p *trackedFile, text []byte) bool {
	j := t.judge
	j.session.mu.Lock()
	defer j.session.mu.Unlock()
	if j.walk.PolicyPath(p.at.Dir) != p.at.Path { // it was moved, perhaps to where this is no version
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
	j.made(p.at)
	j.session.own.bring(p.at)
	return true
}
