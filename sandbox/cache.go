package sandbox

import (
	"slices"
	"strings"
)

// caches are folders whose entries a tool makes and throws away as it likes:
// who lets it write one of them lets it write all. None holds settings or keys.
var caches = []string{
	".npm", ".pnpm-store", ".local/share/pnpm/store", ".yarn/cache", ".yarn/berry/cache", ".bun/install/cache", ".deno/deps", ".deno/gen",
	".cargo/registry", ".cargo/git", "go/pkg/mod", "go/pkg/sumdb", ".gradle/caches", ".m2/repository", ".ivy2/cache", ".nuget/packages",
	".composer/cache", ".pub-cache", ".conan2/p", ".terraform.d/plugin-cache", ".cpan/build", ".cpan/sources", ".hex/packages", ".stack/pantry",
	".sbt/boot", ".ccache",
}

// cachesOf hold a cache for each program, by its name.
var cachesOf = []string{".cache", "Library/Caches"}

// CacheOf returns the cache that path lies in, and false when it lies in none.
// The cache itself lies in itself.
func CacheOf(path string) (string, bool) {
	parts := strings.Split(path, "/")
	for i := range parts {
		for _, c := range caches {
			if n := prefixed(parts[i:], c); n > 0 && i > 0 {
				return strings.Join(parts[:i+n], "/"), true
			}
		}
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
