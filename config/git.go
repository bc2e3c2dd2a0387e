package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"codeagent/hostfile"
	"codeagent/internal/git"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
)

// maxGitDirs bounds how many entries of .git/worktrees and of .git/modules are examined.
// If there are more, the whole folder is protected.
const maxGitDirs = 2000

// gitPaths returns what must not change in the git directories of root, a canonical path. A .git that is
// not a folder is protected itself, since it determines where git looks. A command can have left one that
// cannot be followed; it must not prevent the next session from starting, and GitTrees closes its folder.
func gitPaths(r sandbox.FileSystem, root string) (out []string, err error) {
	entry := path.Join(root, git.Entry)
	mode, err := r.Lstat(entry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !mode.IsDir() {
		out = []string{entry}
	}
	dirs, _ := gitDirs(r, root, entry)
	for _, dir := range dirs {
		out = append(out, gitDir(dir)...)
	}
	return out, nil
}

// protectGit protects paths of git directories, each for the reason that the table has for its name.
func protectGit(p *sandbox.Policy, paths []string) {
	reasons := map[string][]string{}
	for _, name := range paths {
		row, _ := protect.GitEntry(path.Base(name))
		reason := cmp.Or(row.Reason, "git takes hooks and settings from where it leads")
		reasons[reason] = append(reasons[reason], name)
	}
	for reason, paths := range reasons {
		p.Protect(reason, paths...)
	}
}

// gitDir lists the protected paths of one git directory, of its worktrees and of its submodules.
func gitDir(dir string) []string {
	out := protect.Git(dir)
	trees := path.Join(dir, git.Worktrees)
	entries, err := hostfile.ReadDir(trees, maxGitDirs+1)
	if len(entries) > maxGitDirs || err != nil && !errors.Is(err, fs.ErrNotExist) {
		out, entries = append(out, trees), nil
	}
	for _, e := range entries {
		out = append(out, protect.Git(path.Join(trees, e.Name()))...)
	}
	top := path.Join(dir, git.Modules)
	dirs, complete := modules(top)
	if !complete {
		return append(out, top)
	}
	for _, dir := range dirs {
		out = append(out, protect.Git(dir)...)
	}
	return out
}

// modules finds the repositories of submodules. Their names may contain slashes, so a
// repository is recognised by its HEAD or its settings, and below it only its own modules are examined.
func modules(top string) (dirs []string, complete bool) {
	left, complete := maxGitDirs, true
	var look func(dir string)
	look = func(dir string) {
		entries, err := hostfile.ReadDir(dir, maxGitDirs+1)
		if left -= len(entries); left < 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			complete = false
			return
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			sub := path.Join(dir, e.Name())
			// A damaged repository still has its settings.
			_, head := hostfile.Lstat(path.Join(sub, git.Head))
			_, config := hostfile.Lstat(path.Join(sub, git.Config))
			switch {
			case head == nil || config == nil:
				dirs = append(dirs, sub)
				look(path.Join(sub, git.Modules))
			case !errors.Is(head, fs.ErrNotExist):
				complete = false
			default:
				look(sub)
			}
		}
	}
	look(top)
	return dirs, complete
}

// GitTree is a repository in a write root, or around one.
type GitTree struct {
	git.Tree
	// Closed is the folder in which nothing may change if the settings cannot be read: they
	// could name anything in it. Err is why it is already known that they cannot be read.
	Closed string
	Err    error
}

// Bounds of the search for repositories. What lies beyond them was not looked at and is closed,
// in at most mostClosed folders: a command can make as many folders as it likes.
const (
	mostTreeFolders = 200_000
	mostClosed      = 50
)

// errManyFolders is why a folder is closed that was not looked at.
var errManyFolders = errors.New("there are too many folders to look for repositories in all of them")

// GitTrees finds the repositories whose settings commands could exploit: around and in the
// roots, which are canonical, the shallowest first, with those of submodules. A command may
// have damaged any of them, so that git does not recognise it now: what is called .git counts.
// The same walk finds what names, which are protected in the roots, lead to through links: links says
// of each path why it is protected.
func GitTrees(ctx context.Context, r sandbox.FileSystem, roots, names []string) (out []GitTree, links map[string]string) {
	follow := linkFinder{files: r, roots: roots, names: names, out: map[string]string{}}
	known := map[string]bool{}
	add := func(top, entry string) {
		if !known[entry] {
			known[entry] = true
			trees := gitTrees(r, top, entry)
			for _, tree := range trees {
				for _, dir := range tree.Dirs {
					follow.git(dir)
				}
			}
			out = append(out, trees...)
		}
	}
	for _, root := range roots {
		git.Top(root, func(entry string) error {
			add(path.Dir(entry), entry)
			return fs.ErrNotExist // further up, too
		})
	}
	level := slices.Clone(roots)
	for read := 0; len(level) > 0; read += len(level) {
		if read+len(level) > mostTreeFolders || ctx.Err() != nil {
			for _, dir := range fewer(level, mostClosed) {
				out = append(out, GitTree{Closed: dir, Err: errManyFolders})
			}
			break
		}
		var next []string
		for i, list := range listed(level) {
			if list.err != nil && !absent(list.err) && !foreign(level[i]) {
				out = append(out, GitTree{Closed: level[i], Err: list.err})
			}
			for _, entry := range list.entries {
				add(level[i], entry)
			}
			for _, link := range list.links {
				follow.entry(link)
			}
			next = append(next, list.folders...)
		}
		level = next
	}
	return out, follow.out
}

// listing is what a folder contains: the entries called .git, the other folders, and the links.
type listing struct {
	entries, folders, links []string
	err                     error
}

// listed lists dirs.
func listed(dirs []string) []listing {
	out := make([]listing, len(dirs))
	var all sync.WaitGroup
	for part := range atOnce {
		all.Go(func() {
			for i := part; i < len(dirs); i += atOnce {
				out[i] = list(dirs[i])
			}
		})
	}
	all.Wait()
	return out
}

// atOnce is how many folders are listed at the same time.
const atOnce = 4

func list(dir string) (out listing) {
	entries, err := hostfile.ReadDir(dir, -1)
	out.err = err
	for _, e := range entries {
		switch {
		case git.IsEntry(e.Name()):
			out.entries = append(out.entries, path.Join(dir, e.Name()))
		case e.IsDir():
			out.folders = append(out.folders, path.Join(dir, e.Name()))
		case e.Type()&fs.ModeSymlink != 0:
			out.links = append(out.links, path.Join(dir, e.Name()))
		}
	}
	return out
}

// foreign reports a folder that codeagent's user can neither enter nor open to himself, such
// as the data of a container: no command of the user reaches what it contains.
func foreign(dir string) bool {
	info, err := hostfile.Lstat(dir)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && shutFor(os.Geteuid(), int(st.Uid), info.Mode())
}

// shutFor reports that a folder of owner with this mode is closed to user for good. Bits for
// the group or others may let him in.
func shutFor(user, owner int, mode fs.FileMode) bool {
	return user != 0 && user != owner && mode.IsDir() && mode.Perm()&0o011 == 0
}

// absent reports that nothing is at a path.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// fewer returns at most most folders that contain all of dirs.
func fewer(dirs []string, most int) []string {
	dirs = slices.Clone(dirs)
	for len(dirs) > most {
		deepest := 0
		for _, dir := range dirs {
			deepest = max(deepest, strings.Count(dir, "/"))
		}
		for i, dir := range dirs {
			if strings.Count(dir, "/") == deepest {
				dirs[i] = path.Dir(dir)
			}
		}
		slices.Sort(dirs)
		dirs = slices.Compact(dirs)
	}
	return dirs
}

// gitTrees returns the repository that entry, the .git in top, leads to, and those of its
// submodules; none if git could not follow entry either.
func gitTrees(r sandbox.FileSystem, top, entry string) []GitTree {
	dirs, err := gitDirs(r, top, entry)
	if err != nil {
		return []GitTree{{Closed: top, Err: err}}
	}
	if len(dirs) == 0 {
		return nil
	}
	out := []GitTree{{Tree: git.Tree{Top: top, Dirs: dirs}, Closed: top}}
	for _, dir := range dirs {
		names := path.Join(dir, git.Modules)
		subs, complete := modules(names)
		if !complete {
			out = append(out, GitTree{Closed: top, Err: fmt.Errorf("%s cannot be listed as a whole", names)})
			continue
		}
		for _, sub := range subs {
			out = append(out, GitTree{Tree: git.Tree{Dirs: []string{sub}}, Closed: top})
		}
	}
	return out
}

// gitDirs lists the git directories that entry in top leads to, as git follows it: none if git could not.
// Beside an error they are those that were found before it.
func gitDirs(r sandbox.FileSystem, top, entry string) ([]string, error) {
	dir, err := sandbox.Canonical(r, top, entry)
	var mode fs.FileMode
	if err == nil {
		mode, err = r.Lstat(dir)
	}
	switch {
	case err != nil && absent(err): // or top is a single file that commands may write
		return nil, nil
	case err != nil:
		return nil, err
	case mode.IsRegular():
		text, err := readSome(context.Background(), dir)
		if err != nil {
			return nil, err
		}
		target, ok := git.Target(string(text))
		if !ok {
			return nil, nil
		}
		if dir, err = sandbox.Canonical(r, top, target); err != nil {
			return nil, err
		}
	case !mode.IsDir():
		return nil, nil
	}
	dirs := []string{dir}
	common, err := readSome(context.Background(), path.Join(dir, git.Commondir))
	if err != nil && absent(err) {
		return dirs, nil
	}
	if err == nil {
		dir, err = sandbox.Canonical(r, dir, git.Line(string(common)))
	}
	if err != nil {
		return dirs, err
	}
	return append(dirs, dir), nil
}
