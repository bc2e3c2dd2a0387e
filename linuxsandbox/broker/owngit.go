//go:build linux

package broker

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// ownGit are the git directories, and the files in place of one, that the
// session made. brokerSession.mu guards them.
type ownGit struct {
	// mu guards the rest. A look through a folder asks with no other lock held (look.go).
	mu   sync.Mutex
	held map[fileID]*ownEntry
	// called are folders that the session gave the name .git. They are protected like
	// any other, but what was in them before may be the session's.
	called []string
}

// ownEntry is one of them.
type ownEntry struct {
	// fd keeps it open: no other file gets its number meanwhile.
	fd int
	// path is what it is called in the policy.
	path string
}

// maxOwnGit bounds the open files. What comes after is protected as if it had
// been there before.
const maxOwnGit = 1024

// add takes over fd.
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

// removed forgets a file that has no name any more.
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

// renamed takes note that the broker gave what was called from the name to, and
// with exchange the other way round.
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
	if filepath.Base(to) == gitDir && !slices.Contains(o.called, to) && len(o.called) < maxOwnGit {
		o.called = append(o.called, to)
	}
}

// Close lets go of what the session's commands made: from now on it is foreign.
func (s *Session) Close() {
	s.sockets.Close()
	o := &s.own
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, e := range o.held {
		unix.Close(e.fd)
		delete(o.held, id)
	}
}

// MadeGit lists the git directories that commands of this session made.
func (s *Session) MadeGit() []string {
	s.own.mu.Lock()
	defer s.own.mu.Unlock()
	out := slices.Clone(s.own.called)
	for _, e := range s.own.held {
		out = append(out, e.path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
