// Package dotgit finds the entry .git on a path. It is apart from package git, whose hashes would make the
// sandbox's helper, which is copied at each start, a tenth larger. It performs no IO.
package dotgit

import (
	"slices"
	"strings"

	"codeagent/sandbox/protect"
)

// Name is where git looks for a repository in a folder, Objects the folder of its objects there. They are
// compared folded, as by sandbox/protect.
const Name, Objects = ".git", "objects"

// Is reports whether an entry called name is where git looks for a repository.
func Is(name string) bool { return protect.Fold(name) == Name }

// Cut returns the first .git entry on an absolute path, and what follows it; "" and "" for none.
func Cut(name string) (entry, below string) {
	parts := strings.Split(name, "/")
	i := slices.IndexFunc(parts, Is)
	if i < 0 {
		return "", ""
	}
	return strings.Join(parts[:i+1], "/"), strings.Join(parts[i+1:], "/")
}
