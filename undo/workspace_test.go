package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codeagent/exec/worker"
)

// bench is a workspace, a store, and an agent that changes the workspace and reports to the
// store, as the broker would.
type bench struct {
	t     *testing.T
	ws    string
	store *Store
	ses   *History
	call  *Call
}

const sessionID = "0123456789abcdef"

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, ws: filepath.Join(dir, "ws"), store: New(filepath.Join(dir, "undo"))}
	for _, d := range []string{b.ws, b.store.dir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	ses, err := b.store.Open(sessionID)
	if err != nil {
		b.t.Fatal(err)
	}
	b.ses = ses
	b.t.Cleanup(func() { ses.Close() })
}

// turn runs one turn with one call.
func (b *bench) turn(do func()) {
	b.t.Helper()
	b.ses.Begin("do it")
	b.during(do)
	b.ses.End()
}

// during runs one call.
func (b *bench) during(do func()) {
	b.call = b.ses.Call()
	do()
	b.call.Settle()
}

func (b *bench) at(name string) string { return filepath.Join(b.ws, name) }

// tell reports an entry as the broker does: by its open folder.
func (b *bench) tell(name string) {
	b.t.Helper()
	dir, err := os.Open(filepath.Dir(b.at(name)))
	if err != nil {
		b.t.Fatal(err)
	}
	defer dir.Close()
	b.call.BeforeChange(int(dir.Fd()), filepath.Base(name), b.at(name))
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// What the agent does.
func (b *bench) write(name, content string) {
	b.t.Helper()
	b.tell(name)
	b.must(os.WriteFile(b.at(name), []byte(content), 0o644))
}
func (b *bench) remove(name string) { b.tell(name); b.must(os.Remove(b.at(name))) }
func (b *bench) mkdir(name string)  { b.tell(name); b.must(os.Mkdir(b.at(name), 0o755)) }
func (b *bench) link(target, name string) {
	b.tell(name)
	b.must(os.Symlink(target, b.at(name)))
}
func (b *bench) rename(from, to string) {
	b.tell(from)
	b.tell(to)
	b.must(os.Rename(b.at(from), b.at(to)))
}
func (b *bench) chmod(name string, mode fs.FileMode) {
	if info, err := os.Lstat(b.at(name)); err == nil && info.IsDir() {
		dir, err := os.Open(b.at(name))
		b.must(err)
		b.call.BeforeChange(int(dir.Fd()), ".", b.at(name))
		dir.Close()
	} else {
		b.tell(name)
	}
	b.must(os.Chmod(b.at(name), mode))
}

// user makes a change by the user, which is not reported.
func (b *bench) user(name, content string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.at(name)), 0o755))
	b.must(os.WriteFile(b.at(name), []byte(content), 0o644))
}

func all(Step) string { return "" }

func (b *bench) plan() *Plan {
	b.t.Helper()
	p, err := b.ses.Plan(all)
	b.must(err)
	return p
}

// undo undoes the last turn and fails if a step failed.
func (b *bench) undo() *Plan {
	b.t.Helper()
	p := b.plan()
	r, err := b.ses.Apply(context.Background(), p, hands{})
	b.must(err)
	for _, f := range r.Failed {
		b.t.Errorf("%s: %s", f.Path, f.Why)
	}
	return p
}

// hands are Files without a sandbox.
type hands struct{}

func (hands) Put(path string, content []byte, mode fs.FileMode, now worker.Expect) (worker.Info, error) {
	info, err := os.Lstat(path)
	if now.Absent != errors.Is(err, fs.ErrNotExist) {
		return worker.Info{}, errors.New("not what was expected")
	}
	if err == nil {
		st := info.Sys().(*syscall.Stat_t)
		if worker.Version(uint64(st.Dev), st.Ino, info.Size(), info.ModTime().UnixNano()) != now.Version {
			return worker.Info{}, errors.New("another file")
		}
	}
	os.MkdirAll(filepath.Dir(path), 0o777)
	os.Remove(path)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return worker.Info{}, err
	}
	return worker.Info{}, os.Chmod(path, mode)
}
func (hands) Symlink(path, target string, _ worker.Expect) error   { return os.Symlink(target, path) }
func (hands) Mkdir(path string, mode fs.FileMode, _ bool) error    { return os.MkdirAll(path, mode) }
func (hands) Chmod(p string, m fs.FileMode, _ worker.Expect) error { return os.Chmod(p, m) }
func (hands) Remove(path string, _ worker.Expect) error            { return os.Remove(path) }

// tree is all of a folder: type, permissions and content of each entry.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		is := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			is += " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			is = "link to " + to
		}
		out[strings.TrimPrefix(p, root+"/")] = is
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same reports how a folder differs from its earlier state.
func same(t *testing.T, was map[string]string, root string) {
	t.Helper()
	now := tree(t, root)
	for name, is := range was {
		if now[name] != is {
			t.Errorf("%q is %.80q, was %.80q", name, now[name], is)
		}
	}
	for name, is := range now {
		if _, ok := was[name]; !ok {
			t.Errorf("%q is new: %.80q", name, is)
		}
	}
}
