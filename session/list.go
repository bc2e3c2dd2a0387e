package session

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"
)

// Summary is one session in a list.
type Summary struct {
	ID string
	// Title is what the user called it, First the beginning of its first message.
	Title, First string
	Folder       string
	// Origin is the session that this one is a fork of, "" for none.
	Origin        string
	Created, Used time.Time
	// Size is of the file, in bytes.
	Size int64
}

// Name is what to call the session in a list.
func (s Summary) Name() string {
	if s.Title != "" {
		return s.Title
	}
	return s.First
}

// near is how far from the end the title is looked for in a list: it stands in
// the record that ends each turn.
const near = 64 << 10

// List yields the sessions, last used first. Of each no more is read than its
// head and its tail, and nothing before it is its turn. What is no session is
// passed over.
func (s *Store) List() iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		entries, err := s.entries()
		if err != nil {
			yield(Summary{}, err)
			return
		}
		for _, e := range entries {
			if sum, err := s.summary(e); err == nil && !yield(sum, nil) {
				return
			}
		}
	}
}

// entries are the files of the sessions, last used first.
func (s *Store) entries() ([]fs.FileInfo, error) {
	names, err := os.ReadDir(s.dir)
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
		if info, err := n.Info(); err == nil && info.Mode().IsRegular() { // else it went meanwhile
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b fs.FileInfo) int {
		if c := b.ModTime().Compare(a.ModTime()); c != 0 {
			return c
		}
		return strings.Compare(a.Name(), b.Name())
	})
	return out, nil
}

// summary reads the two ends of a file.
func (s *Store) summary(info fs.FileInfo) (Summary, error) {
	id := idOf(info.Name())
	f, err := s.openFile(id, os.O_RDONLY)
	if err != nil {
		return Summary{}, err
	}
	defer f.Close()
	h, start, err := readHead(f)
	if err != nil {
		return Summary{}, err
	}
	out := Summary{ID: id, First: h.First, Folder: h.Folder, Origin: h.Origin, Created: h.At, Used: info.ModTime(), Size: info.Size()}
	end, err := lastNewline(f, start, info.Size())
	if err != nil {
		return Summary{}, err
	}
	r, err := view{f: f, start: start, end: end}.last(hasTitle, end-near)
	out.Title = r.Title
	return out, err
}

// Find returns the session that name means: an ID, or the beginning of one of at
// least four characters. The error wraps ErrNotFound, or says that there are several.
func (s *Store) Find(name string) (Summary, error) {
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
		sum, err := s.summary(hits[0])
		if err != nil {
			return Summary{}, failed(idOf(hits[0].Name()), err)
		}
		return sum, nil
	}
	return Summary{}, fmt.Errorf("%d sessions begin with %s: write more of it", len(hits), name)
}
