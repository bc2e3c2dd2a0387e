package config

import (
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

// gitPaths returns what must not change in the git directory of root, a canonical path: what
// protect.Git lists for the directory, for each of its worktrees and for the repositories of
// its submodules. A .git that is not a folder is protected itself, since it determines where
// git looks; its target is protected too, if it exists.
func gitPaths(r sandbox.FileSystem, root string) ([]string, error) {
	entry := path.Join(root, ".git")
	mode, err := r.Lstat(entry)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case mode.IsDir():
		return gitDir(entry), nil
	}
	out := []string{entry}
	for _, dir := range pointedTo(r, root, entry, mode) {
		out = append(out, gitDir(dir)...)
	}
	return out, nil
}

// pointedTo lists the git directories that entry leads to: entry is a link, or a file of
// gitrepository-layout(5), "gitdir: <path>" relative to its folder. A FIFO in its place, or
// text that names no path, leads nowhere, for git and for codeagent: a command can have left
// it, and it must not prevent the next session from starting.
func pointedTo(r sandbox.FileSystem, root, entry string, mode fs.FileMode) []string {
	if mode&fs.ModeSymlink != 0 {
		if dir, err := sandbox.Canonical(r, root, entry); err == nil {
			return []string{dir}
		}
		return nil
	}
	data, err := readSome(context.Background(), entry)
	target, ok := git.Target(string(data))
	if err != nil || !ok {
		return nil
	}
	dir, err := sandbox.Canonical(r, root, target)
	if err != nil {
		return nil
	}
	out := []string{dir}
	// A worktree's directory names the repository that it belongs to.
	if common, err := readSome(context.Background(), path.Join(dir, "commondir")); err == nil {
		if dir, err = sandbox.Canonical(r, dir, strings.TrimSpace(string(common))); err == nil {
			out = append(out, dir)
		}
	}
	return out
}

// gitDir lists the protected paths of one git directory and of those inside it.
func gitDir(dir string) []string {
	out := protect.Git(dir)
	trees := path.Join(dir, "worktrees")
	entries, err := hostfile.ReadDir(trees, maxGitDirs+1)
	if len(entries) > maxGitDirs || err != nil && !errors.Is(err, fs.ErrNotExist) {
		out, entries = append(out, trees), nil
	}
	for _, e := range entries {
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			out = append(out, path.Join(trees, e.Name(), name))
		}
	}
	return append(out, modules(path.Join(dir, "modules"))...)
}

// modules finds the repositories of submodules. Their names may contain slashes, so a
// repository is recognised by its HEAD or its settings, and below it only its own modules are examined.
func modules(top string) []string {
	var out []string
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
			_, head := hostfile.Lstat(path.Join(sub, "HEAD"))
			_, config := hostfile.Lstat(path.Join(sub, "config"))
			switch {
			case head == nil || config == nil:
				out = append(out, protect.Git(sub)...)
				look(path.Join(sub, "modules"))
			case !errors.Is(head, fs.ErrNotExist):
				complete = false
			default:
				look(sub)
			}
		}
	}
	if look(top); !complete {
		return []string{top}
	}
	return out
}

// GitTree is a repository in a write root, or around one.
type GitTree struct {
	// Top is the folder with the .git entry. It is empty for the repository of a submodule,
	// whose settings name the work tree.
	Top string
	// Dirs are its git directories, in which its settings are: for a worktree also the one
	// that it shares.
	Dirs []string
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
		for dir := root; ; dir = path.Dir(dir) {
			add(dir, path.Join(dir, ".git"))
			if dir == "/" {
				break
			}
		}
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
			for _, entry := range list.git {
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
	git, folders, links []string
	err                 error
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
		case protect.IsGit(e.Name()):
			out.git = append(out.git, path.Join(dir, e.Name()))
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
	out := []GitTree{{Top: top, Dirs: dirs, Closed: top}}
	for _, dir := range dirs {
		names := path.Join(dir, "modules")
		for _, p := range modules(names) {
			module, ok := strings.CutSuffix(p, "/config")
			switch {
			case p == names:
				out = append(out, GitTree{Closed: top, Err: fmt.Errorf("%s cannot be listed as a whole", names)})
			case ok:
				out = append(out, GitTree{Dirs: []string{module}, Closed: top})
			}
		}
	}
	return out
}

// gitDirs lists the git directories that entry in top leads to, as git follows it.
func gitDirs(r sandbox.FileSystem, top, entry string) ([]string, error) {
	dir, err := sandbox.Canonical(r, top, entry)
	if err != nil && absent(err) { // top is a single file that commands may write
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mode, err := r.Lstat(dir)
	switch {
	case err != nil && absent(err):
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
	common, err := readSome(context.Background(), path.Join(dir, "commondir"))
	if err != nil && absent(err) {
		return []string{dir}, nil
	}
	if err != nil {
		return nil, err
	}
	shared, err := sandbox.Canonical(r, dir, strings.TrimRight(string(common), "\r\n"))
	return []string{dir, shared}, err
}
