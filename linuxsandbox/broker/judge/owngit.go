//go:build linux

package judge

import (
	"crypto/sha256"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"golang.org/x/sys/unix"
)

// Files are what brokers share whose commands may change the same files: those of a Backend and those
// of the backends apart from it. The zero value is ready.
type Files struct {
	// mu makes a look at the file system and the change that follows one step among all
	// commands: no command can move a file while another command's call on it is judged. Only
	// looks through large folders do without it (look.go).
	mu sync.Mutex
	// own are the git directories that the session's commands made.
	own   ownGit
	locks sessionLocks
	// changes are the latest changes that the session's commands made; guarded by mu.
	changes changes
}

// Still calls do while all calls of commands that change files wait.
func (f *Files) Still(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

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
type ownEntries map[kernel.FileID]*ownEntry

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
	if _, have := (*e)[kernel.IDOf(&st)]; err != nil || have || len(*e) == maxOwnGit {
		unix.Close(fd)
		return
	}
	if *e == nil {
		*e = ownEntries{}
	}
	(*e)[kernel.IDOf(&st)] = &ownEntry{fd, path}
}

func (e ownEntries) forget(id kernel.FileID) {
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
	e := o.trees[kernel.IDOf(st)]
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
	return o.brought[kernel.IDOf(st)] != nil
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
	return o.held[kernel.IDOf(st)] != nil
}

func (o *ownGit) locked(st *unix.Stat_t) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.locks[kernel.IDOf(st)] != nil
}

// locking reports whether the session holds the lock of an index, so that a git of it may be checking out.
func (o *ownGit) locking() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, e := range o.locks {
		var st unix.Stat_t
		file, _ := protect.LockOf(filepath.Base(e.path))
		if git.IsIndex(file) && unix.Lstat(e.path, &st) == nil && kernel.IDOf(&st) == id {
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
	o.locks.forget(kernel.IDOf(st))
	if st.Mode&unix.S_IFMT == unix.S_IFDIR || st.Nlink <= 1 {
		o.held.forget(kernel.IDOf(st))
		o.trees.forget(kernel.IDOf(st))
		o.brought.forget(kernel.IDOf(st))
		o.folders = slices.DeleteFunc(o.folders, func(fd int) bool {
			var of unix.Stat_t
			gone := unix.Fstat(fd, &of) == nil && kernel.IDOf(&of) == kernel.IDOf(st)
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

// at reports whether the session made what is at path.
func (o *ownGit) at(n *notify.Notification, walk *pathwalk.Walker, path string) bool {
	st, err := walk.Lstat(n, path)
	return err == nil && o.has(&st)
}
