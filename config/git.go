package config

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

// maxGitDirs bounds how many entries of .git/worktrees and of .git/modules are examined.
// If there are more, the whole folder is protected.
const maxGitDirs = 2000

// gitPaths returns what must not change in the git directory of root, a canonical path: what
// GitProtected lists for the directory, for each of its worktrees and for the repositories of
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
	target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
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
	out := sandbox.GitProtected(dir)
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
// repository is recognised by its HEAD, and below it only its own modules are examined.
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
			if _, err := hostfile.Lstat(path.Join(sub, "HEAD")); err == nil {
				out = append(out, sandbox.GitProtected(sub)...)
				look(path.Join(sub, "modules"))
			} else {
				look(sub)
			}
		}
	}
	if look(top); !complete {
		return []string{top}
	}
	return out
}

// GitTree is a repository in a write root, or around one: the top of its work tree, or for a
// submodule its git directory.
type GitTree struct{ Top, Dir string }

// Bounds of the search for repositories, over all roots: it ends before a model has answered,
// and is complete in most workspaces. A repository beyond them still has the protection of
// its git directory, which needs no search.
const (
	mostTreeFolders = 500
	mostTrees       = 32
)

// GitTrees finds the repositories whose settings commands could exploit: around and in the
// roots, which are canonical, the shallowest first, with their worktrees and submodules. It
// stops with ctx.
func GitTrees(ctx context.Context, r sandbox.FileSystem, roots []string) []GitTree {
	f := &treeFinder{files: r, roots: roots}
	for _, root := range roots {
		for dir := root; ; dir = path.Dir(dir) {
			if f.hasGit(dir) {
				f.add(dir)
				break
			}
			if dir == "/" {
				break
			}
		}
	}
	left := slices.Clone(roots)
	for read := 0; len(left) > 0 && read < mostTreeFolders && len(f.found) < mostTrees && ctx.Err() == nil; read++ {
		dir := left[0]
		left = left[1:]
		entries, err := hostfile.ReadDir(dir, maxGitDirs)
		if err != nil {
			continue
		}
		for _, e := range entries {
			switch {
			case e.Name() == ".git":
				f.add(dir)
			case e.IsDir():
				left = append(left, path.Join(dir, e.Name()))
			}
		}
	}
	return f.found[:min(len(f.found), mostTrees)]
}

type treeFinder struct {
	files sandbox.FileSystem
	roots []string
	found []GitTree
}

func (f *treeFinder) hasGit(dir string) bool {
	_, err := f.files.Lstat(path.Join(dir, ".git"))
	return err == nil
}

// add adds the work tree at top, and those that its git directory lists.
func (f *treeFinder) add(top string) {
	if slices.Contains(f.found, GitTree{Top: top}) {
		return
	}
	f.found = append(f.found, GitTree{Top: top})
	git := path.Join(top, ".git")
	for _, p := range modules(path.Join(git, "modules")) {
		if dir, ok := strings.CutSuffix(p, "/config"); ok {
			f.found = append(f.found, GitTree{Dir: dir})
		}
	}
	entries, _ := hostfile.ReadDir(path.Join(git, "worktrees"), mostTrees)
	for _, e := range entries {
		// "gitdir" holds the path of the worktree's own .git file.
		text, err := readSome(context.Background(), path.Join(git, "worktrees", e.Name(), "gitdir"))
		tree := path.Dir(strings.TrimSpace(string(text)))
		inside := func(root string) bool { return sandbox.Covers(root, tree) }
		if err == nil && path.IsAbs(tree) && slices.ContainsFunc(f.roots, inside) && !slices.Contains(f.found, GitTree{Top: tree}) && f.hasGit(tree) {
			f.found = append(f.found, GitTree{Top: tree})
		}
	}
}
