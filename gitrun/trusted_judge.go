package gitrun

import (
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// What a configuration trusts is decided by the values, not by a list of the keys that name
// programs: there are many such keys, each version adds more, and the names of aliases and
// drivers are arbitrary.
//
//	the file that contains a setting      trusted: git included it
//	a value that is the path of a file    trusted
//	a word of a value, with a slash       trusted: a program or its argument, present or absent
//	a word after the first, without one   trusted if it is a file ("python clean.py")
//	a value that is a folder, or absent   trusted if the key takes a path (it ends in path, file or dir)
//
// Three properties of keys must be known: which hold paths, which are relative to the file
// that contains them (include.path), and which name refs, repositories and work trees: git
// connects to these, and runs nothing by them.

// trustJudge collects what is trusted.
type trustJudge struct {
	policy sandbox.Policy
	files  sandbox.FileSystem
	home   string
	tops   []string
	out    []string
}

// places are keys (their last part) that name refs, repositories and work trees.
var places = []string{"url", "pushurl", "insteadof", "pushinsteadof", "fetch", "push", "merge", "remote", "pushremote", "worktree", "directory", "repo", "recentrepo", "bare"}

// switches are values of keys that turn something on or off (core.quotePath).
var switches = []string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}

func (j *trustJudge) judge(s setting) {
	if s.file != "" {
		j.add(j.resolve("/", s.file), isFile)
	}
	section, _, _ := strings.Cut(strings.ToLower(s.key), ".")
	value := strings.TrimPrefix(s.value, ":(optional)")
	switch {
	case section == "include" || section == "includeif":
		j.add(j.resolve(path.Dir(s.file), value), isFile|isAbsent)
		return
	case slices.Contains(places, s.name), slices.Contains(switches, strings.ToLower(value)):
		return
	}
	for _, top := range j.tops {
		if takesPath(s.name) {
			p := j.resolve(top, value)
			if s.name == "hookspath" {
				p = j.manager(top, p)
			}
			j.add(p, isFile|isFolder|isAbsent)
		}
		j.words(top, s, value)
	}
}

// included returns the file that a setting includes, whatever the condition; "" if the file
// cannot be read without blocking.
func (j *trustJudge) included(s setting) string {
	if section, _, _ := strings.Cut(strings.ToLower(s.key), "."); section != "include" && section != "includeif" {
		return ""
	}
	for _, p := range j.resolve(path.Dir(s.file), strings.TrimPrefix(s.value, ":(optional)")) {
		if mode, err := j.files.Lstat(p); err == nil && mode.IsRegular() {
			return p
		}
	}
	return ""
}

// takesPath reports a key whose value is always a path.
func takesPath(name string) bool {
	return strings.HasSuffix(name, "path") || strings.HasSuffix(name, "file") || strings.HasSuffix(name, "dir")
}

// manager returns the folder of a hook manager that generates hooks in it: husky's .husky/_
// runs the scripts in .husky.
func (j *trustJudge) manager(top string, hooks []string) []string {
	var out []string
	for _, p := range hooks {
		if dir := path.Dir(p); dir != top && strings.HasPrefix(path.Base(dir), ".") && path.Base(dir) != ".git" {
			p = dir
		}
		out = append(out, p)
	}
	return out
}

// words judges the words of a command line, which may be quoted for a shell.
func (j *trustJudge) words(top string, s setting, value string) {
	if strings.HasPrefix(strings.ToLower(s.key), "alias.") && !strings.HasPrefix(value, "!") {
		return // one of git's own commands, with its arguments
	}
	if strings.Contains(value, "/") {
		j.add(j.resolve(top, value), isFile)
	}
	list := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>'\"`!=", r) })
	for i, word := range list {
		switch path := strings.Contains(word, "/"); {
		case path && plainPath(word):
			j.add(j.resolve(top, word), isFile|isAbsent)
		case path || i > 0: // a first word without a slash is looked up in PATH
			j.add(j.resolve(top, word), isFile)
		}
	}
}

// plainPath reports a word that can only be a path: not a pattern, a format, an address of
// another machine, or a ref.
func plainPath(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/+~-", r))
	}) < 0 && !strings.HasPrefix(word, "refs/")
}

// kind is a set of file types that count at a path.
type kind int

const (
	isFile kind = 1 << iota
	isFolder
	isAbsent
)

// resolve returns the paths that name leads to from the folder base: its target, and the link
// on the way there.
func (j *trustJudge) resolve(base, name string) []string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && j.home != "" {
		name = path.Join(j.home, rest)
	}
	if name == "" || strings.HasPrefix(name, "~") || strings.ContainsRune(name, 0) {
		return nil
	}
	var out []string
	if p, err := sandbox.Canonical(j.files, base, name); err == nil {
		out = append(out, p)
	}
	if !path.IsAbs(name) {
		name = path.Join(base, name)
	}
	if dir, err := sandbox.Canonical(j.files, "/", path.Dir(path.Clean(name))); err == nil {
		if p := path.Join(dir, path.Base(name)); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// add adds those of paths that are in a write root and of one of the kinds. A
// folder that contains a repository or a write root is left out: git works on it.
func (j *trustJudge) add(paths []string, kinds kind) {
	for _, p := range paths {
		if !j.writable(p) || slices.Contains(j.out, p) || j.kindOf(p)&kinds == 0 {
			continue
		}
		j.out = append(j.out, p)
	}
}

func (j *trustJudge) writable(p string) bool {
	inside := func(root sandbox.Root) bool { return root.Path != p && sandbox.Covers(root.Path, p) }
	around := func(root sandbox.Root) bool { return sandbox.Covers(p, root.Path) }
	holdsTop := slices.ContainsFunc(j.tops, func(top string) bool { return sandbox.Covers(p, top) })
	return slices.ContainsFunc(j.policy.Write, inside) && !slices.ContainsFunc(j.policy.Write, around) && !holdsTop && j.policy.JudgeWrite(p).Allowed
}

func (j *trustJudge) kindOf(p string) kind {
	there := func(name string) bool {
		_, err := j.files.Lstat(path.Join(p, name))
		return err == nil
	}
	mode, err := j.files.Lstat(p)
	switch {
	case err != nil:
		return isAbsent
	case !mode.IsDir():
		return isFile
	case there(".git") || there("HEAD") && there("objects"):
		return 0
	}
	return isFolder
}
