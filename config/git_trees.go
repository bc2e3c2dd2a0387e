package config

import (
	"context"
	"path"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

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
