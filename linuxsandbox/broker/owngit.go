//go:build linux

package broker

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"golang.org/x/sys/unix"
)

// ownGit holds the git directories that the session made, and the files or links it made
// in place of one.
type ownGit struct {
	// mu guards the rest. A look through a folder takes it with no other lock held (look.go).
	mu sync.Mutex
	// locks are the locks of indexes and settings that the session made.
	held, locks ownEntries
	// folders are the latest folders that the session made, in the order of their making, and trees those
	// of them that got a repository.
	folders []int
	trees   ownEntries
	// brought are files and folders that the session brought back from the history (tracked.go).
	brought ownEntries
	// left are contents with protected names that commands removed, which may come back under the same path.
	left map[leftFile]bool
	// called are the paths of folders that the session renamed to .git. They are protected
	// like any other, but their earlier content may be the session's.
	called []string
}

// ownEntries are what the session made.
type ownEntries map[fileID]*ownEntry

type ownEntry struct {
	// fd keeps it open, so that its inode number is not reused.
	fd int
	// path is its path in the policy.
	path string
}

// maxOwnGit bounds the open files of each kind. Any further one is protected as if it were not the
// session's.
const maxOwnGit = 1024

// add takes ownership of fd.
func (e *ownEntries) add(fd int, path string) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if _, have := (*e)[idOf(&st)]; err != nil || have || len(*e) == maxOwnGit {
		unix.Close(fd)
		return
	}
	if *e == nil {
		*e = ownEntries{}
	}
	(*e)[idOf(&st)] = &ownEntry{fd, path}
}

func (e ownEntries) forget(id fileID) {
	if entry, is := e[id]; is {
		unix.Close(entry.fd)
		delete(e, id)
	}
}

// add records a git directory, or a .git file or link, that the session made.
func (o *ownGit) add(fd int, path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held.add(fd, path)
}

// lock records a lock of an index or of settings that the session made.
func (o *ownGit) lock(fd int, path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locks.add(fd, path)
}

// mostFolders bounds the open folders: a clone makes its repository right after its folder.
const mostFolders = 16

// folder records the folder at s, which the session made.
func (o *ownGit) folder(s pathwalk.Spot) {
	fd, err := kernel.Openat2(s.Dir, s.Last, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.folders = append(o.folders, fd); len(o.folders) > mostFolders {
		unix.Close(o.folders[0])
		o.folders = slices.Delete(o.folders, 0, 1)
	}
}

// holds records that the open folder dir at path got a repository.
func (o *ownGit) holds(dir int, path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.ContainsFunc(o.folders, func(fd int) bool { return kernel.SameFile(fd, dir) }) {
		fd, _ := kernel.DupAbove(dir, kernel.LowestFD)
		o.trees.add(fd, path)
	}
}

// madeTree reports whether the session made the folder at path, and then a repository in it. Threat: such a
// folder is moved to where somebody else's was.
func (o *ownGit) madeTree(st *unix.Stat_t, path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.trees[idOf(st)]
	return e != nil && e.path == path
}

// bring records that the session brought back the entry at s.
func (o *ownGit) bring(s pathwalk.Spot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fd, _ := kernel.Openat2(s.Dir, s.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	o.brought.add(fd, "")
}

func (o *ownGit) hasBrought(st *unix.Stat_t) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.brought[idOf(st)] != nil
}

// leftFile is a path and the sum of what it contained.
type leftFile struct {
	path string
	sum  [sha256.Size]byte
}

// leave records that a command removes the file at path, which contains text.
func (o *ownGit) leave(path string, text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left == nil {
		o.left = map[leftFile]bool{}
	}
	if len(o.left) < maxOwnGit {
		o.left[leftFile{path, sha256.Sum256(text)}] = true
	}
}

func (o *ownGit) hasLeft(path string, text []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left[leftFile{path, sha256.Sum256(text)}]
}

func (o *ownGit) has(st *unix.Stat_t) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held[idOf(st)] != nil
}

func (o *ownGit) locked(st *unix.Stat_t) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.locks[idOf(st)] != nil
}

// locking reports whether the session holds the lock of an index, so that a git of it may be checking out.
func (o *ownGit) locking() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, e := range o.locks {
		var st unix.Stat_t
		file, _ := protect.LockOf(filepath.Base(e.path))
		if git.IsIndex(file) && unix.Lstat(e.path, &st) == nil && idOf(&st) == id {
			return true
		}
	}
	return false
}

// covered reports whether one lies at or below path.
func (o *ownGit) covered(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.held {
		if sandbox.Covers(path, e.path) {
			return true
		}
	}
	return false
}

// removed forgets a file that has no name left.
func (o *ownGit) removed(st *unix.Stat_t) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locks.forget(idOf(st))
	if st.Mode&unix.S_IFMT == unix.S_IFDIR || st.Nlink <= 1 {
		o.held.forget(idOf(st))
		o.trees.forget(idOf(st))
		o.brought.forget(idOf(st))
		o.folders = slices.DeleteFunc(o.folders, func(fd int) bool {
			var of unix.Stat_t
			gone := unix.Fstat(fd, &of) == nil && idOf(&of) == idOf(st)
			if gone {
				unix.Close(fd)
			}
			return gone
		})
	}
}

// renamed updates the paths after the broker renamed from to to, or exchanged the two.
func (o *ownGit) renamed(from, to string, exchange bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := func(path *string) {
		switch {
		case sandbox.Covers(from, *path):
			*path = to + strings.TrimPrefix(*path, from)
		case exchange && sandbox.Covers(to, *path):
			*path = from + strings.TrimPrefix(*path, to)
		}
	}
	for _, e := range o.held {
		now(&e.path)
	}
	for i := range o.called {
		now(&o.called[i])
	}
	if git.IsEntry(filepath.Base(to)) && !slices.Contains(o.called, to) && len(o.called) < maxOwnGit {
		o.called = append(o.called, to)
	}
}

// Close forgets the sockets of the session's commands.
func (s *Session) Close() { s.sockets.Close() }

// Close forgets what commands made: from now on it is protected as foreign.
func (f *Files) Close() {
	o := &f.own
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, entries := range []ownEntries{o.held, o.locks, o.trees, o.brought} {
		for id := range entries {
			entries.forget(id)
		}
	}
	for _, fd := range o.folders {
		unix.Close(fd)
	}
	o.folders = nil
	f.locks.file.Close()
}

// MadeGit lists the repositories that commands made, whatever the tool, and what they renamed to .git.
func (f *Files) MadeGit() []string {
	f.own.mu.Lock()
	defer f.own.mu.Unlock()
	out := slices.Clone(f.own.called)
	for _, e := range f.own.held {
		out = append(out, e.path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Threat: the owner's git, started at the top of a work tree, enters the repositories below it. So
// a git directory that the session made below somebody else's work tree is closed from its first
// moment: no hook can be made in it, and its settings name no program. Git replaces its settings by
// a rename. The broker performs that with a copy of what it has judged, so that a descriptor, link
// or mapping from before reaches only the abandoned file.

// closes reports whether path may not be changed if dir, a folder above it, is a git directory.
func (j *judge) closes(n *notify.Notification, dir, path string) bool {
	below := strings.TrimPrefix(path, dir+"/")
	if git.IsIndex(below) {
		return j.closed(n, dir)
	}
	is, own := j.git(n, dir)
	return is && (!own || git.Runs(below) && j.belowForeign(n, dir))
}

// foreign is closes without what the session may make, remove or move in its own git directories.
func (j *judge) foreign(n *notify.Notification, dir, path string) bool {
	return j.foreignGit(n, dir) && !git.IsIndex(strings.TrimPrefix(path, dir+"/"))
}

// closed reports whether dir is a git directory that the owner's git may enter.
func (j *judge) closed(n *notify.Notification, dir string) bool {
	is, own := j.git(n, dir)
	return is && (!own || j.belowForeign(n, dir))
}

// Threat: the owner's git writes the files that an index names, and takes the paths in it as they are. So
// the broker installs a copy that it has read, as of settings. Nor may a command change a
// lock that the owner's git has made: that becomes the index, or the settings, by a rename of the owner's.
// A lock that the command makes itself is no danger, since its rename is judged. Without it git would give
// up what needs the settings only by the way, such as the checkout of a branch that follows another.

// locks reports whether path is a lock whose rename is judged by its content.
func locks(path string) bool {
	dir, settings := git.Locks(path)
	return dir != "" || settings
}

// itsLock reports whether d says only that s is the lock of settings, which the command may make.
func itsLock(s pathwalk.Spot, d *sandbox.Denial) bool {
	file, _ := protect.LockOf(s.Full())
	return d.Kind == sandbox.KindProtected && locks(s.Full()) && d.Target == file
}

// writesCommon reports whether the new entry at s is the commondir of a worktree in a closed git directory.
// It cannot be changed later.
func (j *judge) writesCommon(n *notify.Notification, s pathwalk.Spot) bool {
	if _, position := git.Position(s.Path); s.Last != git.Commondir || position != git.Worktrees || j.protection.isTemporary(s.Path) {
		return false
	}
	is, own := j.positioned(n, s.Path)
	return is && own && j.belowForeign(n, s.Path)
}

// refusesNew is refusesPath for a regular file that the broker makes.
func (j *judge) refusesNew(n *notify.Notification, s pathwalk.Spot) *sandbox.Denial {
	if j.writesCommon(n, s) || j.isState(n, s.Full()) {
		return j.refusesPlace(n, s.Full(), j.foreign)
	}
	if d := j.refusesPath(n, s.Full()); d != nil {
		return d
	}
	return j.refusesMark(n, s)
}

// linksAway reports whether a link with this text at path could bring content into a git directory that
// is closed, or under names that are protected.
func (j *judge) linksAway(n *notify.Notification, path, text string) bool {
	if j.protection.leads(path) || j.inForeignGit(n, path) || j.protection.freedom(path) == 0 && protect.Enters(path, text) && !j.granted(path) {
		return true
	}
	if j.protection.isTemporary(path) {
		return false
	}
	is, own := j.positioned(n, path)
	if own {
		// git init tries whether links work, in the folder that it makes a git directory of.
		if _, err := j.walk.Lstat(n, filepath.Join(filepath.Dir(path), git.Head)); err == nil {
			return false
		}
	}
	return (is || git.IsEntry(filepath.Base(path))) && (is && !own || j.belowForeign(n, path))
}

// refusesFolder reports whether the folder at from, moved to to, would bring an open git directory
// below somebody else's work tree, or content that was not closed to where git takes it for a
// repository.
func (j *judge) refusesFolder(n *notify.Notification, from, to string, st *unix.Stat_t) bool {
	if j.protection.isTemporary(to) {
		return false
	}
	own := j.session.own.has(st)
	is, _ := j.positioned(n, to)
	was, _ := j.positioned(n, from)
	becomes := git.IsEntry(filepath.Base(to)) && !own
	return is && !was && !(own && j.belowForeign(n, from)) ||
		(becomes || j.session.own.covered(from)) && j.belowForeign(n, to) && (becomes || !j.belowForeign(n, from))
}

// repositoryOf returns the deepest folder above path that is called like a repository of any tool, or /.
func repositoryOf(path string) string {
	dir := filepath.Dir(path)
	for dir != "/" && !protect.IsRepository(filepath.Base(dir)) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// belowForeign reports whether dir or a folder above it has a repository that the session did not make.
// It is true where that cannot be examined. In dir itself, since git takes a folder that looks like a git
// directory where the .git entry there is broken. It opens each entry, unlike git.Top: a path can mean another
// one for the caller, and only the inode says whose it is.
func (j *judge) belowForeign(n *notify.Notification, dir string) bool {
	// A cache outlives the session, and a link in a work tree can lead there.
	if origin, _ := j.policy.Origin(dir); origin == sandbox.FromCache {
		return true
	}
	for at := ""; at != "/"; dir = filepath.Dir(dir) {
		at = dir
		for _, name := range protect.Repositories() {
			st, err := j.walk.Lstat(n, filepath.Join(at, name))
			if err == unix.ENOENT || err == unix.ENOTDIR {
				continue
			}
			if err != nil || !j.session.own.has(&st) {
				return true
			}
		}
	}
	return false
}

// positioned returns whether dir lies where a git directory keeps others, and whether the session made it
// or the folder there that contains it. These are git directories from the first moment, whatever is in them.
func (j *judge) positioned(n *notify.Notification, dir string) (is, own bool) {
	for at := dir; at != "/"; at = filepath.Dir(at) {
		if of, are := git.Branches(at); are {
			if _, err := j.walk.Lstat(n, filepath.Join(of, git.Head)); err == nil || git.IsEntry(filepath.Base(of)) {
				return false, false
			}
		}
		of, position := git.Position(at)
		if position == "" {
			continue
		}
		if is, ofOwn := j.git(n, of); is {
			return true, ofOwn || j.session.own.at(n, j.walk, at)
		}
	}
	return false, false
}

// at reports whether the session made what is at path.
func (o *ownGit) at(n *notify.Notification, walk *pathwalk.Walker, path string) bool {
	st, err := walk.Lstat(n, path)
	return err == nil && o.has(&st)
}

// onlyRenamed is why no grant lets a command write the settings of a closed git directory itself. With
// a person's grant of them renameCopy takes what it reads.
const onlyRenamed = "git's settings are set by a rename, as git config does it, and codeagent installs its own copy"

// isState reports whether the owner's git continues what it has begun as the file at path says.
func (j *judge) isState(n *notify.Notification, path string) bool {
	dir, file := git.State(path)
	return file && !j.protection.isTemporary(path) && j.closed(n, dir)
}

// copies reports whether m gives the closed git directory at its end new settings, an index or a state. Then the broker
// performs it by renameCopy.
func (h moves) copies(n *notify.Notification, m *moving) bool {
	j := &h.judge
	settings := git.IsSettings(m.to.Last)
	if j.isState(n, m.to.Full()) && !m.exchange() && m.old.Mode&unix.S_IFMT == unix.S_IFREG {
		return j.refusesPlace(n, m.to.Full(), j.foreign) == nil
	}
	if !settings && !git.IsIndex(m.to.Last) || m.exchange() || m.old.Mode&unix.S_IFMT != unix.S_IFREG || j.protection.isTemporary(m.to.Full()) {
		return false
	}
	_, d := j.protection.judge(m.to.Full())
	return (d == nil || d.Kind == sandbox.KindProtected && settings) && j.closed(n, m.to.Path)
}

// renameCopy performs a rename of settings, of an index or of a state.
func (h moves) renameCopy(n *notify.Notification, c *calls.File, m *moving) notify.Reply {
	text, d := h.copied(n, m)
	if d != nil {
		return h.refuse(n, c.Name, unix.EPERM, d, pinOf(m.from), pinOf(m.to))
	}
	if a, first := h.observer.beforeMove(m); first {
		return a
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	err := putSettings(m, text)
	// A granted single file is a mount of its own.
	if err == unix.EXDEV || err == unix.EBUSY || err == unix.EROFS {
		err = h.onHost(m, func(from, to int) error {
			host := *m
			host.from.Dir, host.to.Dir = from, to
			return putSettings(&host, text)
		})
	}
	if err != nil {
		return h.performed(n, c.Name, m.to.Full(), err)
	}
	h.session.changed(m.from.Full(), m.to.Full())
	h.session.own.removed(&m.old)
	return notify.Reply{}
}

// copied returns what the file at the end of m becomes, or the denial. What no grant could allow comes
// before what one could, so that nobody is asked in vain.
func (h moves) copied(n *notify.Notification, m *moving) (text []byte, d *sandbox.Denial) {
	if d := h.judge.refusesEntry(n, m.from, &m.old, false); d != nil {
		return nil, d
	}
	d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: m.to.Full()}
	if git.IsIndex(m.to.Last) {
		text, err := readOnce(m.from, &m.old, maxIndex)
		if err == nil {
			text, err = git.Copy(m.to.Last, text, nil)
		}
		if err != nil {
			d.Note = err.Error()
			return nil, d
		}
		return text, nil
	}
	text, err := readOnce(m.from, &m.old, maxSettings)
	if _, file := git.State(m.to.Full()); file {
		if err == nil {
			text, err = git.Copy(m.to.Full(), text, settingsBefore(m))
		}
		if err != nil {
			d.Why = err.Error()
			return nil, d
		}
		return text, nil
	}
	if err == nil {
		text, err = git.CopySettings(text, settingsBefore(m))
	}
	switch _, own := h.judge.git(n, m.to.Path); {
	case err != nil:
		d.Why = err.Error()
	case own || h.judge.granted(m.to.Full()):
		return text, nil
	}
	return nil, d
}

// maxSettings and maxIndex bound what a command may give a closed git directory, in bytes.
const maxSettings, maxIndex = 1 << 20, 256 << 20

// readOnce reads the regular file at s, of at most most bytes.
func readOnce(s pathwalk.Spot, st *unix.Stat_t, most int64) ([]byte, error) {
	fd, err := kernel.Openat2(s.Dir, s.Last, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), s.Last)
	defer f.Close()
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Dev != st.Dev || now.Ino != st.Ino || now.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, unix.EAGAIN
	}
	if now.Size > most {
		return nil, unix.EFBIG
	}
	text := make([]byte, now.Size)
	_, err = io.ReadFull(f, text)
	return text, err
}

// settingsBefore is the text of the settings at the end of m.
func settingsBefore(m *moving) (text []byte) {
	if m.there {
		text, _ = readOnce(m.to, &m.over, maxSettings)
	}
	return text
}

// putSettings writes text to a new file, gives it the name at the end of m, and removes the one at
// its beginning.
func putSettings(m *moving, text []byte) error {
	last := m.to.Last + ".new" + strconv.FormatUint(m.old.Ino, 36)
	fd, err := unix.Openat(m.to.Dir, last, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), last)
	_, err = f.Write(text)
	if err = errors.Join(err, unix.Fchown(fd, int(m.old.Uid), int(m.old.Gid)), unix.Fchmod(fd, m.old.Mode&0o777), f.Close()); err == nil {
		err = unix.Renameat(m.to.Dir, last, m.to.Dir, m.to.Last)
	}
	if err != nil {
		_ = unix.Unlinkat(m.to.Dir, last, 0)
		return err
	}
	if m.from.Dir == m.to.Dir && m.from.Last == m.to.Last {
		return nil
	}
	return unix.Unlinkat(m.from.Dir, m.from.Last, 0)
}

// Threat: a folder of any name becomes a git directory when the last of its marks is made. Below
// somebody else's work tree the owner's git, started in it, takes it for one. So the call that
// completes the marks is made only where the folder has no hook and its settings name no program,
// and the settings are replaced by a copy first: descriptors from before reach the abandoned file.

// refusesMark returns the denial of making the entry at s because it completes a git directory that
// names programs, or nil.
func (j *judge) refusesMark(n *notify.Notification, s pathwalk.Spot) *sandbox.Denial {
	if !git.IsMark(s.Last) || git.IsEntry(filepath.Base(s.Path)) || j.protection.isTemporary(s.Path) {
		return nil
	}
	if !j.session.inTurn() {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Why: "other sessions cannot be kept out"}
	}
	has := entriesOf(s.Dir)
	completes := git.Marked(func(name string) bool { return has(name) || protect.Fold(name) == protect.Fold(s.Last) }) && !git.Marked(has)
	if !completes || !j.belowForeign(n, s.Path) {
		return nil
	}
	if is, _ := j.positioned(n, s.Path); is {
		return nil // closed from its first moment
	}
	if !j.session.alone(s.Path) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Why: "it would make the folder a git directory, into which another session of codeagent could put hooks meanwhile"}
	}
	if has(git.Commondir) || protect.Fold(s.Last) == git.Commondir || !seal(s.Dir) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full(), Note: "it would make the folder a git directory whose hooks or settings name programs"}
	}
	return nil
}

// seal reports whether the folder has no hooks and no settings that name programs. It replaces the
// settings by copies.
func seal(dir int) bool {
	for _, name := range git.Settings {
		s := pathwalk.Spot{Dir: dir, Last: name}
		st, err := s.Stat()
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return false
		}
		text, err := readOnce(s, &st, maxSettings)
		if err != nil {
			return false
		}
		if text, err = git.CopySettings(text, nil); err != nil || putSettings(&moving{from: s, to: s, old: st}, text) != nil {
			return false
		}
	}
	fd, err := kernel.Openat2(dir, git.Hooks, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return true
	}
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), git.Hooks)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return err == nil && !slices.ContainsFunc(names, git.IsHook)
}
