package config

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"codeagent/sandbox"
)

// maxGitDirs bounds how many entries below .git/worktrees and .git/modules are
// looked at, each. Where there are more, the whole folder is protected.
const maxGitDirs = 2000

// gitPaths returns what must stay unchanged of the git directory of root, which
// is canonical: what GitProtected lists for the directory, for each of its
// worktrees and for the repositories of its submodules. A .git that is a file
// or a link is protected itself, since it says where git looks; so is what it
// points to, as far as that exists.
func gitPaths(r sandbox.Resolver, root string) ([]string, error) {
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
	if isLink(mode) {
		target, err := sandbox.Canonical(r, root, entry)
		if err != nil {
			return nil, err
		}
		return append(out, gitDir(target)...), nil
	}
	data, err := readSome(entry)
	if err != nil {
		return nil, err
	}
	// gitrepository-layout(5): "gitdir: <path>", relative to the file's folder.
	if target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: "); ok {
		dir, err := sandbox.Canonical(r, root, target)
		if err != nil {
			return nil, err
		}
		out = append(out, gitDir(dir)...)
		// A worktree's directory names the repository it belongs to.
		if common, err := readSome(path.Join(dir, "commondir")); err == nil {
			if dir, err = sandbox.Canonical(r, dir, strings.TrimSpace(string(common))); err != nil {
				return nil, err
			}
			out = append(out, gitDir(dir)...)
		}
	}
	return out, nil
}

// gitDir lists what is protected of one git directory and of those inside it.
func gitDir(dir string) []string {
	out := sandbox.GitProtected(dir)
	trees := path.Join(dir, "worktrees")
	entries, err := os.ReadDir(trees)
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

// modules finds the repositories of submodules. Their names may contain
// slashes, so a repository is known by its HEAD, and nothing below it but its
// own modules is looked at.
func modules(top string) []string {
	var out []string
	left, complete := maxGitDirs, true
	var look func(dir string)
	look = func(dir string) {
		entries, err := os.ReadDir(dir)
		if left -= len(entries); left < 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			complete = false
			return
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			sub := path.Join(dir, e.Name())
			if _, err := os.Lstat(path.Join(sub, "HEAD")); err == nil {
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
