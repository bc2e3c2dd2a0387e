//go:build linux

package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Threat: two sessions in one folder judge each for itself. While the broker of one looks through a folder
// and makes it a git directory, a command of the other could put a hook into it, or make the other mark of
// one. So sessions make marks in turn. Each shares a lock for each of its write roots, and completes a git
// directory only while it has those of all folders around it alone. The locks are bytes of one file, and end
// with the process.

// sessionLocks are the locks of one session. Files.mu guards them.
type sessionLocks struct {
	file  *os.File // nil: there is no other session
	roots map[int64]bool
	alone []int64 // until mu is unlocked
}

// Share locks from now on against the other sessions that use the file at path. A second file would meet the
// locks of the first as another session's.
func (f *Files) Share(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locks.file != nil {
		return nil
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err == nil {
		f.locks.file = os.NewFile(uintptr(fd), path)
	}
	return err
}

// Enter locks write roots that commands get. What does not exist, nobody can complete.
func (f *Files) Enter(roots []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, root := range roots {
		at, err := placeOf(root)
		if f.locks.file == nil || err == unix.ENOENT || f.locks.roots[at] {
			continue
		}
		if err == nil {
			err = f.locks.set(unix.F_OFD_SETLKW, unix.F_RDLCK, at)
		}
		if err != nil {
			return fmt.Errorf("lock %s against other sessions: %w", root, err)
		}
		if f.locks.roots == nil {
			f.locks.roots = map[int64]bool{}
		}
		f.locks.roots[at] = true
	}
	return nil
}

// inTurn waits until no other session makes a mark, and reports whether none does until unlock.
func (f *Files) inTurn() bool {
	const marks = 0
	if f.locks.file == nil {
		return true
	}
	f.locks.alone = append(f.locks.alone, marks)
	return f.locks.set(unix.F_OFD_SETLKW, unix.F_WRLCK, marks) == nil
}

// alone reports whether no other session may write in dir, until unlock.
func (f *Files) alone(dir string) bool {
	for at := ""; f.locks.file != nil && at != "/"; dir = filepath.Dir(dir) {
		at = dir
		place, err := placeOf(dir)
		if err != nil || f.locks.set(unix.F_OFD_SETLK, unix.F_WRLCK, place) != nil {
			return false
		}
		f.locks.alone = append(f.locks.alone, place)
	}
	return true
}

// unlock unlocks mu.
func (f *Files) unlock() {
	for _, at := range f.locks.alone {
		kind := int16(unix.F_UNLCK)
		if f.locks.roots[at] {
			kind = unix.F_RDLCK
		}
		_ = f.locks.set(unix.F_OFD_SETLK, kind, at)
	}
	f.locks.alone = nil
	f.mu.Unlock()
}

func (l *sessionLocks) set(cmd int, kind int16, at int64) error {
	return unix.FcntlFlock(l.file.Fd(), cmd, &unix.Flock_t{Type: kind, Start: at, Len: 1})
}

// placeOf is the byte for the folder at path.
func placeOf(path string) (int64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return int64((st.Ino ^ st.Dev<<40) >> 2), err
}

// Lock is held from a judgement to the change.
func (f *Files) Lock() sync.Locker { return filesLock{f} }

// filesLock is Files.mu with what was locked meanwhile.
type filesLock struct{ files *Files }

func (l filesLock) Lock()   { l.files.mu.Lock() }
func (l filesLock) Unlock() { l.files.unlock() }
