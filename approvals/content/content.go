// Package content binds an answer to what it was about: the programs of a command as PATH resolved
// them, the files that it names, and the folders whose files it can run or read. It is plain data and
// performs no IO. Start at Binding.Changed.
package content

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// Source knows the content of files, and what the session changed.
type Source interface {
	// Digest returns a hash of the regular file path. If it is absent, errors.Is(err,
	// fs.ErrNotExist) holds.
	Digest(path string) (string, error)
	// Mark names the present moment; false: changes are not recorded.
	Mark() (mark int64, ok bool)
	// Changed returns the paths that the session's commands and edits changed after mark, oldest
	// first. all is false if there are more.
	Changed(mark int64) (paths []string, all bool)
	// Quiet reports whether no background command of the session runs.
	Quiet() bool
}

// Item is one file. An empty Path means that PATH had no program of that name, an empty Sum that the
// file was absent, and Unread that it could not be read.
type Item struct {
	Name string `json:"name"`
	Path string `json:"path,omitempty"`
	Sum  string `json:"sum,omitempty"`
}

// Unread stands for the hash of a program that may be run and not be read.
const Unread = "unread"

// Of returns the item for a file. It fails if the file cannot be read; unread: it then gets Unread.
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

// Binding is what an answer is bound to.
type Binding struct {
	Items []Item `json:"items,omitempty"`
	// Roots are folders in which the session must not have changed anything since. They bind for the
	// session that made them alone: no other one knows its changes.
	Roots []string `json:"roots,omitempty"`
	mark  int64
	known bool
}

// At returns b as of the present moment of s.
func (b Binding) At(s Source) Binding {
	b.mark, b.known = s.Mark()
	return b
}

// Again returns b, made now, with what was is about and b is not: a file or folder that commands could
// change then and cannot change any more may have been changed between.
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
			now = Item{Name: it.Name, Path: it.Path} // as if it had been removed
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

// Moved says which items of b are not as they are in now, one thing a line. b does not cover an item
// that it lacks. show formats a path.
func (b *Binding) Moved(now Binding, show func(string) string) []string {
	var out []string
	for _, it := range now.Items {
		i := slices.IndexFunc(b.Items, func(was Item) bool { return was.Name == it.Name })
		switch {
		case i < 0:
			out = append(out, show(it.Name)+" is not what was asked about")
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

// Changed says what differs between b and now, one thing a line; nothing means that an answer bound to
// b still covers it.
func (b *Binding) Changed(s Source, now Binding, show func(string) string) []string {
	out := b.Moved(now, show)
	var fresh []string
	for _, root := range now.Roots {
		if !b.known || !slices.Contains(b.Roots, root) {
			return append(out, "it is not known what changed in "+show(root))
		}
	}
	if len(now.Roots) == 0 {
		return out
	}
	paths, all := s.Changed(b.mark)
	for _, p := range paths {
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

// mostNamed bounds the files that a line names.
const mostNamed = 3

// Few names the last of paths, and counts the others.
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
