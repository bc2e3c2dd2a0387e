package draft

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"syscall"
	"time"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

const (
	// maxEntries bounds how many entries of a draft are listed, and how many versions it keeps.
	maxEntries = 200_000
	// MaxFile is the size of the largest file that can be kept, in bytes: what a file worker carries.
	MaxFile = 64 << 20
)

// tick is longer than the steps of the clock by which a file system notes changes.
const tick = 10 * time.Millisecond

// Change is one entry that a command changed.
type Change struct {
	Path string
	// Kind is sandbox.Added, Updated or Deleted.
	Kind sandbox.ChangeKind
	// Type is "file", "folder", "link" or "special".
	Type string
	// Why says why it cannot be kept; "" if it can.
	Why string

	before, after entry
	// upper is where the new content is; "" if the content is the old one.
	upper string
	// part is what is kept in place of the new content, if hunks were chosen.
	part []byte
}

// Contents returns the old and the new content of a file, nil where it did not exist. ok is false if it is
// not a file, or has more than most bytes.
func (c Change) Contents(most int64) (old, now []byte, ok bool) {
	if c.Type != "file" || max(c.before.Size, c.after.Size) > most {
		return nil, nil, false
	}
	var err, bad error
	if c.Kind != sandbox.Added {
		old, err = hostfile.Read(context.Background(), c.Path, most)
		old = append([]byte{}, old...)
	}
	switch {
	case c.OnlyMode():
		now = old
	case c.Kind != sandbox.Deleted:
		now, bad = c.content()
		now = append([]byte{}, now...)
	}
	return old, now, err == nil && bad == nil
}

// content is what is kept of a file.
func (c Change) content() ([]byte, error) {
	if c.part != nil {
		return c.part, nil
	}
	return hostfile.Read(context.Background(), c.upper, MaxFile)
}

// Mode returns the permissions before and after.
func (c Change) Mode() (before, after fs.FileMode) { return c.before.Mode.Perm(), c.after.Mode.Perm() }

// Target is where a link leads.
func (c Change) Target() string { return c.after.Target.string }

// OnlyMode reports whether its permissions alone changed.
func (c Change) OnlyMode() bool {
	return c.Kind == sandbox.Updated && (c.upper == "" || c.Type == "folder")
}

// Changes lists what would change if the draft were kept: deletions first, then the others, each in the order of
// paths. Nothing is left out: an error means that it could not be listed whole.
func (d *Draft) Changes() ([]Change, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := lister{draft: d}
	for i, root := range d.data.Roots {
		if root.Keeps {
			upper := filepath.Join(d.dir, strconv.Itoa(i), "upper")
			is, err := look(upper)
			was, failed := l.before(root.Path)
			if l.fail(err) || l.fail(failed) || d.opened(upper, is).Mode != was.Mode {
				d.unkept = root.Path
			}
			l.folder(root.Path, upper, false)
		}
	}
	l.large()
	if len(d.data.Closed) > 0 && l.err == nil {
		l.err = d.save()
	}
	if l.err != nil {
		return nil, fmt.Errorf("draft: %w", l.err)
	}
	sort.SliceStable(l.out, func(i, j int) bool {
		a, b := l.out[i], l.out[j]
		if gone := a.Kind == sandbox.Deleted; gone != (b.Kind == sandbox.Deleted) {
			return gone
		}
		return a.Path < b.Path
	})
	return l.out, nil
}

// lister walks the upper layers.
type lister struct {
	draft *Draft
	out   []Change
	count int
	err   error
}

func (l *lister) fail(err error) bool {
	if l.err == nil {
		l.err = err
	}
	return l.err != nil
}

var errMany = errors.New("it has more entries than can be listed")

// opened returns is, the state of an entry of an upper layer, and lets codeagent read what the command closed to its
// owner. The permissions are then in the record, and come back with the next command.
func (d *Draft) opened(upper string, is entry) entry {
	need := fs.FileMode(0o400)
	if is.folder() {
		need = 0o500
	}
	name := fileName{upper}
	mode, known := d.data.Closed[name]
	if known = known && mode.Type() == is.Mode.Type() && mode.Perm()|need == is.Mode.Perm(); !known {
		delete(d.data.Closed, name) // a command has changed it since
	}
	if known {
		is.Mode = mode
	} else if d.names < maxNames && is.Mode.Perm()&need != need && (is.folder() || is.Mode.IsRegular()) {
		if hostfile.Chmod(upper, is.Mode.Perm()|need) == nil { // else reading says what is wrong
			d.data.Closed[name] = is.Mode
			d.names += len(upper)
			if now, err := look(upper); err == nil {
				is.Ctime = now.Ctime
			}
		}
	}
	return is
}

// folder lists what changed in the folder at path, whose upper layer is the folder upper. hidden: the folder around it
// hides what was at path.
func (l *lister) folder(path, upper string, hidden bool) {
	f, err := hostfile.OpenFolder(upper)
	if l.fail(err) {
		return
	}
	names, err := f.Readdirnames(maxEntries + 1)
	hidden = hidden || opaque(f)
	f.Close()
	if err != io.EOF && l.fail(err) {
		return
	}
	if l.count += len(names); l.count > maxEntries {
		l.fail(errMany)
		return
	}
	if hidden {
		l.hidden(path, names)
	}
	for _, name := range names {
		l.entry(filepath.Join(path, name), filepath.Join(upper, name), hidden)
	}
}

// large lists the files that were too large to be changed.
func (l *lister) large() {
	listed := map[string]bool{}
	for _, c := range l.out {
		listed[c.Path] = true
	}
	for large := range l.draft.data.Large {
		path := large.string
		if is, err := l.before(path); !listed[path] && err == nil {
			l.out = append(l.out, Change{Path: path, Kind: sandbox.Updated, Type: "file", before: is, after: is,
				Why: fmt.Sprintf("it is larger than %d MB: the command could not change it", MaxFile>>20)})
		}
	}
}

// hidden lists as deleted what an upper folder hides: all entries of the folder below that have no name in it.
func (l *lister) hidden(path string, names []string) {
	below, err := hostfile.ReadDir(path, maxEntries)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return
	}
	if l.fail(err) {
		return
	}
	for _, e := range below {
		if !slices.Contains(names, e.Name()) {
			l.gone(filepath.Join(path, e.Name()))
		}
	}
}

// gone lists path and all below it as deleted.
func (l *lister) gone(path string) {
	if l.count++; l.count > maxEntries {
		l.fail(errMany)
	}
	is, err := l.before(path)
	if l.err != nil || l.fail(err) || !is.exists() {
		return
	}
	if is.folder() {
		below, err := hostfile.ReadDir(path, maxEntries)
		if l.fail(err) {
			return
		}
		for _, e := range below {
			l.gone(filepath.Join(path, e.Name()))
		}
	}
	c := Change{Path: path, Kind: sandbox.Deleted, Type: kindOf(is.Mode), before: is}
	if l.theirs(path, is) {
		c.Why = changedMeanwhile // the command deleted the folder, and perhaps never saw this
	}
	l.out = append(l.out, c)
}

// theirs reports whether what is at path may have come after the command's change of it, whose moment is not known.
func (l *lister) theirs(path string, now entry) bool {
	_, known := l.draft.data.Touched[fileName{path}]
	return !known && now.Ctime > l.draft.data.Began.Add(-tick).UnixNano()
}

// before is the state of path when the command first changed it, else now.
func (l *lister) before(path string) (entry, error) {
	if is, ok := l.draft.data.Touched[fileName{path}]; ok {
		return is, nil
	}
	return look(path)
}

// entry lists what changed at path.
func (l *lister) entry(path, upper string, hidden bool) {
	is, err := look(upper)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		l.out = append(l.out, Change{Path: path, Kind: sandbox.Added, Type: "special", Why: "its path is too long"})
		return
	}
	if l.fail(err) || !is.exists() { // a job has removed it meanwhile
		return
	}
	is = l.draft.opened(upper, is)
	was, err := l.before(path)
	if l.fail(err) {
		return
	}
	if is.Mode&fs.ModeCharDevice != 0 { // the kernel's mark of a deleted entry; a command can make no device
		l.gone(path)
		return
	}
	c := Change{Path: path, Kind: sandbox.Added, Type: kindOf(is.Mode), before: was, after: is, upper: upper}
	switch {
	case !was.exists():
	case was.Mode.Type() != is.Mode.Type():
		l.gone(path)
		c.before = entry{}
	default:
		c.Kind = sandbox.Updated
	}
	if c.Kind == sandbox.Added || l.differs(&c) {
		if c.Why = why(c); was.exists() && !is.folder() && l.theirs(path, was) {
			c.Why = changedMeanwhile
		}
		l.out = append(l.out, c)
	} else if is.Mode != was.Mode || is.Mode.IsRegular() && is.Mtime != was.Mtime {
		l.draft.unkept = path
	}
	if is.folder() {
		l.folder(path, upper, hidden)
	}
}

// differs reports whether the states of c differ in what is kept: content, link target, permissions.
func (l *lister) differs(c *Change) bool {
	modes := c.before.Mode.Perm() != c.after.Mode.Perm()
	switch {
	case c.after.folder():
		return modes
	case c.after.Mode&fs.ModeSymlink != 0:
		return c.before.Target != c.after.Target
	case !c.after.Mode.IsRegular():
		return true
	}
	if c.before.Size != c.after.Size || c.after.Size > MaxFile {
		return true
	}
	old, err := hostfile.Read(context.Background(), c.Path, MaxFile)
	if err != nil {
		return true // somebody has removed it meanwhile, which Keep finds
	}
	data, err := c.content()
	if l.fail(err) {
		return false
	}
	if !bytes.Equal(old, data) {
		return true
	}
	c.upper = ""
	return modes
}

// why says why c cannot be kept.
func why(c Change) string {
	switch {
	case c.Type == "special":
		return "it is a pipe, a socket or a device"
	case c.Type == "file" && c.after.Size > MaxFile:
		return fmt.Sprintf("it is larger than %d MB", MaxFile>>20)
	case c.Type == "file" && c.Kind == sandbox.Updated && c.before.Links > 1:
		return "it has several names (hard links), and a draft has changed one of them"
	}
	return ""
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeSymlink != 0:
		return "link"
	}
	return "special"
}
