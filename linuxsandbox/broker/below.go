//go:build linux

package broker

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
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
func (j *judge) refusesMove(s pathwalk.Spot, to string) *sandbox.Denial {
	path := s.Full()
	d := &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
	if j.protection.holds(path) || j.protection.leads(to) {
		return d
	}
	if j.protection.isTemporary(path) && j.protection.isTemporary(to) {
		return nil
	}
	found, err := j.lookThrough(s, path)
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
// path in the policy; "" is nothing. It gives up where there are more than left
// entries; a negative number is no bound.
func (j *judge) below(dir int, name, path string, depth int, left *int) (string, error) {
	if depth == 0 {
		return "", errTooDeep
	}
	fd, err := kernel.Openat2(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	most := -1
	if *left >= 0 {
		most = *left + 1
	}
	entries, err := f.ReadDir(most)
	if err != nil && err != io.EOF {
		return "", err
	}
	if *left >= 0 {
		if *left -= len(entries); *left < 0 {
			return "", errTooMany
		}
	}
	if j.looksLikeGit(fd, entries) {
		return path, nil
	}
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		if j.foreignEntry(fd, e, at) {
			return at, nil
		}
		if !e.IsDir() {
			continue
		}
		if found, err := j.below(fd, e.Name(), at, depth-1, left); found != "" || err != nil {
			return found, err
		}
	}
	return "", nil
}

// foreignEntry reports whether an entry is protected by its own name.
func (j *judge) foreignEntry(fd int, e fs.DirEntry, path string) bool {
	if e.Name() == gitDir {
		var st unix.Stat_t
		return unix.Fstatat(fd, gitDir, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || !j.session.own.has(&st)
	}
	if !j.protection.mayJudge(e.Name()) {
		return false
	}
	_, d := j.protection.judge(path)
	return d != nil
}

// looksLikeGit is marked, for a folder that was read, and false for the
// session's own.
func (j *judge) looksLikeGit(fd int, entries []fs.DirEntry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	if !has("HEAD") || !has("objects") && !has("commondir") {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(fd, &st) != nil || !j.session.own.has(&st)
}

// unremovable says why what stands at s cannot be taken away by anybody.
func (j *judge) unremovable(s pathwalk.Spot, st *unix.Stat_t, folder bool) unix.Errno {
	switch {
	case folder && !kernel.IsFolder(st):
		return unix.ENOTDIR
	case !folder && kernel.IsFolder(st):
		return unix.EISDIR
	case folder && j.filled(s):
		return unix.ENOTEMPTY
	}
	return 0
}

// filled reports whether the folder at s has entries. What must not be read is
// not looked at.
func (j *judge) filled(s pathwalk.Spot) bool {
	if !j.policy.JudgeRead(s.Full()).Allowed {
		return false
	}
	fd, err := kernel.Openat2(s.Dir, s.Last, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), s.Last)
	defer f.Close()
	_, err = f.ReadDir(1)
	return err != io.EOF
}
