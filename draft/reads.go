package draft

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

// The read set: each name that a command looked up, and what was there before it did. While all of that is the same,
// and the command met no refusal, it would do again what it did. What the kernel makes up (/proc, /sys, /dev), the clock and
// chance are not in it: the result is one that the command could have had.

// maxLooked bounds the names of a read set. A longer one is not known.
const maxLooked = 20_000

// see returns the state of what the name path leads to, with the text of a link at its end. Of a folder that nobody opens
// the entries do not count, nor its times, which change with them.
func see(path string, opened bool) (is entry, err error) {
	target, _ := hostfile.OS{}.Readlink(path) // mostly it is no link
	if to := filepath.Join(filepath.Dir(path), target); target != "" && sandbox.CoveredBy([]string{"/proc", "/sys", "/dev"}, to) {
		return entry{Target: fileName{target}}, nil
	}
	switch info, err := hostfile.Seen(path); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		if in, err := hostfile.Seen(filepath.Dir(path)); err == nil { // where a link in the path leads
			at := entryOf(in)
			is.Dev, is.Size = at.Dev, int64(at.Ino)
		}
	case errors.Is(err, fs.ErrPermission):
		is.Size = -1
	case err != nil:
		return is, err
	default:
		is = entryOf(info)
	}
	if is.Target = (fileName{target}); is.folder() && !opened {
		is = entry{Dev: is.Dev, Ino: is.Ino, Mode: is.Mode, Target: is.Target}
	}
	return is, nil
}

// Look returns a text that is another one after each change of what the name path leads to, and when that last changed.
// opened is as in see.
func Look(path string, opened bool) (state string, changed time.Time, err error) {
	is, err := see(path, opened)
	return fmt.Sprint(is), time.Unix(0, is.Ctime), err
}

// Looked notes path, which a command is about to look up, as sandbox.Command.Looked.
func (d *Draft) Looked(path string, opened bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &d.data
	if !strings.HasPrefix(path, "/") && r.Unknown == "" {
		r.Unknown = path
	}
	if !strings.Contains(path, "/..") {
		path = filepath.Clean(path)
	}
	name := fileName{path}
	was, known := r.Looked[name]
	known = known && (!opened || !was.folder() || was.Ctime != 0)
	_, changed := r.Touched[name] // by the command itself: Keep compares it
	if known || changed || r.Unknown != "" {
		return
	}
	is, err := see(path, opened)
	switch {
	case err != nil:
		r.Unknown = err.Error()
	case len(r.Looked) >= maxLooked, d.names > maxNames:
		r.Unknown = "it looked up more names than codeagent compares"
	case is.Ctime > time.Now().Add(-tick).UnixNano():
		r.Unknown = path + " changed while the command looked it up" // the next change may leave the same time
	}
	if r.Looked == nil {
		r.Looked = map[fileName]entry{}
	}
	r.Looked[name] = is
	d.names += len(path)
}

// Stale says why to keep list, all that changed on the draft, may be something else than to run the command now. ""
// means that it is the same. Only a draft whose command had Looked knows.
func (d *Draft) Stale(list []Change) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.data.Unknown != "" || d.data.Looked == nil {
		return cmp.Or(d.data.Unknown, "what it looked up is not known")
	}
	for name, was := range d.data.Looked {
		if now, err := see(name.string, was.Ctime != 0); err != nil || now != was {
			return name.string + " has changed since"
		}
	}
	for i, why := range blocked(list) {
		return list[i].Path + ": " + why
	}
	switch {
	case d.unkept != "":
		return d.unkept + " got another time or mode, and no draft keeps those"
	case d.leaves():
		return "it left temporary files or caches, which go with the draft"
	}
	return ""
}

// leaves reports whether something is in folders of which nothing is kept, but places where the keeper mounts roots.
func (d *Draft) leaves() bool {
	mounted := func(path string) bool {
		return slices.ContainsFunc(d.data.Roots, func(r root) bool { return sandbox.Covers(path, r.Path) })
	}
	for i, r := range d.data.Roots {
		if r.Keeps {
			continue
		}
		left, err := hostfile.ReadDir(filepath.Join(d.dir, strconv.Itoa(i), "upper"), maxEntries)
		left = slices.DeleteFunc(left, func(e fs.DirEntry) bool {
			return mounted(filepath.Join(r.Path, e.Name())) || slices.ContainsFunc(sandbox.SharedTempFolders, func(dir string) bool { return mounted(dir + "/" + e.Name()) })
		})
		if err != nil || len(left) > 0 {
			return true
		}
	}
	return false
}
