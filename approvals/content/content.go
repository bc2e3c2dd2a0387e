// Package content binds an answer to the files that the question was about: the programs of a
// command, the files that it names, and the folders that it can read. It is plain data and performs
// no IO. Start at Binding.Changed.
package content

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"codeagent/sandbox"
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

// Binding is the state of files that an answer depends on.
type Binding struct {
	Items []Item `json:"items,omitempty"`
	// Roots are folders in which the session must not change anything. They only bind answers of this
	// session, because another session does not know these changes.
	Roots []string `json:"roots,omitempty"`
	mark  int64
	known bool
}

// At returns b with the marker of the present moment.
func (b Binding) At(s Source) Binding {
	b.mark, b.known = s.Mark()
	return b
}

// Again adds to b the files and folders of the earlier binding that b lacks. Commands could change
// these at that time and cannot now, so b leaves them out. They may have changed in between.
func (b Binding) Again(s Source, was *Binding) Binding {
	if was == nil {
		return b
	}
	for _, it := range was.Items {
		if slices.ContainsFunc(b.Items, func(now Item) bool { return now.Name == it.Name }) {
			continue
		}
		now, err := Of(s, it.Name, it.Path, it.Sum == Unread)
		if err != nil {
			now = Item{Name: it.Name, Path: it.Path} // treated as removed
		}
		b.Items = append(b.Items, now)
	}
	for _, root := range was.Roots {
		if !slices.Contains(b.Roots, root) {
			b.Roots = append(b.Roots, root)
		}
	}
	return b
}

// Clone returns a deep copy.
func (b *Binding) Clone() *Binding {
	if b == nil {
		return nil
	}
	c := *b
	c.Items, c.Roots = slices.Clone(b.Items), slices.Clone(b.Roots)
	return &c
}

// Moved lists the items of b that differ from now, one per line. An item that b lacks counts as
// different. show formats a path.
func (b *Binding) Moved(now Binding, show func(string) string) []string {
	var out []string
	for _, it := range now.Items {
		i := slices.IndexFunc(b.Items, func(was Item) bool { return was.Name == it.Name })
		switch {
		case i < 0:
			out = append(out, show(it.Name)+" was added")
		case b.Items[i].Path != it.Path:
			out = append(out, fmt.Sprintf("%s means another program: %s", show(it.Name), orNone(it.Path, show)))
		case it.Sum == "" && b.Items[i].Sum != "":
			out = append(out, show(it.Path)+" was removed")
		case b.Items[i].Sum != it.Sum:
			out = append(out, show(it.Path)+" changed")
		}
	}
	return out
}

// Changed lists the differences between b and now, one per line. An empty list means that an answer
// bound to b still applies.
func (b *Binding) Changed(s Source, now Binding, show func(string) string) []string {
	out := b.Moved(now, show)
	var fresh []string
	for _, root := range now.Roots {
		if !b.known || !slices.Contains(b.Roots, root) {
			return append(out, "no record of changes in "+show(root))
		}
	}
	if len(now.Roots) == 0 {
		return out
	}
	changes, all := s.Changed(b.mark)
	for _, c := range changes {
		p := c.Path
		item := slices.ContainsFunc(now.Items, func(it Item) bool { return it.Path == p })
		if sandbox.CoveredBy(now.Roots, p) && !item {
			fresh = append(fresh, p)
		}
	}
	switch {
	case len(fresh) > 0:
		out = append(out, "this session changed "+Few(fresh, show))
	case !all:
		out = append(out, "this session changed more files than are listed")
	}
	return out
}

func orNone(path string, show func(string) string) string {
	if path == "" {
		return "none"
	}
	return show(path)
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
