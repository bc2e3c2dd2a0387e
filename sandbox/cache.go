package sandbox

import (
	"slices"
	"strings"
)

// cachesOf hold a cache for each program, by its name: the XDG Base Directory
// Specification's default, and macOS's. Both standards put settings and programs
// elsewhere, and let everything in there be thrown away. Folders of a program's own
// making promise neither: ~/.ccache has its settings in it, ~/.pub-cache and ~/.npm
// programs that are run outside, and a CACHEDIR.TAG, which ccache writes beside
// its settings, promises no more than that backups may leave the folder out.
var cachesOf = []string{".cache", "Library/Caches"}

// CacheOf returns the cache that path lies in, and false when it lies in none: who
// lets a tool write one of its entries lets it write all. The cache itself lies in
// itself.
func CacheOf(path string) (string, bool) {
	parts := strings.Split(path, "/")
	for i := range parts {
		for _, c := range cachesOf {
			if n := prefixed(parts[i:], c); n > 0 && i > 0 && len(parts) > i+n {
				return strings.Join(parts[:i+n+1], "/"), true
			}
		}
	}
	return "", false
}

// prefixed is how many parts name has when parts begin with them, else 0.
func prefixed(parts []string, name string) int {
	want := strings.Split(name, "/")
	if len(parts) < len(want) || !slices.Equal(parts[:len(want)], want) {
		return 0
	}
	return len(want)
}
