package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"codeagent/hostfile"
)

// Summary describes one session in a list.
type Summary struct {
	ID string
	Label
	// First is the beginning of its first message, Folder where it works.
	First, Folder string
	// Origin is the session that this one is a fork of, or "".
	Origin        string
	Created, Used time.Time
	// Size is the size of the file, in bytes.
	Size int64
	// Damaged says why the session cannot be used; "" if it can. Folder may then be unknown.
	Damaged string
}

// DamagedError: the session exists but cannot be used.
type DamagedError struct{ ID, Why string }

func (e *DamagedError) Error() string { return "session " + e.ID + ": " + e.Why }

// Name returns the session's name for a list.
func (s Summary) Name() string {
	if s.Damaged != "" {
		return strings.TrimSpace("cannot be used: " + s.Damaged + "  " + s.First)
	}
	return cmp.Or(s.Title, s.First)
}

// near is how many bytes at the end are searched for the title: the record that ends each turn
// has it.
const near = 64 << 10

// List yields the sessions, last used first. It reads only the beginning and the end of each,
// when it yields it. It also yields files of sessions that cannot be used: see
// Summary.Damaged.
func (s *Store) List() iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		entries, err := s.entries()
		if err != nil {
			yield(Summary{}, err)
			return
		}
		for _, e := range entries {
			if !yield(s.summary(e), nil) {
				return
			}
		}
	}
}

// entries returns the files of the sessions, last used first.
func (s *Store) entries() ([]fs.FileInfo, error) {
	names, err := hostfile.ReadDir(s.dir, -1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	var out []fs.FileInfo
	for _, n := range names {
		if idOf(n.Name()) == "" {
			continue
		}
		if info, err := n.Info(); err == nil { // otherwise it was removed meanwhile
			out = append(out, info)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return cmp.Or(out[j].ModTime().Compare(out[i].ModTime()), strings.Compare(out[i].Name(), out[j].Name())) < 0
	})
	return out, nil
}

// summary reads the beginning and the end of a file.
func (s *Store) summary(info fs.FileInfo) Summary {
	out := Summary{ID: idOf(info.Name()), Used: info.ModTime(), Size: info.Size()}
	if err := s.fill(&out); err != nil {
		out.Damaged = why(err)
	}
	return out
}

// why returns only the reason: the session is named beside it.
func why(err error) string {
	var kind *hostfile.KindError
	if errors.As(err, &kind) {
		return "it is " + kind.Error()
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return "it cannot be read: " + path.Err.Error()
	}
	return err.Error()
}

func (s *Store) fill(out *Summary) error {
	f, err := s.openFile(out.ID, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	v, err := look(f)
	out.First, out.Folder, out.Origin, out.Created = v.head.First, v.head.Folder, v.head.Origin, v.head.At
	if err != nil {
		return err
	}
	r, err := v.last(hasTitle, v.end-near)
	out.Label = r.Label
	return err
}

// Titled returns the sessions of which in holds and whose name has every word of text, in any case, last used
// first.
func (s *Store) Titled(text string, in func(Summary) bool) (out []Summary, err error) {
	words := strings.Fields(strings.ToLower(text))
	for sum, err := range s.List() {
		if err != nil {
			return nil, err
		}
		name := strings.ToLower(sum.Title + " " + sum.First)
		lacks := func(word string) bool { return !strings.Contains(name, word) }
		if len(words) > 0 && sum.Damaged == "" && in(sum) && !slices.ContainsFunc(words, lacks) {
			out = append(out, sum)
		}
	}
	return out, nil
}

// Find returns the session with that name: an ID, or the beginning of an ID with at least four
// characters. The error wraps ErrNotFound, is a *DamagedError, or says that there are
// several.
func (s *Store) Find(name string) (Summary, error) {
	sum, err := s.Named(name)
	if err == nil {
		err = sum.Unusable()
	}
	return sum, err
}

// Unusable returns a *DamagedError if the session cannot be used.
func (s Summary) Unusable() error {
	if s.Damaged == "" {
		return nil
	}
	return &DamagedError{ID: s.ID, Why: s.Damaged}
}

// Named is Find, but it also returns a damaged session.
func (s *Store) Named(name string) (Summary, error) {
	entries, err := s.entries()
	if err != nil {
		return Summary{}, err
	}
	var hits []fs.FileInfo
	for _, e := range entries {
		if id := idOf(e.Name()); id == name || len(name) >= 4 && strings.HasPrefix(id, name) {
			hits = append(hits, e)
		}
	}
	switch len(hits) {
	case 0:
		return Summary{}, fmt.Errorf("%w: %.64q", ErrNotFound, name)
	case 1:
		return s.summary(hits[0]), nil
	}
	return Summary{}, fmt.Errorf("%d sessions begin with %s: give more of the ID", len(hits), name)
}
