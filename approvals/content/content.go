// Package content binds an answer to the files that the question was about: the programs of a
// command, the files that it names, and the folders that it can read. It is plain data and performs
// no IO. Start at Binding.Differs.
package content

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Source reads files and folders, and knows what the session changed and what of it still runs.
type Source interface {
	// Digest returns a hash of the regular file path. For an absent file the error is fs.ErrNotExist.
	Digest(path string) (string, error)
	// Identity identifies the entry at path, without following a link there. For an absent entry the
	// error is fs.ErrNotExist.
	Identity(path string) (Identity, error)
	// Mark returns the session's change counter. It counts what commands, jobs, servers and edits of the
	// session change in any write root, protected folders and the folder for temporary files included;
	// what the person changes does not count. ok is false if a write root has changes that are not counted.
	Mark() (mark int64, ok bool)
	// Changed returns the changes after mark, oldest first. all is false if the list is incomplete.
	Changed(mark int64) (changes []Change, all bool)
	// Writers lists the running jobs and servers of the session that may write.
	Writers() []Writer
}

// Identity is what a name led to. A file that is replaced has another one.
type Identity struct {
	Device uint64      `json:"device"`
	Inode  uint64      `json:"inode"`
	Type   fs.FileMode `json:"type"`
}

// Change is one change of the session: the path, and who changed it, as words for a question:
// "job 2 (npm run dev)", "the server docs", "an edit". By is empty if that is not known.
type Change struct{ Path, By string }

// Writer is a running job or server that may write. Name is as in Change.By. Holds are files below the
// write roots that it holds open for writing or has mapped so.
type Writer struct {
	Name  string
	Holds []string
}

// Item is one file. An empty Path means that PATH has no program of that name. An empty Sum means
// that the file was absent. Unread means that the file could not be read.
type Item struct {
	Name string `json:"name"`
	Path string `json:"path,omitempty"`
	Sum  string `json:"sum,omitempty"`
}

// Unread replaces the hash of a program that is executable but not readable.
const Unread = "unread"

// Of returns the item for a file. If the file cannot be read, Of fails, or with unread sets Unread.
func Of(s Source, name, path string, unread bool) (Item, error) {
	it := Item{Name: name, Path: path}
	if path == "" {
		return it, nil
	}
	sum, err := s.Digest(path)
	switch {
	case err == nil:
		it.Sum = sum
	case errors.Is(err, fs.ErrNotExist):
	case unread:
		it.Sum = Unread
	default:
		return Item{}, err
	}
	return it, nil
}

// Place is an entry that a question names, and what was there: nil for nothing.
type Place struct {
	Path string    `json:"path"`
	Was  *Identity `json:"was,omitempty"`
}

// Binding is what an answer depends on: programs, named entries, and that the session changes nothing.
type Binding struct {
	Items   []Item  `json:"items,omitempty"`
	Places  []Place `json:"places,omitempty"`
	mark    int64
	marked  bool
	counted bool
}

// At binds b to the present moment.
func (b *Binding) At(s Source) {
	b.mark, b.counted = s.Mark()
	b.marked = true
}

// Counted reports whether every change of the session since At is known.
func (b *Binding) Counted() bool { return b.counted }

// Pin adds entries as they are now.
func (b *Binding) Pin(s Source, paths []string) {
	for _, p := range paths {
		at := Place{Path: p}
		id, err := s.Identity(p)
		switch {
		case err == nil:
			at.Was = &id
		case !errors.Is(err, fs.ErrNotExist):
			at.Was = &Identity{Type: fs.ModeIrregular} // not known, and so never the same as an entry
		}
		b.Places = append(b.Places, at)
	}
}

// Again is the present state of the files and entries of b.
func (b *Binding) Again(s Source) (now Binding) {
	for _, it := range b.Items {
		it, _ = Of(s, it.Name, it.Path, true)
		now.Items = append(now.Items, it)
	}
	for _, p := range b.Places {
		now.Pin(s, []string{p.Path})
	}
	return now
}

// Clone returns a deep copy.
func (b *Binding) Clone() *Binding {
	if b == nil {
		return nil
	}
	c := *b
	c.Items, c.Places = slices.Clone(b.Items), slices.Clone(b.Places)
	return &c
}

// Differs lists the programs and entries of b that differ from now, one per line, and what the session
// changed since At. One that b lacks counts as different. An empty list means that an answer bound to b
// still applies. show formats a path.
func (b *Binding) Differs(s Source, now Binding, show func(string) string) []string {
	if b == nil {
		return []string{"nothing is known about the files"}
	}
	var out []string
	for _, it := range now.Items {
		i := slices.IndexFunc(b.Items, func(was Item) bool { return was.Name == it.Name })
		switch {
		case i < 0:
			out = append(out, show(it.Name)+" was added")
		case b.Items[i].Path != it.Path:
			out = append(out, fmt.Sprintf("%s means another program: %s", show(it.Name), show(cmp.Or(it.Path, "none"))))
		case it.Sum == "" && b.Items[i].Sum != "":
			out = append(out, show(it.Path)+" was removed")
		case b.Items[i].Sum != it.Sum:
			out = append(out, show(it.Path)+" changed")
		}
	}
	for _, at := range now.Places {
		i := slices.IndexFunc(b.Places, func(was Place) bool { return was.Path == at.Path })
		switch {
		case i < 0:
			out = append(out, show(at.Path)+" was added")
		case (b.Places[i].Was == nil) != (at.Was == nil), at.Was != nil && *at.Was != *b.Places[i].Was:
			out = append(out, show(at.Path)+" became something else")
		}
	}
	if !b.marked {
		return out
	}
	changes, all := s.Changed(b.mark)
	switch {
	case len(changes) > 0:
		out = append(out, "this session changed "+Who(changes, show))
	case !all && b.counted:
		out = append(out, "this session changed more files than are listed")
	}
	return out
}

// Who names the last few changes and who made them.
func Who(changes []Change, show func(string) string) string {
	return Few(names(changes, show), func(s string) string { return s })
}

func names(changes []Change, show func(string) string) (out []string) {
	for _, c := range changes {
		name := show(c.Path)
		if c.By != "" {
			name += " (by " + c.By + ")"
		}
		out = append(out, name)
	}
	return out
}

// mostNamed limits the files that a line names.
const mostNamed = 3

// Few names the last few of paths, and counts the others.
func Few(paths []string, show func(string) string) string {
	var names []string
	for _, p := range slices.Backward(paths) {
		if name := show(p); !slices.Contains(names, name) && len(names) < mostNamed {
			names = append(names, name)
		}
	}
	text := strings.Join(names, ", ")
	if more := len(paths) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
