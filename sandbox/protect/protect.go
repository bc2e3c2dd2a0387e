// Package protect says which paths another program runs, or takes programs from, when a person
// merely opens, enters or lists a folder, and why. Every room asks it; none has names of its own.
// It is pure: links are found by the caller, and what they lead to is protected by path
// (sandbox.Protected.Paths). A new program is a row of the table, and no code.
package protect

import (
	"slices"
	"strings"
)

// inGit begins the names that every git directory contains.
const inGit = ".git/"

// Names are protected at any depth of a write root. What a git directory contains is not among
// them, because a session may make repositories of its own.
func Names() (names []string) {
	for _, row := range rows {
		if !strings.HasPrefix(row.Name, inGit) {
			names = append(names, row.Name)
		}
	}
	return names
}

// Of returns the row of a protected name. A name that is not in the table comes from the settings.
func Of(name string) Row {
	for _, row := range rows {
		if row.Name == Fold(name) {
			return row
		}
	}
	return Row{Name: name, Kind: User, Reason: "sandbox.protected names it"}
}

// Find returns the first of names that protects path, and the entry that it protects: of a lock, the
// file that it locks. The entry lies below the write root root. Whoever opened the root opened what
// lies at or above it, but a name may begin there: in .vscode as the root, tasks.json is protected.
// In packages below project names are data (see managed).
func Find(names []string, root, project, path string) (row Row, entry string, ok bool) {
	depth := strings.Count(strings.TrimSuffix(root, "/"), "/")
	folds := Fold(path)
	for _, name := range names {
		folded := Fold(name)
		for from := 1; ; {
			i := strings.Index(folds[from:], folded)
			if i < 0 || folded == "" {
				break
			}
			start, end := from+i, from+i+len(folded)
			if n := strings.Count(folds[:end], "/"); n > depth && folds[start-1] == '/' && ends(folds[end:]) {
				above := packages(project, path)
				if row := Of(name); !data(row.Kind) || above == 0 || above >= strings.Count(folds[:start], "/") {
					return row, components(path, n, folds[end:] == lock), true
				}
			}
			from = start + 1
		}
	}
	return Row{}, "", false
}

// components returns the first n components of an absolute path, without the end of a lock's name.
func components(path string, n int, locked bool) string {
	parts := strings.Split(path, "/")
	entry := strings.Join(parts[:n+1], "/")
	if locked {
		entry = entry[:strings.LastIndexByte(entry, '.')]
	}
	return entry
}

// Leads reports whether path ends with the first components of one of names. A folder moved there,
// or a link made there, would bring content under a protected name.
func Leads(names []string, path string) bool {
	path = "/" + Fold(path)
	for _, name := range names {
		for name := Fold(name); ; {
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				break
			}
			if name = name[:i]; strings.HasSuffix(path, "/"+name) {
				return true
			}
		}
	}
	return false
}

// Possible reports whether an entry called base can be the end of one of names, or its lock.
func Possible(names []string, base string) bool {
	base = Fold(base)
	for _, name := range names {
		name := Fold(name)
		if rest, ok := strings.CutPrefix(base, name[strings.LastIndexByte(name, '/')+1:]); ok && ends(rest) {
			return true
		}
	}
	return false
}

// Git lists what must not change in the git directory at dir: the files that name programs for git
// and places that git trusts. Work such as add, commit, stash and rebase needs none of them.
func Git(dir string) (paths []string) {
	for _, row := range rows {
		if name, ok := strings.CutPrefix(row.Name, inGit); ok {
			paths = append(paths, dir+"/"+name)
		}
	}
	return paths
}

// GitEntry returns the row that protects the entry called name of every git directory.
func GitEntry(name string) (Row, bool) {
	name = Fold(name)
	for _, row := range rows {
		if rest, ok := strings.CutPrefix(inGit+name, row.Name); ok && strings.HasPrefix(row.Name, inGit) && ends(rest) {
			return row, true
		}
	}
	return Row{}, false
}

// Repositories are the folders in which version control keeps a repository: .git, .hg and so on.
func Repositories() (folders []string) {
	for _, row := range rows {
		if folder, in := row.repository(); in && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// repository returns the folder of the repository that contains the entry.
func (r Row) repository() (folder string, in bool) {
	if r.Kind != VersionControl {
		return "", false
	}
	folder, _, in = strings.Cut(r.Name, "/")
	return folder, in
}

// OutsideRepositories returns names without those of version control, which a session may write in a
// repository of its own.
func OutsideRepositories(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, in := Of(name).repository(); return in })
}

// Untracked returns those of names that stay protected where a person's repository brings their content: what
// version control runs, and what the settings name.
func Untracked(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { k := Of(name).Kind; return k != VersionControl && k != User })
}

// IsRepository reports whether an entry called name is where version control looks for a repository.
func IsRepository(name string) bool { return slices.Contains(Repositories(), Fold(name)) }
