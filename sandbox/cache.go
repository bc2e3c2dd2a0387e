package sandbox

import (
	"slices"
	"strings"
)

// cachesOf are the folders that contain a cache for each program, by the program's name: the
// defaults of the XDG Base Directory Specification and of macOS. Both standards put settings and
// programs elsewhere, and allow all content of these folders to be deleted. Other cache folders do
// not promise that: ~/.ccache contains settings, and ~/.pub-cache and ~/.npm contain programs that
// run outside. A CACHEDIR.TAG, which ccache writes beside its settings, only promises that backups
// may skip the folder.
var cachesOf = []string{".cache", "Library/Caches"}

// CacheOf returns the cache that contains path, or false if none does. A tool that may write one
// entry of a cache may write the whole cache. The cache contains itself.
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

// prefixed returns the number of parts in name if parts begin with them, else 0.
func prefixed(parts []string, name string) int {
	want := strings.Split(name, "/")
	if len(parts) < len(want) || !slices.Equal(parts[:len(want)], want) {
		return 0
	}
	return len(want)
}
