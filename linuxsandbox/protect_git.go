//go:build linux

package linuxsandbox

import (
	"path/filepath"
	"slices"
	"strings"

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

// refusesPath says why nothing may be made or changed at path, or nil.
func (b *broker) refusesPath(n *notification, path string) *sandbox.Denial {
	root, d := b.protection.judge(path)
	if d != nil {
		return d
	}
	if !b.held.stands(root) {
		return &sandbox.Denial{Kind: sandbox.KindWrite, Target: path}
	}
	if b.protection.isTemporary(path) {
		return nil
	}
	for _, dir := range gitFolders(root, path) {
		if b.foreignGit(n, dir) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
		}
	}
	return nil
}

// refusesFile says why a file that is there may not be changed, or nil.
func (b *broker) refusesFile(n *notification, path string, st *unix.Stat_t) *sandbox.Denial {
	if d := b.refusesPath(n, path); d != nil {
		return d
	}
	// A name that was removed while the file was open counts as if it stood.
	if gone, ok := strings.CutSuffix(path, " (deleted)"); ok {
		if d := b.refusesPath(n, gone); d != nil {
			return d
		}
	}
	if filepath.Base(path) != gitDir || isFolder(st) || b.session.own.has(st) || b.protection.isTemporary(path) || b.granted(path) {
		return nil
	}
	return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
}

// refusesEntry says why the entry that stands at s may not be removed, replaced
// or moved away, or nil.
func (b *broker) refusesEntry(n *notification, s spot, st *unix.Stat_t, stays bool) *sandbox.Denial {
	path := s.full()
	if d := b.refusesFile(n, path, st); d != nil {
		return d
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case b.protection.isTemporary(path):
		return nil
	case isDir && s.last == gitDir && !b.session.own.has(st):
	case !stays && slices.Contains(gitMarks, s.last) && b.foreignGit(n, s.path):
	default:
		return nil
	}
	return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
}

// foreignGit reports whether dir is a git directory that the session did not
// make. What cannot be looked at is taken for one.
func (b *broker) foreignGit(n *notification, dir string) bool {
	fd, err := b.open(n, name{dir: unix.AT_FDCWD, path: dir, noFollow: true})
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
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || b.session.own.has(&st) {
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
func (b *broker) made(s spot) {
	switch {
	case b.protection.isTemporary(s.path):
	case s.last == gitDir:
		fd, err := openat2(s.dir, s.last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			b.session.own.add(fd, s.full())
		}
	case filepath.Base(s.path) == gitDir:
		// Known by its name, so it was one before.
	case slices.Contains(gitMarks, s.last) && marked(s.dir):
		fd, err := unix.FcntlInt(uintptr(s.dir), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			b.session.own.add(fd, s.path)
		}
	}
}

type fileID struct{ dev, ino uint64 }
