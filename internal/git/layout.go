package git

import (
	"path"
	"strings"
)

// Top returns the nearest folder, from dir upwards, for whose entry .git there is true. ok is false if no
// folder has one. An error of there ends the search.
func Top(dir string, there func(entry string) (bool, error)) (top string, ok bool) {
	for {
		switch is, err := there(path.Join(dir, ".git")); {
		case err != nil:
			return "", false
		case is:
			return dir, true
		case dir == path.Dir(dir):
			return "", false
		}
		dir = path.Dir(dir)
	}
}

// Target returns the path in the text of a .git file (gitrepository-layout(5)), relative to its folder.
func Target(text string) (target string, ok bool) {
	return strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
}
