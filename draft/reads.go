package draft

import (
	"cmp"
	"errors"
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
	case len(r.Looked) >= maxLooked:
		r.Unknown = "it looked up more names than codeagent compares"
	case is.Ctime > time.Now().Add(-tick).UnixNano():
		r.Unknown = path + " changed while the command looked it up" // the next change may leave the same time
	}
	if r.Looked == nil {
		r.Looked = map[fileName]entry{}
	}
	r.Looked[name] = is
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
	case d.leftTemp():
		return "it left temporary files, which go with the draft"
	}
	return ""
}

// leftTemp reports whether something is in the temporary folder but places where the keeper mounts roots.
func (d *Draft) leftTemp() bool {
	i := d.layer(d.temp)
	if i == len(d.data.Roots) {
		return false
	}
	left, err := hostfile.ReadDir(filepath.Join(d.dir, strconv.Itoa(i), "upper"), maxEntries)
	left = slices.DeleteFunc(left, func(e fs.DirEntry) bool {
		return slices.ContainsFunc(d.data.Roots, func(r root) bool {
			return slices.ContainsFunc(sandbox.SharedTempFolders, func(dir string) bool { return sandbox.Covers(dir+"/"+e.Name(), r.Path) })
		})
	})
	return err != nil || len(left) > 0
}
