package approvals

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"codeagent/approvals/decide"
	"codeagent/approvals/rules"
	"codeagent/sandbox"
)

// places looks at the files that exist now, before decisions.
type places struct {
	files sandbox.FileSystem
	// seen knows the home folder and the workspace, and has seen nothing.
	seen decide.Places
}

func newPlaces(files sandbox.FileSystem, home, workspace string) places {
	at := places{files: files, seen: decide.Places{Home: home, Workspace: workspace, Written: home}}
	for _, p := range []*string{&at.seen.Home, &at.seen.Workspace} {
		if c, err := sandbox.Canonical(files, "/", *p); err == nil {
			*p = c
		}
	}
	return at
}

// look sees where names lead, what is there, and where the paths of the rules lead that cover it.
func (at places) look(set *rules.Set, names []string) decide.Places {
	out := at.seen
	out.Seen = map[string]decide.Place{}
	for _, name := range names {
		at.see(out, name)
		p := out.Seen[name].Path
		for _, r := range set.Rules() {
			for _, dir := range r.Paths {
				if p != "" && sandbox.Covers(dir, p) {
					at.see(out, dir)
				}
			}
		}
	}
	return out
}

func (at places) see(out decide.Places, name string) {
	if _, known := out.Seen[name]; known || !path.IsAbs(name) {
		return
	}
	p, err := sandbox.Canonical(at.files, "/", name)
	if err != nil {
		out.Seen[name] = decide.Place{Err: err}
		return
	}
	exists, folder := at.entry(p)
	out.Seen[name] = decide.Place{Path: p, Exists: exists, Folder: folder}
	out.Seen[p] = out.Seen[name]
}

// entry reports whether something is at p, and whether it is a folder. What cannot be looked at exists.
func (at places) entry(p string) (exists, folder bool) {
	m, err := at.files.Lstat(p)
	return !errors.Is(err, fs.ErrNotExist), err == nil && m.IsDir()
}

// names returns the absolute names of what a asks for, edits or reads. What has none is refused by the
// decision.
func (at places) names(a Action) (out []string) {
	for _, raw := range slices.Concat(a.Wish.Write, a.Wish.Read, a.Wish.Sockets, a.Paths) {
		if name, refusal := at.seen.Name(a.Folder, raw); refusal == nil {
			out = append(out, name)
		}
	}
	return out
}

// canonical returns the path that raw leads to now.
func (at places) canonical(folder, raw string) (string, *decide.Refusal) {
	name, refusal := at.seen.Name(folder, raw)
	if refusal != nil {
		return "", refusal
	}
	return at.look(nil, []string{name}).Canonical(folder, raw)
}

// rulesHere returns the rules of set that hold in the workspace.
func (at places) rulesHere(set *rules.Set) *rules.Set {
	return set.In(at.seen.Workspace, func(path string) string {
		if p, err := sandbox.Canonical(at.files, "/", path); err == nil {
			return p
		}
		return path
	})
}
