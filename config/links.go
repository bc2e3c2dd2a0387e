package config

import (
	"io/fs"
	"path"
	"slices"

	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
)

// Threat: .mcp.json -> conf/mcp.json. The name is protected, but a program that reads it gets the
// file that it leads to. So that file is protected too, and each link on the way. Commands cannot
// make links under protected names, so those that exist as the session starts are all there are.

// mostLinked bounds the entries that are read of folders to which links lead. A folder with more is
// protected as a whole, but links out of it are not followed.
const mostLinked = 5000

// linkFinder collects the paths to which protected names lead through links.
type linkFinder struct {
	files        sandbox.FileSystem
	roots, names []string
	// out says why each path is protected.
	out  map[string]string
	read int
}

// entry adds what the link at name leads to, if its name is protected.
func (f *linkFinder) entry(name string) {
	i := slices.IndexFunc(f.roots, func(root string) bool { return sandbox.Covers(root, name) })
	if i < 0 {
		return
	}
	row, _, ok := protect.Find(f.names, f.roots[i], name, name)
	switch {
	case ok:
		f.follow(name, row.Reason)
	case protect.Leads(f.names, name):
		f.follow(name, "programs run or trust what protected names in it say")
	}
}

// git adds what the protected entries of the git directory dir lead to.
func (f *linkFinder) git(dir string) {
	for _, name := range protect.Git(dir) {
		row, _ := protect.GitEntry(path.Base(name))
		f.follow(name, row.Reason)
	}
}

// follow adds what name leads to: each link on the way, the target, and the same for the links in a
// folder. A target that holds a root stays open: closing it would close the root.
func (f *linkFinder) follow(name, reason string) {
	way, _ := sandbox.Way(f.files, "/", name)
	for _, p := range way {
		around := slices.ContainsFunc(f.roots, func(root string) bool { return sandbox.Covers(p, root) })
		if _, known := f.out[p]; known || around {
			continue
		}
		if p != name && sandbox.CoveredBy(f.roots, p) {
			f.out[p] = reason
		}
		f.inside(p, reason)
	}
}

// inside follows the links in the folder dir.
func (f *linkFinder) inside(dir, reason string) {
	if mode, err := f.files.Lstat(dir); err != nil || !mode.IsDir() {
		return
	}
	entries, _ := hostfile.ReadDir(dir, mostLinked)
	for _, e := range entries {
		if f.read++; f.read > mostLinked {
			return
		}
		switch name := path.Join(dir, e.Name()); {
		case e.Type()&fs.ModeSymlink != 0:
			f.follow(name, reason)
		case e.IsDir():
			f.inside(name, reason)
		}
	}
}
