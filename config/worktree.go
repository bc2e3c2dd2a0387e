package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"codeagent/hostfile"
	"codeagent/internal/git"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
)

// A linked worktree (git worktree add) has its git directory elsewhere: in worktrees/NAME of its
// repository. A submodule and a work tree with --separate-git-dir have their whole git directory elsewhere. Commands may write
// what git needs there, but nothing that names programs.
//
// Threat: a command of an earlier session made the .git file, or the place that it leads to, to
// open a repository of its choice. Therefore the worktree and the repository must name each other,
// and no repository is located through a path from a file. The repository is the folder that
// contains worktrees/NAME, and its entry there must name this worktree. Only someone who may write
// in that repository can have made that entry. A whole git directory must name the work tree in core.worktree,
// as git writes it for a submodule.

// TopOf is git.Top for folder.
func TopOf(folder string) (top string, ok bool) {
	return git.Top(folder, func(entry string) error {
		_, err := hostfile.Lstat(entry)
		return err
	})
}

// OpenWorktree returns p with what git needs to work in the work tree at top, whose git directory is elsewhere.
// For any other top it returns p unchanged. An error says why nothing was opened.
func OpenWorktree(p sandbox.Policy, top string) (sandbox.Policy, error) {
	own, linked, err := worktreeDir(top)
	if err != nil {
		return p, closedWorktree(top, err)
	}
	if own == "" {
		return p, nil
	}
	common := path.Dir(path.Dir(own))
	out := p.Clone()
	add := func(file string, optional bool) {
		if mayOpen(p, file) {
			out.Write = append(out.Write, sandbox.Root{Path: file, Optional: optional, Git: true})
		}
	}
	add(own, false)
	if !linked {
		protectGit(&out, gitDir(own))
		return out, nil
	}
	for _, tree := range otherWorktrees(own) {
		add(path.Join(tree, git.Head+".lock"), true)
		add(path.Join(tree, git.Logs), true)
	}
	for _, name := range git.Shared {
		err := ownEntry(path.Join(common, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return p, closedWorktree(top, err)
		}
		add(path.Join(common, name), true)
	}
	protectGit(&out, slices.Concat(gitDir(own), gitDir(common)))
	for _, name := range git.Alternates {
		out.Protect("git takes objects from where it leads", path.Join(common, name))
	}
	return out, nil
}

// otherWorktrees lists the git directories of the worktrees next to own, for git gc. Git gc locks
// each HEAD and shortens each log. HEAD itself stays closed. If there are more than mostWorktrees,
// none of them is opened.
func otherWorktrees(own string) []string {
	entries, err := hostfile.ReadDir(path.Dir(own), mostWorktrees+1)
	if err != nil || len(entries) > mostWorktrees {
		return nil
	}
	var out []string
	for _, e := range entries {
		dir := path.Join(path.Dir(own), e.Name())
		if err := ownEntry(path.Join(dir, git.Logs)); dir != own && e.IsDir() && err == nil {
			out = append(out, dir)
		}
	}
	return out
}

// mostWorktrees limits the worktrees of a repository that are opened for git gc.
const mostWorktrees = 100

func closedWorktree(top string, err error) error {
	return fmt.Errorf("work tree %s: its repository stays read-only for commands: %w", placeName(top), err)
}

// mayOpen reports whether file is not yet writable and is not protected by a setting.
func mayOpen(p sandbox.Policy, file string) bool {
	_, _, named := protect.Find(p.Protected.Names, "/", file, file)
	return !sandbox.CoveredBy(sandbox.PathsOf(p.Write), file) && !sandbox.CoveredBy(p.Protected.Paths, file) &&
		!sandbox.CoveredBy(p.Protected.Own, file) && !named
}

// worktreeDir returns the git directory of the work tree at top, and whether it is a linked worktree. It returns ""
// if top has no .git file, or one by which git finds no repository.
func worktreeDir(top string) (own string, linked bool, err error) {
	entry := path.Join(top, git.Entry)
	info, err := hostfile.Lstat(entry)
	if err != nil || !info.Mode().IsRegular() {
		return "", false, nil // gitPaths reports the error
	}
	text, err := readSome(context.Background(), entry)
	own, ok := git.Target(string(text))
	if err != nil || !ok {
		return "", false, nil
	}
	own = lineFrom(top, own)
	if _, err := hostfile.Lstat(path.Join(own, git.Commondir)); !errors.Is(err, fs.ErrNotExist) || path.Base(path.Dir(own)) == git.Worktrees {
		return own, true, checkWorktree(entry, own)
	}
	if _, err := hostfile.Lstat(own); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return own, false, checkWhole(top, own)
}

// checkWhole says why own is not the git directory of the work tree at top. Through a link, the path by which own
// names its work tree could lead to top, so none is followed.
func checkWhole(top, own string) error {
	tree := ""
	for _, name := range append([]string{git.Entry, git.Head, git.Objects, git.Refs}, git.Settings...) {
		file := path.Join(own, name)
		if name == git.Entry {
			file = path.Join(top, name)
		}
		if err := ownEntry(file); err != nil && !(git.IsSettings(name) && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
		if !git.IsSettings(name) {
			continue
		}
		text, err := readSome(context.Background(), file)
		settings, bad := git.Parse(file, string(text))
		if err != nil && !errors.Is(err, fs.ErrNotExist) || bad != nil {
			return fmt.Errorf("%s cannot be read", placeName(file))
		}
		for _, s := range settings {
			if s.Key == "core.worktree" {
				tree = lineFrom(own, s.Value)
			}
		}
	}
	if tree != top {
		return fmt.Errorf("core.worktree of %s does not name it (outside the sandbox: git config core.worktree %s)", placeName(own), short.ShellWord(top))
	}
	return nil
}

// checkWorktree says why own is not the git directory that a repository keeps for the worktree
// whose .git file is entry.
func checkWorktree(entry, own string) error {
	common := path.Dir(path.Dir(own))
	if path.Base(path.Dir(own)) != git.Worktrees {
		return fmt.Errorf("%s leads to %s, which is not in the worktrees of a repository", placeName(entry), placeName(own))
	}
	gitdir, commondir := path.Join(own, git.Gitdir), path.Join(own, git.Commondir)
	for _, name := range []string{entry, common, path.Join(common, git.Head), path.Join(common, git.Objects), own, path.Join(own, git.Head), gitdir, commondir} {
		if err := ownEntry(name); err != nil {
			return err
		}
	}
	for name, want := range map[string]string{commondir: common, gitdir: entry} {
		text, err := readSome(context.Background(), name)
		if err != nil {
			return err
		}
		if got := lineFrom(own, string(text)); got != want {
			return fmt.Errorf("%s names %s, not %s", placeName(name), placeName(got), placeName(want))
		}
	}
	return nil
}

// placeName quotes a path for a message. It shortens only very long paths.
func placeName(name string) string { return short.Quote(name, 500) }

// lineFrom returns the path named by the text of a git file, relative to dir. It follows no link,
// so the caller must use the path without links.
func lineFrom(dir, text string) string {
	name := git.Line(text)
	if !path.IsAbs(name) {
		name = dir + "/" + name
	}
	return path.Clean(name)
}

// ownEntry fails if the entry is a link or belongs to another user.
func ownEntry(name string) error {
	info, err := hostfile.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link", placeName(name))
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user", placeName(name))
	}
	return nil
}
