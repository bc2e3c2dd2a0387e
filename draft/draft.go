// Package draft keeps what a command changed apart from the files themselves, until a person keeps it or drops
// it. The changes are in upper layers of overlayfs, which the backend mounts over the write roots; this package makes their
// folders, lists what is in them, and has it applied through a file worker. It runs nothing. Start with New, then
// Changes (changes.go) and Keep (keep.go).
//
//	drafts/ID/draft.json   what ran, and each file's version at its first change
//	drafts/ID/0/upper      the changes below the first root, in the kernel's own form
//
// Threat: what is in a draft was written by a command that nobody trusts. Commands cannot reach the folder
// (config.Paths.Hidden), no link in it is followed, and what is kept is written under the session's policy.
package draft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"codeagent/hostfile"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

const (
	recordName = "draft.json"
	// maxRecord bounds draft.json, in bytes.
	maxRecord = 256 << 20
	// maxNames bounds the paths in a record, in bytes. Each takes at most six there.
	maxNames = 8 << 20
)

// Draft is the changes of commands below some roots. It is an exec.Draft, for one command at a time.
type Draft struct {
	dir string
	// kept are the roots whose changes can be kept. Those of caches and temporary folders are dropped.
	kept []string
	// unkept has another time or mode, which no Change says.
	unkept string

	mu   sync.Mutex
	data record
	// names is the length of the paths in data, as far as this process added them.
	names int
}

// record is draft.json.
type record struct {
	// Command is what ran last, Began when.
	Command []string
	Folder  string
	Began   time.Time
	// Roots are the write roots; the changes below the first are in the folder 0.
	Roots []root
	// Touched are the entries as they were before the command changed them for the first time.
	Touched map[fileName]entry
	// Large are the files that the command could not change, because of their size.
	Large map[fileName]bool `json:",omitempty"`
	// Looked is the read set, see reads.go.
	Looked map[fileName]entry `json:",omitempty"`
	// Unknown says why the read set is not complete; "" if it is.
	Unknown string `json:",omitempty"`
	// Closed are the true modes of entries of upper layers that codeagent opened to read them.
	Closed map[fileName]fs.FileMode
}

// fileName is a path or the target of a link. In JSON it is quoted once more, since it may be no valid UTF-8.
type fileName struct{ string }

// MarshalText implements encoding.TextMarshaler.
func (n fileName) MarshalText() ([]byte, error) { return strconv.AppendQuote(nil, n.string), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *fileName) UnmarshalText(text []byte) error {
	name, err := strconv.Unquote(string(text))
	n.string = name
	return err
}

// root is a write root, and whether changes in it can be kept.
type root struct {
	Path  string
	Keeps bool
}

// entry is the state of a path at one moment.
type entry struct {
	// Ino is 0 for a path that does not exist.
	Dev, Ino uint64      `json:",omitempty"`
	Mode     fs.FileMode `json:",omitempty"`
	// Size is in bytes, Mtime and Ctime are in nanoseconds.
	Size, Mtime, Ctime int64    `json:",omitempty"`
	Links              uint64   `json:",omitempty"`
	Target             fileName `json:",omitzero"`
}

// look returns the state of the entry itself at path.
func look(path string) (entry, error) {
	info, err := hostfile.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, err
	}
	e := entryOf(info)
	if e.Mode&fs.ModeSymlink != 0 {
		target, failed := hostfile.OS{}.Readlink(path)
		e.Target, err = fileName{target}, failed
	}
	return e, err
}

func entryOf(info fs.FileInfo) entry {
	e := entry{Mode: info.Mode(), Size: info.Size()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.Dev, e.Ino, e.Links = uint64(st.Dev), st.Ino, uint64(st.Nlink)
		e.Mtime, e.Ctime = info.ModTime().UnixNano(), changed(st)
	}
	return e
}

func (e entry) exists() bool { return e.Ino != 0 }

func (e entry) folder() bool { return e.Mode.IsDir() }

// same reports whether nothing changed between two looks. The times and size of a folder change with its entries.
func (e entry) same(now entry) bool {
	if e.folder() && now.folder() {
		return e.Dev == now.Dev && e.Ino == now.Ino && e.Mode == now.Mode
	}
	return e == now
}

// New makes an empty draft in a new folder in dir, for a command in folder. policy is the session's.
func New(dir, folder string, command []string, policy sandbox.Policy) (*Draft, error) {
	at, err := hostfile.MkdirTemp(dir, time.Now().UTC().Format("20060102-150405-"))
	if err != nil {
		return nil, fmt.Errorf("draft: %w", err)
	}
	d := &Draft{dir: at, data: record{Command: command, Folder: folder, Began: time.Now(), Touched: map[fileName]entry{}, Closed: map[fileName]fs.FileMode{}}}
	d.keepOf(policy)
	return d, nil
}

// keepOf has changes kept below the write roots of policy that a person works in.
func (d *Draft) keepOf(policy sandbox.Policy) {
	for _, root := range policy.Roots() {
		switch root.Origin {
		case sandbox.FromWorkspace, sandbox.FromSettings, sandbox.FromGrant, sandbox.FromGit, sandbox.FromObjects:
			d.kept = append(d.kept, root.Path)
		}
	}
}

// OfSession stands for the command of a draft that a session works on.
const OfSession = "this session"

// ErrNone: there is no such draft.
var ErrNone = errors.New("no such draft")

// Open returns the draft id, which Save wrote in dir.
func Open(dir, id string) (*Draft, error) {
	if id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return nil, ErrNone
	}
	d := &Draft{dir: filepath.Join(dir, id)}
	data, err := hostfile.Read(context.Background(), filepath.Join(d.dir, recordName), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err == nil {
		d.data.Closed = map[fileName]fs.FileMode{}
		err = json.Unmarshal(data, &d.data)
	}
	if err != nil {
		return nil, fmt.Errorf("draft %s: %w", id, err)
	}
	return d, nil
}

// Resume is Open for a session that goes on in folder under policy.
func Resume(dir, id, folder string, policy sandbox.Policy) (*Draft, error) {
	d, err := Open(dir, id)
	if err == nil && d.data.Folder != folder {
		err = ErrNone
	}
	if err == nil {
		d.keepOf(policy)
	}
	return d, err
}

// maxAge is how long a draft is left that nobody decided about.
const maxAge = 7 * 24 * time.Hour

// Sweep removes old drafts in dir.
func Sweep(dir string) {
	entries, _ := hostfile.ReadDir(dir, maxEntries)
	for _, e := range entries {
		old := filepath.Join(dir, e.Name())
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) <= maxAge {
			continue
		}
		if unlock, err := hostfile.LockNow(old); err == nil { // else a session works on it
			_ = hostfile.RemoveAll(old) // the next sweep tries again
			unlock()
		}
	}
}

// ID names the draft.
func (d *Draft) ID() string { return filepath.Base(d.dir) }

// Command is what ran on it.
func (d *Draft) Command() []string { return d.data.Command }

// Layer implements sandbox.Draft. The upper folder has the permissions and the owner of root, since it is
// what a command sees in its place. An empty root of which nothing is kept needs no overlay, and saves the time of one.
func (d *Draft) Layer(path string) (upper, work string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for upper, mode := range d.data.Closed {
		_ = hostfile.Chmod(upper.string, mode.Perm()) // it may be gone
		delete(d.data.Closed, upper)
	}
	i := d.layer(path)
	in := filepath.Join(d.dir, strconv.Itoa(i))
	upper, work = filepath.Join(in, "upper"), filepath.Join(in, "work")
	if i == len(d.data.Roots) {
		d.data.Roots = append(d.data.Roots, root{path, slices.Contains(d.kept, path)})
		if err := makeUpper(path, upper); err != nil {
			return "", "", err
		}
	}
	before, err := look(work)
	if err != nil {
		return "", "", err
	}
	if !before.exists() && !d.data.Roots[i].Keeps && isEmpty(path) {
		return upper, "", nil
	}
	if err := hostfile.RemoveAll(work); err != nil { // of the command before
		return "", "", err
	}
	return upper, work, hostfile.Mkdir(work, 0o700)
}

func isEmpty(folder string) bool {
	entries, err := hostfile.ReadDir(folder, 1)
	return err == nil && len(entries) == 0
}

// layer is the number of root, or the next one.
func (d *Draft) layer(path string) int {
	if i := slices.IndexFunc(d.data.Roots, func(r root) bool { return r.Path == path }); i >= 0 {
		return i
	}
	return len(d.data.Roots)
}

func makeUpper(root, upper string) error {
	is, err := look(root)
	if err != nil {
		return err
	}
	if err := hostfile.MkdirAll(upper, 0o700); err != nil {
		return err
	}
	f, err := hostfile.OpenFolder(upper)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := hostfile.Lstat(root); err == nil && os.Geteuid() == 0 {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			if err := unix.Fchown(int(f.Fd()), int(st.Uid), int(st.Gid)); err != nil {
				return err
			}
		}
	}
	// Without attributes of users overlayfs cannot say that a folder hides the one below it.
	const mark = "user.codeagent.draft"
	err = unix.Fsetxattr(int(f.Fd()), mark, []byte("1"), 0)
	if err == nil {
		err = unix.Fremovexattr(int(f.Fd()), mark)
	}
	if err != nil {
		return fmt.Errorf("%s: its file system has no attributes of users, which a draft needs: %w", upper, err)
	}
	return f.Chmod(is.Mode.Perm() | is.Mode&fs.ModeSticky | is.Mode&fs.ModeSetgid)
}

// Touch implements exec.Draft: it notes the version of the file at path, which no command on a draft changes.
func (d *Draft) Touch(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	below := func(r root) bool { return sandbox.Covers(r.Path, path) }
	if _, known := d.data.Touched[fileName{path}]; known || len(d.data.Touched) >= maxEntries || d.names > maxNames || !slices.ContainsFunc(d.data.Roots, below) {
		return
	}
	if is, err := look(path); err == nil {
		d.data.Touched[fileName{path}] = is
		d.names += len(path)
	}
}

// TooLarge implements sandbox.Draft: a file that cannot be kept is not copied.
func (d *Draft) TooLarge(path string) bool {
	is, err := look(path)
	if err != nil || !is.Mode.IsRegular() || is.Size <= MaxFile {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, root := range d.data.Roots {
		below, err := filepath.Rel(root.Path, path)
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		if own, err := look(filepath.Join(d.dir, strconv.Itoa(i), "upper", below)); err != nil || own.exists() {
			return false // the command's own
		}
		if d.data.Large == nil {
			d.data.Large = map[fileName]bool{}
		}
		d.data.Large[fileName{path}] = true
		return true
	}
	return false
}

// Save writes down what is known of the draft, so that it can be opened again.
func (d *Draft) Save() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.save()
}

func (d *Draft) save() error {
	data, err := json.Marshal(d.data)
	if err != nil {
		return err
	}
	return hostfile.Write(filepath.Join(d.dir, recordName), data, 0o600)
}

// Lock makes the draft this process's, until unlock.
func (d *Draft) Lock() (unlock func(), err error) { return hostfile.Lock(d.dir) }

// Close ends the work on the draft, and removes it if nothing is in it.
func (d *Draft) Close() error {
	if !d.Holds() {
		return d.Drop()
	}
	return d.Save()
}

// Holds reports whether anything is, or may be, in the draft.
func (d *Draft) Holds() bool {
	list, err := d.Changes()
	dir, _ := look(d.dir)
	return dir.exists() && (len(list) > 0 || err != nil)
}

// Touched are the paths where something was about to change. all is false if a file was too large to be changed on a
// draft, or there are more.
func (d *Draft) Touched() (paths []string, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.data.Touched {
		paths = append(paths, name.string)
	}
	return paths, len(d.data.Large) == 0 && len(paths) < maxEntries
}

// Free is how many bytes are free where its changes are.
func (d *Draft) Free() uint64 {
	f, err := hostfile.OpenFolder(d.dir)
	if err != nil {
		return 0
	}
	defer f.Close()
	var st unix.Statfs_t
	_ = unix.Fstatfs(int(f.Fd()), &st) // 0
	return st.Bfree * uint64(st.Bsize)
}

// Drop removes the draft.
func (d *Draft) Drop() error { return hostfile.RemoveAll(d.dir) }
