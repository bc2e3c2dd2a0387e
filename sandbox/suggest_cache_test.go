package sandbox_test

import (
	"testing"

	"codeagent/sandbox"
)

func TestCacheOf(t *testing.T) {
	for path, want := range map[string]string{
		"/home/u/.npm/_cacache/tmp/a1b2":       "",
		"/home/u/.npm":                         "",
		"/home/u/.npmrc":                       "",
		"/home/u/.cache/go-build/0a/x":         "/home/u/.cache/go-build",
		"/home/u/.cache/go-build":              "/home/u/.cache/go-build",
		"/home/u/.cache":                       "",
		"/home/u/go/pkg/mod/cache/lock":        "",
		"/home/u/go/bin/tool":                  "",
		"/home/u/.cargo/registry/index/x":      "",
		"/home/u/.cargo/config.toml":           "",
		"/home/u/.cargo/bin/x":                 "",
		"/Users/u/Library/Caches/pip/http/x":   "/Users/u/Library/Caches/pip",
		"/usr/lib/python3/__pycache__/a.pyc":   "", // code that other programs run
		"/home/u/.config/nvim/init.lua":        "",
		"/home/u/.ssh/known_hosts":             "",
		"/home/u/my.npm/x":                     "",
		"/home/u/.local/share/pnpm/store/v3/x": "",
		"/home/u/.local/share/pnpm/global":     "",
		"/home/u/.ccache/ccache.conf":          "",
		"/home/u/.pub-cache/bin/x":             "",
		"/":                                    "",
	} {
		got, ok := sandbox.CacheOf(path)
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q %v, want %q", path, got, ok, want)
		}
	}
}
