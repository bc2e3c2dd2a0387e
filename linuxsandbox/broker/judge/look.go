//go:build linux

package judge

import (
	"errors"

	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A look through a large folder takes long, and it would block all commands of the session. So
// the broker makes it without the lock, and then handles the call again:
//
//	rename ─▶ locked: more than lookHeld entries ─▶ nothing is done
//	look through the folder, without the lock    ◀
//	rename, from the call's start ─▶ locked: the look is still valid ─▶ done
//
// A look is valid for the same folder at the same path, until a command of the session makes
// or moves something there (Files.changed). So it finds the same as a look under the lock.
// The lock never kept out changes by other programs on the host. After lookRounds looks that
// became invalid, the broker makes one under the lock.

const (
	// lookHeld is how many entries are read under the lock.
	lookHeld = 256
	// lookRounds bounds the looks without the lock for one call.
	lookRounds = 3
	// maxChanges bounds the remembered changes of a session.
	maxChanges = 4096
)

var errTooMany = errors.New("too many entries to look at under the lock")

// look is a look through a folder.
type look struct {
	fd     int // the folder, open until the look was made
	folder kernel.FileID
	path   string
	// since is the session's change count when the look began.
	since uint64
	found string
	err   error
}

// looks are the looks for the call that is being handled.
type looks struct {
	due    []look // to make before the call is handled again
	done   []look
	rounds int
}

// lookThrough is below for a folder that is about to be moved, with Files.mu held. If a look
// without the lock must come first, the error is errTooMany, and the call must not be done.
func (j *Judge) lookThrough(s pathwalk.Spot, path string) (string, error) {
	st, err := s.Stat()
	if err != nil {
		return "", err
	}
	folder := kernel.IDOf(&st)
	for _, l := range j.looks.done {
		if l.folder == folder && l.path == path && !j.files.changedBelow(path, l.since) {
			return l.found, l.err
		}
	}
	left := lookHeld
	if j.looks.rounds >= lookRounds {
		left = -1
	}
	found, err := j.below(s.Dir, s.Last, path, maxDepth, &left)
	if err != errTooMany {
		return found, err
	}
	fd, err := kernel.Openat2(s.Dir, s.Last, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return "", err
	}
	j.looks.due = append(j.looks.due, look{fd: fd, folder: kernel.IDOf(&st), path: path})
	return "", errTooMany
}

// MakeLooks makes the looks that are due, with no lock held.
func (j *Judge) MakeLooks() {
	if len(j.looks.due) == 0 {
		return
	}
	j.looks.rounds++
	for _, l := range j.looks.due {
		l.since = j.files.changeCount()
		left := -1
		l.found, l.err = j.below(l.fd, ".", l.path, maxDepth, &left)
		unix.Close(l.fd)
		j.looks.done = append(j.looks.done, l)
	}
	j.looks.due = j.looks.due[:0]
}

// ForgetLooks drops all looks of a call.
func (j *Judge) ForgetLooks() {
	for _, d := range j.looks.due {
		unix.Close(d.fd)
	}
	j.looks = looks{}
}

// LooksDue reports whether the call must be handled again after a look through a large folder.
func (j *Judge) LooksDue() bool { return len(j.looks.due) > 0 }

// changes are the latest places where the session's commands made or moved something.
type changes struct {
	count uint64 // of all changes, remembered or not
	paths []string
}

// changed records paths where something was made or moved; mu is held.
func (f *Files) changed(paths ...string) {
	for _, path := range paths {
		if len(f.changes.paths) < maxChanges {
			f.changes.paths = append(f.changes.paths, path)
		} else {
			f.changes.paths[f.changes.count%maxChanges] = path
		}
		f.changes.count++
	}
}

// changeCount returns the number of changes so far.
func (f *Files) changeCount() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes.count
}

// changedBelow reports whether something was made or moved in or above the folder at path since
// the change with that number; mu is held. It is true if some of these changes are no
// longer remembered.
func (f *Files) changedBelow(path string, since uint64) bool {
	c := &f.changes
	if c.count-since > uint64(len(c.paths)) {
		return true
	}
	for i := since; i < c.count; i++ {
		if at := c.paths[i%maxChanges]; sandbox.Covers(path, at) || sandbox.Covers(at, path) {
			return true
		}
	}
	return false
}
