//go:build linux

package plan

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// No kernel layer knows patterns. So for a deny-read glob codeagent searches the folders that the
// policy lets a command write or names as readable, and mounts over each match. A search runs in
// the background. A start waits for the first search, and for a new search if the last one was
// fast.

const (
	globPause = 20 // a search runs again after this many times its own duration
	// maxMasks bounds the mounts of one command: each adds 15 µs to its start.
	maxMasks = 500
	// maxSearched bounds the entries that one search looks at.
	maxSearched = 2_000_000
)

// Matches are the existing files that match a policy's globs.
type Matches struct {
	// Paths are canonical. For a link it is the target.
	Paths []string
	// Why is the reason why there may be more matches; "" if Paths is complete.
	Why string
}

// Globs keeps the searches of a session by folder and globs.
type Globs struct {
	// patience is the longest that a start waits for searches. It waits for a new one if the last took
	// at most a twentieth of that.
	patience time.Duration
	mu       sync.Mutex
	searches map[string]*globSearch
	closed   atomic.Bool
}

// NewGlobs returns an index of searches for which a start waits up to patience.
func NewGlobs(patience time.Duration) *Globs {
	return &Globs{patience: patience, searches: map[string]*globSearch{}}
}

// globSearch is the search of one folder. The index's mu guards its fields.
type globSearch struct {
	root    string
	globs   []string
	found   []string
	why     string
	took    time.Duration
	ended   time.Time
	running chan struct{} // closed when the running search ends; nil if none runs
}

// Find returns what matches globs in the folders roots.
func (x *Globs) Find(globs, roots []string) Matches {
	out := Matches{}
	if len(globs) == 0 {
		return out
	}
	late, cancel := context.WithTimeout(context.Background(), x.patience)
	defer cancel()
	for _, root := range roots {
		s, wait := x.search(root, globs)
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

// Searched returns the folders to search, without those inside another one.
func Searched(p resolved.Policy) []string {
	var out []string
	for _, root := range slices.Concat(p.Roots, p.Read) {
		temporary := root.Origin == sandbox.FromTemp || root.Origin == sandbox.FromSharedTemp
		if !temporary && !sandbox.CoveredBy(sandbox.SystemFolders, root.Path) && root.Path != "/" {
			out = append(out, root.Path)
		}
	}
	slices.Sort(out)
	return slices.CompactFunc(out, func(kept, next string) bool { return sandbox.Covers(kept, next) })
}

// search starts a search if one is due. The channel is what to wait for; nil means do not wait.
func (x *Globs) search(root string, globs []string) (*globSearch, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := strings.Join(append([]string{root}, globs...), "\x00")
	s := x.searches[key]
	if s == nil {
		s = &globSearch{root: root, globs: globs}
		x.searches[key] = s
	}
	waits := s.ended.IsZero() || s.took < x.patience/20
	if s.running == nil && !x.closed.Load() && (waits || time.Since(s.ended) > globPause*s.took) {
		s.running = make(chan struct{})
		go x.run(s)
	}
	if waits {
		return s, s.running
	}
	return s, nil
}

// run searches once.
func (x *Globs) run(s *globSearch) {
	start := time.Now()
	w := globWalk{index: x, root: s.root, globs: s.globs, left: maxSearched}
	w.folder(s.root)
	x.mu.Lock()
	defer x.mu.Unlock()
	s.found, s.why = w.found, w.why
	if w.left <= 0 {
		s.why = "there are too many files to search: " + s.root
	}
	s.ended = time.Now()
	s.took = s.ended.Sub(start)
	close(s.running)
	s.running = nil
}

// Close ends the running searches.
func (x *Globs) Close() { x.closed.Store(true) }

// globWalk walks a tree. It does not follow links.
type globWalk struct {
	index *Globs
	root  string
	globs []string
	found []string
	why   string
	left  int
}

func (w *globWalk) folder(path string) {
	if w.index.closed.Load() {
		w.left = 0
	}
	// A command may have shut the folder, to open it again while it runs: what it holds is not
	// known, so all of it is kept shut. A folder that is gone holds nothing.
	err := unix.Access(path, unix.R_OK|unix.X_OK)
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		if path == w.root {
			w.why = "it cannot be Searched: " + path
			return
		}
		w.found = append(w.found, path)
	}
	for _, e := range entries {
		if w.left--; w.left <= 0 {
			return
		}
		entry := filepath.Join(path, e.Name())
		switch _, denied := sandbox.GlobAround(w.globs, entry); {
		case denied:
			w.match(entry, e.Type())
		case e.IsDir():
			w.folder(entry)
		}
	}
}

// match records a matching entry; for a link, the file it leads to.
func (w *globWalk) match(path string, kind fs.FileMode) {
	if kind&fs.ModeSymlink != 0 {
		real, err := filepath.EvalSymlinks(path)
		st, bad := kernel.StatPath(real)
		if err != nil || bad != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			return // mount over a link's target only if it is a file: a folder's other names match no glob
		}
		path = real
	}
	w.found = append(w.found, path)
}
