package git

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"codeagent/internal/git/dotgit"
	"codeagent/sandbox/protect"
)

// Names of gitrepository-layout(5). They are compared folded, as by sandbox/protect, but where a name
// makes an exception: there another spelling stays closed.
const (
	// Entry is where git looks for a repository in a folder.
	Entry = dotgit.Name
	// Head, Objects and Refs are in each repository, Logs are the reflogs.
	Head, Objects, Refs, Logs = "HEAD", dotgit.Objects, "refs", "logs"
	// Packed are refs that have no file of their own.
	Packed = "packed-refs"
	// Commondir names, in the git directory of a worktree, the one of its repository, and Gitdir its .git
	// file. common is what git writes to Commondir.
	Commondir, Gitdir, common = "commondir", "gitdir", "../..\n"
	// Modules and Worktrees are folders of a git directory in which each folder is a git directory, too,
	// or becomes one. Names of modules have slashes.
	Modules, Worktrees = "modules", "worktrees"
	Hooks              = "hooks"
	// Config are the settings.
	Config = "config"
	// Exclude is what git ignores beside .gitignore files.
	Exclude = "info/exclude"
)

var (
	// Settings are the settings of a git directory.
	Settings = []string{Config, "config.worktree"}
	// Shared are the folders and files that git changes in a repository for all its worktrees. To replace
	// a file, git also writes its lock. Hooks, settings, info and other worktrees are not among them.
	Shared = []string{
		Objects, Refs, Logs, "reftable", "rr-cache", "lfs",
		Packed, Packed + ".lock", Packed + ".new", "shallow", "shallow.lock", "gc.pid", "gc.pid.lock", "gc.log", "gc.log.lock",
		Head + ".lock", // git gc locks the HEAD of the main worktree, which it does not change
	}
	// Alternates name further folders of objects for git, so they could lead to any repository.
	Alternates = []string{"objects/info/alternates", "objects/info/http-alternates"}
	// marks are the entries by which a folder of any name is recognised as a git directory.
	marks = []string{Head, Objects, Commondir}
)

// Tree is a work tree and its git directories.
type Tree struct {
	// Top is the top of the work tree, where git runs the programs of its settings. It is empty for
	// the git directory of a submodule, whose settings name the work tree.
	Top string
	// Dirs are its own git directory, and the one that it shares with other trees.
	Dirs []string
}

// Top returns the nearest folder, from dir upwards, whose entry .git lstat finds. ok is false if no folder
// has one, or if that is not known, since lstat failed otherwise than by fs.ErrNotExist: then top is dir.
func Top(dir string, lstat func(entry string) error) (top string, ok bool) {
	for at := dir; ; at = path.Dir(at) {
		err := lstat(path.Join(at, Entry))
		if err == nil {
			return at, true
		}
		if at == path.Dir(at) || !errors.Is(err, fs.ErrNotExist) {
			return dir, false
		}
	}
}

// Target returns the path in the text of a .git file, relative to its folder.
func Target(text string) (target string, ok bool) { return strings.CutPrefix(Line(text), "gitdir: ") }

// Line returns the path in the text of Commondir or Gitdir, relative to the folder of that file.
func Line(text string) string { return strings.TrimRight(text, "\r\n") }

// IsEntry reports whether an entry called name is where git looks for a repository.
func IsEntry(name string) bool { return dotgit.Is(name) }

// Position returns the git directory that keeps one at dir, and in which of its folders: Modules or
// Worktrees. For any other place position is "".
func Position(dir string) (of, position string) {
	above := path.Dir(dir)
	if position = protect.Fold(path.Base(above)); position == Modules || position == Worktrees {
		return path.Dir(above), position
	}
	return "", ""
}

// Branches returns the git directory in which dir is the folder of branches or of their reflogs: names in
// it are arbitrary.
func Branches(dir string) (of string, are bool) {
	above, name := path.Split(dir)
	return strings.TrimSuffix(path.Clean(above), "/"+Logs), name == Refs
}

// IsMark reports whether a git directory is recognised by an entry called name.
func IsMark(name string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return protect.Fold(mark) == protect.Fold(name) })
}

// Marked reports whether a folder that has these entries is a git directory, or the one that git keeps
// for a worktree.
func Marked(has func(name string) bool) bool {
	return has(Head) && (has(Objects) || has(Commondir))
}

// Runs reports whether git runs or trusts what is at below, relative to a git directory of the session's:
// a session can make a worktree, and so its Gitdir.
func Runs(below string) bool {
	below = protect.Fold(below)
	hook, ofHooks := strings.CutPrefix(below, Hooks+"/")
	return ofHooks && IsHook(hook) || below == Hooks || below == Commondir || IsSettings(below)
}

// IsHook reports whether git runs a hook of this name. It runs none with a dot; its templates are such
// (*.sample).
func IsHook(name string) bool { return !strings.Contains(protect.Fold(name), ".") }

// IsSettings reports whether git reads settings of a git directory from a file of this name.
func IsSettings(name string) bool { return slices.Contains(Settings, protect.Fold(name)) }

// IsIndex reports whether git reads the entries to check out from a file of this name.
func IsIndex(name string) bool {
	name = protect.Fold(name)
	return name == "index" || strings.HasPrefix(name, "sharedindex.")
}

// Locks reports whether path is the lock of settings, or of the index or a file of State in the git directory dir.
func Locks(name string) (dir string, settings bool) {
	if dir, s := stateAt(name, ".lock"); s != nil {
		return dir, false
	}
	file, is := protect.LockOf(protect.Fold(path.Base(name)))
	if is && IsIndex(file) {
		return path.Dir(name), false
	}
	return "", is && IsSettings(file)
}
