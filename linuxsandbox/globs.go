//go:build linux

package linuxsandbox

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// No layer of the kernel knows patterns, so for a deny-read glob the folders that
// a command may write, and those it is expressly shown, are searched for what
// matches, and that is mounted over. A search goes on in the background of the
// session; a start waits for the first one only, and not for long.

const (
	// globWait is how long a start waits for a first search, and how long one
	// before may have taken for a start to search anew.
	globWait  = time.Second
	globAnew  = 50 * time.Millisecond
	globPause = 20 // a search rests this many times as long as it took
	// maxMasks bounds the mounts of one command: each takes 15 µs of its start.
	maxMasks = 500
	// maxSearched bounds the entries that one search looks at.
	maxSearched = 2_000_000
)

// globMatches are what is there of a policy's globs.
type globMatches struct {
	// Paths are canonical. Of links it is what they lead to.
	Paths []string
	// Why says why there may be more of them, "" when there are not.
	Why string
}

// globIndex remembers the searches of a session by their folder and globs. Its
// zero value is ready.
type globIndex struct {
	mu       sync.Mutex
	searches map[string]*globSearch
	closed   bool
	// patient: every start waits for a search of its own, however long it takes;
	// set only by tests.
	patient bool
}

// globSearch is one folder's. Its fields are guarded by the index's mu.
type globSearch struct {
	root    string
	globs   sandbox.Policy // with nothing but them
	found   []string
	why     string
	took    time.Duration
	ended   time.Time
	running chan struct{} // closed when the search that is on has ended; nil: none is
}

// find returns what matches the globs of p in the folders that are searched.
func (x *globIndex) find(p sandbox.Policy) globMatches {
	out := globMatches{}
	if len(p.DenyGlobs) == 0 {
		return out
	}
	patience := globWait
	if x.patient {
		patience = time.Hour
	}
	late, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, root := range searched(p) {
		s, wait := x.search(root, p.DenyGlobs)
		if wait != nil {
			select {
			case <-wait:
			case <-late.Done():
				out.Why = "the search for them has not ended: " + root
				continue
			}
		}
		x.mu.Lock()
		out.Paths = append(out.Paths, s.found...)
		if s.why != "" {
			out.Why = s.why
		}
		x.mu.Unlock()
	}
	slices.Sort(out.Paths)
	out.Paths = slices.Compact(out.Paths)
	if len(out.Paths) > maxMasks {
		out.Paths, out.Why = out.Paths[:maxMasks], "more files match than are kept shut"
	}
	return out
}

// searched are the folders to look in, outermost ones alone.
func searched(p sandbox.Policy) []string {
	var out []string
	for _, root := range slices.Concat(p.Write, p.Read) {
		if !sandbox.CoveredBy(sandbox.SystemFolders, root.Path) && root.Path != "/" {
			out = append(out, root.Path)
		}
	}
	slices.Sort(out)
	return slices.CompactFunc(out, func(kept, next string) bool { return sandbox.Covers(kept, next) })
}

// search starts a search where one is due, and says what to wait for.
func (x *globIndex) search(root string, globs []string) (*globSearch, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := strings.Join(append([]string{root}, globs...), "\x00")
	s := x.searches[key]
	if s == nil {
		s = &globSearch{root: root, globs: sandbox.Policy{DenyGlobs: globs}}
		if x.searches == nil {
			x.searches = map[string]*globSearch{}
		}
		x.searches[key] = s
	}
	waits := s.ended.IsZero() || s.took < globAnew || x.patient
	if s.running == nil && !x.closed && (waits || time.Since(s.ended) > globPause*s.took) {
		s.running = make(chan struct{})
		go x.run(s)
	}
	if waits {
		return s, s.running
	}
	return s, nil
}

// run searches once.
func (x *globIndex) run(s *globSearch) {
	start := time.Now()
	w := globWalk{index: x, globs: s.globs, left: maxSearched}
	w.folder(s.root)
	x.mu.Lock()
	defer x.mu.Unlock()
	s.found, s.why = w.found, ""
	if w.left <= 0 {
		s.why = "there are too many files to search: " + s.root
	}
	s.ended = time.Now()
	s.took = s.ended.Sub(start)
	close(s.running)
	s.running = nil
}

// close lets the searches that are on come to an end.
func (x *globIndex) close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
}

// over reports whether nobody wants to know any more.
func (x *globIndex) over() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.closed
}

// globWalk goes through a tree. Links are not followed.
type globWalk struct {
	index *globIndex
	globs sandbox.Policy
	found []string
	left  int
}

func (w *globWalk) folder(path string) {
	if w.index.over() {
		w.left = 0
	}
	// What cannot be listed or is gone holds nothing that a command could read.
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if w.left--; w.left <= 0 {
			return
		}
		entry := filepath.Join(path, e.Name())
		switch denied := !w.globs.JudgeRead(entry).Allowed; {
		case denied:
			w.match(entry, e.Type())
		case e.IsDir():
			w.folder(entry)
		}
	}
}

// match takes up an entry that matches: a link by the file it leads to.
func (w *globWalk) match(path string, kind fs.FileMode) {
	if kind&fs.ModeSymlink != 0 {
		real, err := filepath.EvalSymlinks(path)
		st, bad := kernel.StatPath(real)
		if err != nil || bad != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			return // a folder has names beside this one that no glob speaks of
		}
		path = real
	}
	w.found = append(w.found, path)
}
