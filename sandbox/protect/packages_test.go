package protect

import (
	"strings"
	"testing"
)

// TestPackages: a row is a path below the root, and whether it is protected.
func TestPackages(t *testing.T) {
	names := append(Names(), "my/own.conf")
	for _, row := range managed {
		if row.reason == "" || row.pattern != Fold(row.pattern) || strings.Contains(row.pattern, "/") {
			t.Errorf("%+v: want a folded pattern of one component, and a reason", row)
		}
	}
	for _, c := range []struct {
		root, paths string
		protected   bool
	}{
		{"/w", "node_modules/a/.vscode/settings.json node_modules/.claude node_modules/.pnpm/a@1/node_modules/a/.envrc.lock", false},
		{"/w", "web/node_modules/@s/a/.idea/x lib/python3.13/site-packages/a/.devcontainer.json", false},
		{"/w", "go/pkg/mod/example.com/!a@v1.2.3-pre/.github/hooks/x registry/src/index.crates.io-1949cf8c6b5b557f/a-1.0.0/rust-toolchain.toml", false},
		{"/w", "node_modules/a/.claude/node_modules/b/.claude/x", false},
		{"/", "node_modules/a/.envrc", false},
		{"/w/.codex/worktrees/a", "node_modules/a/.vscode/settings.json", false},
		// What version control runs, and what the settings name.
		{"/w", "node_modules/a/.hg/hgrc node_modules/a/.jj/repo/config.toml node_modules/.sl/config.lock node_modules/a/my/own.conf", true},
		{"/w", ".claude/node_modules/x .claude/node_modules/.claude/x .vscode/settings.json/node_modules/a", true},
		// A person opens what is a root, wherever it lies.
		{"/w/node_modules/a", ".vscode/settings.json .claude/x b/.envrc", true},
		{"/w/node_modules", ".claude a/.claude", true},
		// Other spellings, other folders.
		{"/w", "Node_modules/a/.claude node_modules./a/.claude node_module\u017f/a/.claude xnode_modules/a/.claude node_modules.bak/.envrc", true},
		{"/w", "vendor/a/.claude packages/a/.claude a@v1/.envrc a@2.0.0/.envrc a@vx.y.z/.envrc index.crates.io/.envrc .pnpm/a@1.2.3/.envrc", true},
	} {
		for path := range strings.FieldsSeq(c.paths) {
			if _, _, got := Find(names, c.root, c.root, strings.TrimSuffix(c.root, "/")+"/"+path); got != c.protected {
				t.Errorf("%s in %s: protected %v", path, c.root, got)
			}
		}
	}
	for text, want := range map[string]bool{
		"node_modules": true, "../a/node_modules/b": true, "/w/Node_Modules/b": true, "node_module\u017f/b": true, "node_modules./b": true, "pkg/mod/a@v1.2.3": true,
		"A@V1.2.3": true, "a@v1.2.3.": true, "a@v1\u0301.2.3": true, "../src": false, "/w/vendor/a": false, "": false, "/": false,
	} {
		if got := Enters("/w/a/x", text); got != want || Enters("/w/bin/x", text) || Enters("/w/bin/a/x", text) != want || Enters("/bin", text) != want {
			t.Errorf("%q enters: %v", text, got)
		}
	}
}
