package config

import (
	"context"
	"errors"
	"io/fs"
	"path"
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
	if isLink(mode) {
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
