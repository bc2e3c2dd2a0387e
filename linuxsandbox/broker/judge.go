//go:build linux

package broker

import (
	"path/filepath"
	"slices"
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Git takes programs to run from a git directory, and there may be one in any
// folder. The policy lists those of its write roots; any other one is known when
// something in it is to change. One that the session made itself is its own to
// write, and so is a .git that is a file or link and was made by the session:
// git init, clone, worktree add and submodule add go on working.

const gitDir = ".git"

// gitMarks are the entries by which a directory of another name is known to be a
// git directory. They may be replaced but not taken away: what no longer looks
// like one would no longer be protected.
var gitMarks = []string{"HEAD", "objects", "commondir"}

// judge says what the policy makes of changes of files that were found.
type judge struct {
	// policy is the command's, with what was granted since it runs.
	policy     sandbox.Policy
	protection Protection
	// roots are the paths that were granted.
	roots grantedRoots
	// reach is what the kernel lets the command write by itself.
	reach   reach
	session *Session
	walk    *pathwalk.Walker
	looks   looks
	log     *evidence
}

// refusesPath says why nothing may be made or changed at path, or nil.
func (j *judge) refusesPath(n *notify.Notification, path string) *sandbox.Denial {
	root, d := j.protection.judge(path)
	if d != nil {
		return d
	}
	if !j.roots.stands(root) {
		return &sandbox.Denial{Kind: sandbox.KindWrite, Target: path}
	}
	if j.protection.isTemporary(path) {
		return nil
	}
	for _, dir := range gitFolders(root, path) {
		if j.foreignGit(n, dir) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
		}
	}
	return nil
}

// refusesFile says why a file that is there may not be changed, or nil.
func (j *judge) refusesFile(n *notify.Notification, path string, st *unix.Stat_t) *sandbox.Denial {
	if d := j.refusesPath(n, path); d != nil {
		return d
	}
	// A name that was removed while the file was open counts as if it stood.
	if gone, ok := strings.CutSuffix(path, " (deleted)"); ok {
		if d := j.refusesPath(n, gone); d != nil {
			return d
		}
	}
	if filepath.Base(path) != gitDir || kernel.IsFolder(st) || j.session.own.has(st) || j.protection.isTemporary(path) || j.granted(path) {
		return nil
	}
	return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
}

// refusesEntry says why the entry that stands at s may not be removed, replaced
// or moved away, or nil.
func (j *judge) refusesEntry(n *notify.Notification, s pathwalk.Spot, st *unix.Stat_t, stays bool) *sandbox.Denial {
	path := s.Full()
	if d := j.refusesFile(n, path, st); d != nil {
		return d
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case j.protection.isTemporary(path):
		return nil
	case isDir && s.Last == gitDir && !j.session.own.has(st):
	case !stays && slices.Contains(gitMarks, s.Last) && j.foreignGit(n, s.Path):
	default:
		return nil
	}
	return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
}

// foreignGit reports whether dir is a git directory that the session did not
// make. What cannot be looked at is taken for one.
func (j *judge) foreignGit(n *notify.Notification, dir string) bool {
	fd, err := j.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: dir, NoFollow: true})
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return false
	}
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return true
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || j.session.own.has(&st) {
		return false
	}
	return filepath.Base(dir) == gitDir || marked(fd)
}

// marked reports whether a directory has the entries of a git directory, or of
// one that git keeps for a worktree.
func marked(fd int) bool {
	has := func(name string) bool {
		var st unix.Stat_t
		return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	return has("HEAD") && (has("objects") || has("commondir"))
}

// made takes note of what the broker made, where nothing was before.
func (j *judge) made(s pathwalk.Spot) {
	j.session.changed(s.Full())
	switch {
	case j.protection.isTemporary(s.Path):
	case s.Last == gitDir:
		fd, err := kernel.Openat2(s.Dir, s.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			j.session.own.add(fd, s.Full())
		}
	case filepath.Base(s.Path) == gitDir:
		// Known by its name, so it was one before.
	case slices.Contains(gitMarks, s.Last) && marked(s.Dir):
		fd, err := unix.FcntlInt(uintptr(s.Dir), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			j.session.own.add(fd, s.Path)
		}
	}
}

type fileID struct{ dev, ino uint64 }

// refusesMetadata says why the policy does not let metadata of the open file change, or
// nil. path is what the kernel calls it.
func (j *judge) refusesMetadata(n *notify.Notification, fd int, path string, st *unix.Stat_t) *sandbox.Denial {
	d := &sandbox.Denial{Kind: sandbox.KindMetadata, Target: path}
	if !strings.HasPrefix(path, "/") {
		d.Moot, d.MootReason = true, "it is no file of any folder"
		return d
	}
	if kernel.OnProc(fd) {
		return d
	}
	if st.Nlink == 0 {
		// A file without a name is judged by the last one it had.
		path = strings.TrimSuffix(path, " (deleted)")
	}
	// The policy of the protection allows no more than the whole one, and most files
	// are the broker's: that one look is then enough.
	brokered := j.protection.brokered(path)
	if brokered && j.refusesFileNow(n, path, st) == nil {
		return nil
	}
	judged := j.policy.JudgeWrite(path)
	if judged.Kind == sandbox.KindProtected {
		d.Kind = judged.Kind
	}
	if !judged.Allowed {
		return d
	}
	if !brokered {
		return nil
	}
	return j.refusesFileNow(n, path, st)
}

func (j *judge) refusesFileNow(n *notify.Notification, path string, st *unix.Stat_t) *sandbox.Denial {
	j.session.mu.Lock()
	defer j.session.mu.Unlock()
	return j.refusesFile(n, path, st)
}
