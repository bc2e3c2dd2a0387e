package draft

import (
	"errors"
	"io/fs"
	"path/filepath"
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

// see returns the state of what the name path leads to, with the text of a link at its end.
func see(path string) (is entry, err error) {
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
	is.Target = fileName{target}
	return is, nil
}

// Looked notes path, which a command is about to look up, as sandbox.Command.Looked.
func (d *Draft) Looked(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &d.data
	if !strings.HasPrefix(path, "/") && r.Unknown == "" {
		r.Unknown = "it looked up what could not be seen"
	}
	if !strings.Contains(path, "/..") {
		path = filepath.Clean(path)
	}
	name := fileName{path}
	_, known := r.Looked[name]
	_, changed := r.Touched[name] // by the command itself: Keep compares it
	if known || changed || r.Unknown != "" {
		return
	}
	is, err := see(path)
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

// Stale says why the command could do something else now than it did: something that it looked up has changed, or is
// not known. "" means neither. Only a draft whose command had Looked knows.
func (d *Draft) Stale() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.data.Unknown != "" || d.data.Looked == nil {
		return "what it depended on is not known: " + d.data.Unknown
	}
	for name, was := range d.data.Looked {
		if now, err := see(name.string); err != nil || now != was {
			return name.string + " has changed since"
		}
	}
	return ""
}
