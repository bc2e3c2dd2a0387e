//go:build linux

package broker

import (
	"bytes"
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Threat: a .git file leads git to a git directory anywhere, which names programs. Below somebody
// else's work tree the owner's git follows it. Its content comes after the open, and a descriptor
// that was kept could change it later. So the command gets a file in memory:
//
//	open .git ─▶ the broker makes the entry, empty, or leaves it as it is, and gives a file in memory
//	it holds something new ─▶ judged: it leads, through no link, to a git directory that is closed
//	                       ─▶ the broker writes it to the entry
//	nobody can write to it any more ─▶ the broker forgets both
//
// The file in memory is looked at before each call of the command, the end of a process among them, and every
// millisecond. So whoever reads the entry after such a step finds the content in place. The files by which
// git continues what it has begun (git.State) are written in the same way.

// gitlinks are the files that the command is writing.
type gitlinks struct {
	pending []*gitlink
	judge   linkJudge
	log     recorder
	still   sync.Locker // held while an entry is removed
}

// linkJudge knows what the session made.
type linkJudge interface {
	Own(st *unix.Stat_t) bool
	Forget(st *unix.Stat_t) // it is removed
}

// gitlink is one of them. It owns its descriptors.
type gitlink struct {
	memory, entry int // nobody can write through memory
	path          string
	made          pathwalk.Spot // the entry, if the broker made it for this call
	before        []byte        // what the entry held
	seen          []byte        // what was last judged: what it held, then what the file in memory holds
	refused       error         // why that is not in the entry
	call          notify.Notification
	since         time.Time
}

const (
	// linkMillis is how often pending links are looked at, and linkPatience how long.
	linkMillis   = 1
	linkPatience = 2 * time.Second
	// maxPending bounds the pending files.
	maxPending = 64
)

// takeLink gives the command a file in memory in place of the file entry at s, which it may write. entry and s stay
// the caller's. made: the broker made the entry for this call.
func (h *opens) takeLink(n *notify.Notification, o *openCall, entry int, s pathwalk.Spot, made bool) notify.Reply {
	l := h.links
	if len(l.pending) == maxPending {
		return notify.Failed(unix.EMFILE)
	}
	p := &gitlink{entry: -1, path: s.Full(), made: pathwalk.Spot{Dir: -1}, call: *n, since: time.Now()}
	given, memory, err := memoryFile(o.flags & unix.O_APPEND)
	defer unix.Close(given)
	if p.memory = memory; err == nil {
		p.entry, err = kernel.DupAbove(entry, kernel.LowestFD)
	}
	if err == nil && made {
		p.made, err = hostSpot(h.walk, s)
	}
	if err == nil {
		p.before, err = contentOf(entry)
		p.seen = p.before
	}
	if err == nil && o.flags&unix.O_TRUNC == 0 {
		_, err = unix.Pwrite(given, p.before, 0)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(entry), unix.F_SETFL, 0) // with O_APPEND no write would be at the start
	}
	if err != nil {
		p.close()
		return notify.Failed(kernel.ErrnoOf(err))
	}
	l.pending = append(l.pending, p)
	return n.Give(given, o.cloexec())
}

// memoryFile returns a new file in memory, open for a command with these flags, and open for reading. The file
// that memfd_create itself opens is no writer to the kernel, and hinders no lease (settle).
func memoryFile(flags uint64) (given, memory int, err error) {
	fd, err := unix.MemfdCreate("codeagent", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, -1, err
	}
	defer unix.Close(fd)
	name := "/proc/self/fd/" + strconv.Itoa(fd)
	if given, err = unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC|int(flags), 0); err != nil {
		return -1, -1, err
	}
	memory, err = unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return given, memory, err
}

func (p *gitlink) close() {
	unix.Close(p.memory)
	unix.Close(p.entry)
	p.made.Close()
}

// contentOf reads an open file from its start.
func contentOf(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size > judge.MaxSettings {
		return nil, cmp.Or[error](err, unix.EFBIG)
	}
	if st.Size == 0 {
		return nil, nil // it may be open for writing alone
	}
	text := make([]byte, st.Size)
	size, err := unix.Pread(fd, text, 0)
	return text[:max(size, 0)], err
}

// settle looks at the pending files. The last look is at those that may still be written.
func (l *gitlinks) settle(last bool) {
	l.pending = slices.DeleteFunc(l.pending, func(p *gitlink) bool {
		// A lease is refused while anybody has the file open for writing.
		_, open := unix.FcntlInt(uintptr(p.memory), unix.F_SETLEASE, unix.F_RDLCK)
		done := open == nil || last || time.Since(p.since) >= linkPatience
		if text, err := contentOf(p.memory); err != nil || (len(text) > 0 || done) && !bytes.Equal(text, p.seen) {
			if p.seen, p.refused = text, cmp.Or(err, l.refuses(p, text)); p.refused == nil {
				_ = unix.Ftruncate(p.entry, 0) // first: what was there has not been judged together with text
				_, _ = unix.Pwrite(p.entry, text, 0)
			}
		}
		if !done {
			return false
		}
		if p.refused != nil {
			l.log.Record(&p.call, sandbox.Denial{Kind: sandbox.KindProtected, Operation: "write", Target: p.path, Why: p.refused.Error()})
			l.unmake(p)
		}
		p.close()
		return true
	})
}

// unmake removes the entry of a refused file, if the broker made it and it is still empty.
func (l *gitlinks) unmake(p *gitlink) {
	l.still.Lock()
	defer l.still.Unlock()
	var entry unix.Stat_t
	if st, err := p.made.Stat(); err == nil && unix.Fstat(p.entry, &entry) == nil && kernel.IDOf(&st) == kernel.IDOf(&entry) && st.Size == 0 &&
		unix.Unlinkat(p.made.Dir, p.made.Last, 0) == nil {
		l.judge.Forget(&st)
	}
}

// refuses returns why the file at its path may not hold text, or nil.
func (l *gitlinks) refuses(p *gitlink, text []byte) error {
	switch {
	case !git.IsEntry(filepath.Base(p.path)):
		_, err := git.Copy(p.path, text, p.before)
		return err
	case l.closed(p.path, text):
		return nil
	}
	return errAway
}

var errAway = errors.New("it may lead only to a git directory whose hooks and settings are closed")

// closed reports whether the text of the .git file at path leads, through no link, to a folder in
// which hooks and settings are closed: a worktree's or a submodule's in a git directory below or
// around the work tree. It is false where that cannot be examined.
func (l *gitlinks) closed(path string, text []byte) bool {
	dir, ok := git.Target(string(text))
	if !ok || !bytes.HasSuffix(text, []byte("\n")) || strings.ContainsAny(dir, "\r\n\x00") {
		return false
	}
	above := strings.TrimLeft(dir, "./")
	if strings.Contains("/"+above+"/", "/../") {
		return false // ".." after a name means its target's parent
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	if !reachedByNoLink(dir) {
		return false
	}
	for at := filepath.Clean(dir); at != "/"; at = filepath.Dir(at) {
		if base := filepath.Base(at); base == git.Refs || base == git.Logs {
			return false
		}
		if of, position := git.Position(at); position != "" && git.IsEntry(filepath.Base(of)) {
			_, is := git.Top(filepath.Dir(of), l.foreign)
			return is
		}
	}
	return false
}

// reachedByNoLink reports whether dir, as far as it exists, is a folder to which no link leads. Git
// writes where a submodule's repository is before it makes it; what is made there is closed.
func reachedByNoLink(dir string) bool {
	for {
		fd, err := kernel.Openat2(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, unix.RESOLVE_NO_SYMLINKS)
		if err == nil {
			unix.Close(fd)
			return true
		}
		if err != unix.ENOENT {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

// foreign returns nil if the session did not make the .git entry at name, and else, also where that cannot be
// examined, that it is not there. belowForeign in the judge refuses by the same question, so what cannot be examined
// is true there and false here. This one needs no caller: its process may have ended.
func (l *gitlinks) foreign(name string) error {
	fd, err := kernel.Openat2(unix.AT_FDCWD, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return unix.ENOENT
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || l.judge.Own(&st) {
		return unix.ENOENT
	}
	return nil
}
