//go:build linux

package broker

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"golang.org/x/sys/unix"
)

// ownGit holds the git directories that the session made, and the files or links it made
// in place of one.
type ownGit struct {
	// mu guards the rest. A look through a folder takes it with no other lock held (look.go).
	mu   sync.Mutex
	held map[fileID]*ownEntry
	// called are the paths of folders that the session renamed to .git. They are protected
	// like any other, but their earlier content may be the session's.
	called []string
}

// ownEntry is a git directory, or a .git file or link, that the session made.
type ownEntry struct {
	// fd keeps it open, so that its inode number is not reused.
	fd int
	// path is its path in the policy.
	path string
}

// maxOwnGit bounds the open files. Any further one is protected as if it were not the
// session's.
const maxOwnGit = 1024

// add takes ownership of fd.
func (o *ownGit) add(fd int, path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	id := fileID{st.Dev, st.Ino}
	if _, have := o.held[id]; err != nil || have || len(o.held) == maxOwnGit {
		unix.Close(fd)
		return
	}
	if o.held == nil {
		o.held = map[fileID]*ownEntry{}
	}
	o.held[id] = &ownEntry{fd, path}
}

func (o *ownGit) has(st *unix.Stat_t) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.held[fileID{st.Dev, st.Ino}]
	return ok
}

// removed forgets a file that has no name left.
func (o *ownGit) removed(st *unix.Stat_t) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := fileID{st.Dev, st.Ino}
	e, ok := o.held[id]
	if !ok || st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1 {
		return
	}
	unix.Close(e.fd)
	delete(o.held, id)
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
	if protect.IsGit(filepath.Base(to)) && !slices.Contains(o.called, to) && len(o.called) < maxOwnGit {
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
	for id, e := range o.held {
		unix.Close(e.fd)
		delete(o.held, id)
	}
}

// MadeGit lists the git directories that commands made or renamed to .git.
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
