package protect

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/table.txt")

// TestTable: a row that is added, changed or removed shows here, and in no other room.
func TestTable(t *testing.T) {
	var b strings.Builder
	seen := map[string]bool{}
	for _, row := range rows {
		fmt.Fprintf(&b, "%-34s %-32s %s\n", row.Name, row.Kind, row.Reason)
		if seen[row.Name] || row.Name != Fold(row.Name) || row.Reason == "" || strings.HasSuffix(row.Reason, ".") || strings.Trim(row.Name, "/") != row.Name {
			t.Errorf("%+v: want a folded name of its own and a reason without its end", row)
		}
		seen[row.Name] = true
	}
	if len(rows) > 80 {
		t.Errorf("%d rows, want at most 80", len(rows))
	}
	if *update {
		if err := os.WriteFile("testdata/table.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/table.txt")
	if err != nil || string(want) != b.String() {
		t.Errorf("the table changed (go test ./sandbox/protect -update): %v\n%s", err, &b)
	}
}

func TestFold(t *testing.T) {
	for _, same := range [][]string{
		{".claude", ".Claude", ".CLAUDE", ".cl\u200caude", "\ufeff.claude", ".claude ", ".claude."},
		{".git/hooks/x", ".GIT/hooks/X", ".git/hoo\u212as/x", ".git/hook\u017f/x", ".g\u200dit /hooks./x"},
		{"config", "con\ufb01g", "CON\ufb01G"},
		{"caf\u00e9.conf", "cafe\u0301.conf", "CAF\u00c9.CONF"},
		{"\u1e9e", "ss", "\u00df"},
	} {
		for _, name := range same[1:] {
			if Fold(name) != Fold(same[0]) || !Covers("/w/"+same[0], "/w/"+name) || !Covers("/w/"+name, "/w/"+same[0]+"/x") {
				t.Errorf("%q folds to %q, %q to %q", name, Fold(name), same[0], Fold(same[0]))
			}
		}
	}
	for _, name := range []string{"claude", ".claud", ".claude/x", ".claude2", "..", ".claude-x"} {
		if Fold(name) == Fold(".claude") {
			t.Errorf("%q folds to .claude", name)
		}
	}
}

func TestFind(t *testing.T) {
	names := append(Names(), "my/own.conf")
	for path, want := range map[string]string{
		".codeagent/config.toml":  ".codeagent",
		".claude":                 ".claude",
		"a/b/.claude/x/y":         "a/b/.claude",
		"a/.Claude/x":             "a/.Claude",
		".mcp.json.lock":          ".mcp.json",
		".mcp.json.LOCK":          ".mcp.json",
		".vscode/mcp.json":        ".vscode/mcp.json",
		".vscode/launch.json":     "",
		".hg/hgrc":                ".hg/hgrc",
		".hg/store/data":          "",
		"x.mcp.json":              "",
		".mcp.json.bak":           "",
		".claude.md":              "",
		"a/my/own.conf":           "a/my/own.conf",
		"a/my/OWN.conf.lock":      "a/my/OWN.conf",
		".vscode/extensions.json": "",
		"src/main.go":             "",
		".git/config":             "", // whose the git directory is decides
	} {
		row, entry, ok := Find(names, "/w", "/w", "/w/"+path)
		if entry = strings.TrimPrefix(entry, "/w/"); entry != want || ok != (want != "") || ok && row.Reason == "" {
			t.Errorf("%s: %+v %q %v, want %q", path, row, entry, ok, want)
		}
		if ok && !Possible(names, path[strings.LastIndexByte(path, '/')+1:]) && !slices.Contains([]string{"x", "y"}, path[strings.LastIndexByte(path, '/')+1:]) {
			t.Errorf("%s: not possible", path)
		}
	}
	// A name may begin at or above the root. What the root itself is, or lies in, was opened with it.
	for _, c := range []struct{ root, path, want string }{
		{"/w/.vscode", "/w/.vscode/tasks.json", "/w/.vscode/tasks.json"},
		{"/w/.github", "/w/.github/hooks/x.json", "/w/.github/hooks"},
		{"/w/.hg/", "/w/.hg/hgrc.lock", "/w/.hg/hgrc"},
		{"/w/.vscode/tasks.json", "/w/.vscode/tasks.json", ""},
		{"/w/.claude", "/w/.claude/settings.json", ""},
		{"/w/.claude/skills", "/w/.claude/skills/a/.envrc", "/w/.claude/skills/a/.envrc"},
		{"/", "/.envrc", "/.envrc"},
	} {
		if _, entry, ok := Find(names, c.root, c.root, c.path); entry != c.want || ok != (c.want != "") {
			t.Errorf("%s in %s: %q %v, want %q", c.path, c.root, entry, ok, c.want)
		}
	}
	for path, want := range map[string]bool{"a/.vscode": true, "a/.VSCODE": true, ".hg": true, "a/.claude": false, "src": false, "my": true} {
		if got := Leads(names, path); got != want {
			t.Errorf("%s leads: %v", path, got)
		}
	}
}

func TestGit(t *testing.T) {
	for name, want := range map[string]bool{"config": true, "Config": true, "config.lock": true, "hooks": true, "config.worktree": true, "commondir": true, "gitdir": true, "HEAD": false, "index.lock": false, "refs": false} {
		if _, got := GitEntry(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !Covers("/w/.git/config", "/w/.Git/config.lock") || Covers("/w/.git/config", "/w/.git/configx") || !Covers("/w/.git/hooks", "/w/.git/hooks/a/b") || Locks("/w/a", "/w/a") || !Locks("/w/a", "/w/A.lock") {
		t.Error("wrong about what a path covers")
	}
	if names := append(Names(), "my.conf"); !IsRepository(".GIT") || IsRepository("src") || slices.ContainsFunc(OutsideRepositories(names), func(name string) bool { return Of(name).Kind == VersionControl }) || !slices.Contains(OutsideRepositories(names), "my.conf") {
		t.Error("wrong about repositories")
	}
	for _, name := range append(Names(), "my.conf") {
		if kind := Of(name).Kind; slices.Contains(Untracked(append(Names(), "my.conf")), name) != (kind == VersionControl || kind == User) {
			t.Errorf("%s, of the kind %q: wrong about what a history opens", name, kind)
		}
	}
}
