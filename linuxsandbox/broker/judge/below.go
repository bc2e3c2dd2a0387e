//go:build linux

package judge

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Threat: a command moves a folder and with it a protected file, which loses its protected
// path and frees the name for another file. So the broker looks through a folder before it
// moves it. It keeps no index of the tree: folders are rarely moved, most are small, and a
// look now is true whatever other programs have done since the session began.

// maxDepth bounds the depth of the look, and so the number of folders open at once.
const maxDepth = 256

var errTooDeep = errors.New("too deep to look through")

// refusesMove returns the denial of a move of the folder at s to the path to, or nil.
func (j *Judge) refusesMove(s pathwalk.Spot, to string) *sandbox.Denial {
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
		return d // a folder that cannot be looked through may hold anything
	}
	if found == "" {
		return nil
	}
	d.Target = found
	return d
}

// below finds a protected entry in the folder name of dir, whose policy path is path. It
// returns "" for none. It fails with errTooMany after more than left entries; a negative
// left means no bound.
func (j *Judge) below(dir int, name, path string, depth int, left *int) (string, error) {
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
	var st unix.Stat_t
	if git.Marked(entriesOf(fd)) && (unix.Fstat(fd, &st) != nil || !j.files.own.has(&st)) {
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

// foreignEntry reports whether an entry is protected by its name.
func (j *Judge) foreignEntry(fd int, e fs.DirEntry, path string) bool {
	if git.IsEntry(e.Name()) {
		var st unix.Stat_t
		return unix.Fstatat(fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) != nil || !j.files.own.has(&st)
	}
	if !j.protection.mayJudge(e.Name()) {
		return false
	}
	_, d := j.protection.judge(path)
	return d != nil
}

// Unremovable returns the errno with which any removal of the entry at s fails, or 0.
func (j *Judge) Unremovable(s pathwalk.Spot, st *unix.Stat_t, folder bool) unix.Errno {
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

// filled reports whether the folder at s has entries. It does not look into a folder that
// the policy closes to reading.
func (j *Judge) filled(s pathwalk.Spot) bool {
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
