package draft

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sort"

	"codeagent/exec/worker"
	"codeagent/sandbox"
)

// Files changes files inside the sandbox, under the policy of the session; *worker.Client implements it.
type Files interface {
	Put(path string, content []byte, mode fs.FileMode, now worker.Expect) (worker.Info, error)
	Symlink(path, target string, now worker.Expect) error
	Mkdir(path string, mode fs.FileMode, parents bool) error
	Chmod(path string, mode fs.FileMode, now worker.Expect) error
	Remove(path string, now worker.Expect) error
}

// Left is a change that was not kept, and why.
type Left struct {
	Change
	Why string
}

// changedMeanwhile is why a change is left alone that somebody else's is in the way of.
const changedMeanwhile = "somebody else changed it meanwhile"

// Keep makes the changes of the draft that are in list, in an order in which each can succeed. It leaves alone what
// has changed since the command first changed it on the draft. What was kept is no longer a change of the draft; all
// else stays in it.
func (d *Draft) Keep(ctx context.Context, files Files, list []Change) (kept []Change, left []Left, err error) {
	k := keeping{files: files, failed: blocked(list)}
	k.all(ctx, list)
	d.mu.Lock()
	for i, c := range list {
		if why := k.failed[i]; why != "" {
			left = append(left, Left{c, why})
			continue
		}
		kept = append(kept, c)
		if now, err := look(c.Path); err == nil {
			d.data.Touched[fileName{c.Path}] = now
		}
	}
	d.mu.Unlock()
	return kept, left, d.Save()
}

// blocked says, by the index in list, why changes cannot be kept now.
func blocked(list []Change) map[int]string {
	gone, out := map[string]bool{}, map[int]string{}
	for _, c := range list {
		gone[c.Path] = gone[c.Path] || c.Kind == sandbox.Deleted // something of another type may come there
	}
	for i, c := range list {
		now, err := look(c.Path)
		switch {
		case c.Why != "":
			out[i] = c.Why
		case err != nil:
			out[i] = err.Error()
		case c.Kind != sandbox.Added && !c.before.same(now), c.Kind == sandbox.Added && now.exists() && !gone[c.Path]:
			out[i] = changedMeanwhile
		}
	}
	return out
}

// keeping is the state of one Keep.
type keeping struct {
	files  Files
	failed map[int]string // by the index in the list
}

func (k *keeping) all(ctx context.Context, list []Change) {
	each := func(order []int, is func(Change) bool, do func(Change) error) {
		for _, i := range order {
			c := list[i]
			if k.failed[i] != "" || !is(c) {
				continue
			}
			err := ctx.Err()
			if err == nil {
				err = do(c)
			}
			if err != nil {
				k.failed[i] = err.Error()
			}
		}
	}
	var outer []int
	for i := range list {
		outer = append(outer, i)
	}
	sort.SliceStable(outer, func(i, j int) bool { return len(list[outer[i]].Path) < len(list[outer[j]].Path) })
	deep := slices.Clone(outer)
	slices.Reverse(deep)
	is := func(kind string, gone bool) func(Change) bool {
		return func(c Change) bool { return c.Type == kind && gone == (c.Kind == sandbox.Deleted) }
	}
	added := func(c Change) bool { return c.Type == "folder" && c.Kind == sandbox.Added }
	remove := func(c Change) error { return k.files.Remove(c.Path, expect(c.before)) }
	for _, kind := range []string{"file", "link", "special", "folder"} {
		each(deep, is(kind, true), remove)
	}
	each(outer, added, func(c Change) error { return k.files.Mkdir(c.Path, c.after.Mode.Perm()|0o700, false) })
	each(outer, is("file", false), k.put)
	each(outer, is("link", false), func(c Change) error {
		if c.before.exists() {
			if err := k.files.Remove(c.Path, expect(c.before)); err != nil {
				return err
			}
		}
		return k.files.Symlink(c.Path, c.Target(), worker.Expect{Parents: true})
	})
	each(deep, is("folder", false), func(c Change) error { return k.files.Chmod(c.Path, c.after.Mode.Perm(), worker.Expect{}) })
}

func (k *keeping) put(c Change) error {
	if c.upper == "" {
		return k.files.Chmod(c.Path, c.after.Mode.Perm(), expect(c.before))
	}
	data, err := c.content()
	if now, bad := look(c.upper); err == nil && c.part == nil && (bad != nil || now.Ino != c.after.Ino || now.Size != c.after.Size || now.Mtime != c.after.Mtime || now.Ctime != c.after.Ctime) {
		err = errors.New("it has changed on the draft since it was shown")
	}
	if err != nil {
		return err
	}
	_, err = k.files.Put(c.Path, data, c.after.Mode.Perm(), expect(c.before))
	return err
}

// expect returns what an entry must still be to be changed.
func expect(was entry) worker.Expect {
	switch {
	case !was.exists():
		return worker.Expect{Absent: true, Parents: true}
	case was.folder():
		return worker.Expect{} // its times change with its entries
	}
	return worker.Expect{Version: worker.Version(was.Dev, was.Ino, was.Size, was.Mtime)}
}
