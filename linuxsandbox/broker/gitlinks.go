//go:build linux

package broker

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codeagent/internal/git"
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
//	a whole line is in it ─▶ judged: it leads, through no link, to a git directory that is closed
//	                      ─▶ the broker writes the line to the entry, and forgets both
//
// The file in memory is looked at before each call of the command, and every millisecond. Git's next
// step after writing is such a call, so git finds the content in place.

// gitlinks are the .git files that the command is writing.
type gitlinks struct {
	pending []gitlink
	judge   *judge
}

// gitlink is one of them. It owns its descriptors.
type gitlink struct {
	memory, entry int
	path          string
	call          notify.Notification
	since         time.Time
}

const (
	// linkMillis is how often pending links are looked at, and linkPatience how long.
	linkMillis   = 1
	linkPatience = 2 * time.Second
	// maxLink bounds the content of a .git file, and maxPending the pending ones.
	maxLink    = 4096 + 16
	maxPending = 64
)

// concern reports whether the regular file at s is a .git file below somebody else's work tree.
func (l *gitlinks) concern(n *notify.Notification, s pathwalk.Spot) bool {
	return git.IsEntry(s.Last) && !l.judge.protection.isTemporary(s.Full()) && l.judge.belowForeign(n, s.Path)
}

// take gives the command a file in memory in place of the file entry, which it may write. entry stays
// the caller's.
func (l *gitlinks) take(n *notify.Notification, entry int, path string, cloexec uint32) notify.Reply {
	if len(l.pending) == maxPending {
		return notify.Failed(unix.EMFILE)
	}
	own, err := kernel.DupAbove(entry, kernel.LowestFD)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	memory, err := unix.MemfdCreate("git", unix.MFD_CLOEXEC)
	if err != nil {
		unix.Close(own)
		return notify.Failed(kernel.ErrnoOf(err))
	}
	l.pending = append(l.pending, gitlink{memory: memory, entry: own, path: path, call: *n, since: time.Now()})
	return n.Give(memory, cloexec)
}

// settle looks at the pending links. The last look is at those that are still not whole.
func (l *gitlinks) settle(last bool) {
	l.pending = slices.DeleteFunc(l.pending, func(p gitlink) bool {
		text := make([]byte, maxLink)
		size, err := unix.Pread(p.memory, text, 0)
		whole := err == nil && size > 0 && text[size-1] == '\n'
		if !whole && size < maxLink && !last && time.Since(p.since) < linkPatience {
			return false
		}
		if text = text[:max(size, 0)]; whole && l.closed(p.path, text) {
			_, _ = unix.Pwrite(p.entry, text, 0)
			_ = unix.Ftruncate(p.entry, int64(len(text)))
		} else if size > 0 {
			l.judge.log.record(&p.call, sandbox.Denial{Kind: sandbox.KindProtected, Operation: "write", Target: p.path, Note: "it may lead only to a git directory whose hooks and settings are closed"})
		}
		unix.Close(p.memory)
		unix.Close(p.entry)
		return true
	})
}

// closed reports whether the text of the .git file at path leads, through no link, to a folder in
// which hooks and settings are closed: a worktree's or a submodule's in a git directory below or
// around the work tree. It is false where that cannot be examined.
func (l *gitlinks) closed(path string, text []byte) bool {
	dir, ok := git.Target(string(text))
	if !ok || strings.ContainsAny(dir, "\r\n\x00") {
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
// examined, that it is not there. judge.belowForeign refuses by the same question, so what cannot be examined
// is true there and false here. This one needs no caller: its process may have ended.
func (l *gitlinks) foreign(name string) error {
	fd, err := kernel.Openat2(unix.AT_FDCWD, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return unix.ENOENT
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || l.judge.session.own.has(&st) {
		return unix.ENOENT
	}
	return nil
}
