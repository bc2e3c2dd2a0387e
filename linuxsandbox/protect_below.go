//go:build linux

package linuxsandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A folder that is moved takes along what is in it: the protection of a name
// would go, and the name be free for another. So the broker looks through a
// folder before it moves it. There is no index of the tree that would have to be
// kept: folders are moved seldom, most of them are small, and what is found now
// is true whatever other programs did since the session began.

// maxDepth bounds how deep is looked, and so how many folders are open at once.
const maxDepth = 256

var errTooDeep = errors.New("too deep to look through")

// refusesMove says why the folder at s may not be moved to the place to, or nil.
func (b *broker) refusesMove(s spot, to string) *sandbox.Denial {
	path := s.full()
	d := &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
	if b.protection.holds(path) || b.protection.leads(to) {
		return d
	}
	if b.protection.isTemporary(path) && b.protection.isTemporary(to) {
		return nil
	}
	found, err := b.below(s.dir, s.last, path, maxDepth)
	if err != nil {
		return d // what cannot be looked through may hold anything
	}
	if found == "" {
		return nil
	}
	d.Target = found
	return d
}

// below finds something protected in the folder name of dir, which is called
// path in the policy; "" is nothing.
func (b *broker) below(dir int, name, path string, depth int) (string, error) {
	if depth == 0 {
		return "", errTooDeep
	}
	fd, err := openat2(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return "", err
	}
	if b.looksLikeGit(fd, entries) {
		return path, nil
	}
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		if b.foreignEntry(fd, e, at) {
			return at, nil
		}
		if !e.IsDir() {
			continue
		}
		if found, err := b.below(fd, e.Name(), at, depth-1); found != "" || err != nil {
			return found, err
		}
	}
	return "", nil
}

// foreignEntry reports whether an entry is protected by its own name.
func (b *broker) foreignEntry(fd int, e fs.DirEntry, path string) bool {
	if e.Name() == gitDir {
		var st unix.Stat_t
		return unix.Fstatat(fd, gitDir, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || !b.session.own.has(&st)
	}
	if !b.protection.mayJudge(e.Name()) {
		return false
	}
	_, d := b.protection.judge(path)
	return d != nil
}

// looksLikeGit is marked, for a folder that was read, and false for the
// session's own.
func (b *broker) looksLikeGit(fd int, entries []fs.DirEntry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	if !has("HEAD") || !has("objects") && !has("commondir") {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(fd, &st) != nil || !b.session.own.has(&st)
}
