package sandbox

import "strings"

// cachesOf are the folders that contain a cache for each program, by the program's name: the
// defaults of the XDG Base Directory Specification and of macOS. Both standards put settings and
// programs elsewhere, and allow all content of these folders to be deleted. Other cache folders do
// not promise that: ~/.ccache contains settings, and ~/.pub-cache and ~/.npm contain programs that
// run outside. A CACHEDIR.TAG, which ccache writes beside its settings, only promises that backups
// may skip the folder.
var cachesOf = []string{"/.cache/", "/Library/Caches/"}

// CacheOf returns the cache that contains path, or false if none does. A tool that may write one
// entry of a cache may write the whole cache. The cache contains itself.
func CacheOf(path string) (cache string, ok bool) {
	for _, folder := range cachesOf {
		before, after, found := strings.Cut(path, folder)
		name, _, _ := strings.Cut(after, "/")
		if outer := before + folder + name; found && name != "" && (!ok || len(outer) < len(cache)) {
			cache, ok = outer, true
		}
	}
	return cache, ok
}
