//go:build linux

package plan

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// globTree is a workspace with files that match the globs.
func globTree(t *testing.T) string {
	t.Helper()
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "keys.d", "other", "closed"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(ws, dir), 0o755))
	}
	for _, f := range []string{".env", "a/.env", "a/b/.env", "a/b/env", "keys.d/one", "other/x.key", "other/y.pub", "target", "x.key.bak"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(ws, f), []byte("secret\n"), 0o644))
	}
	err = errors.Join(err, os.Symlink("../target", ws+"/other/.env"), os.Symlink("other", ws+"/link.key"), os.Symlink("nothing", ws+"/gone.key"))
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// TestGlobSearch: the search finds what the policy denies, and the targets of denied links.
func TestGlobSearch(t *testing.T) {
	ws := globTree(t)
	for _, row := range []struct{ globs, want string }{
		{"**/.env", ".env a/.env a/b/.env target"},
		{ws + "/*.key", ""},
		{"**/*.key", "other/x.key"},
		{"*.d", "keys.d"},
		{"a/*/env", "a/b/env"},
		{"**/b/*", "a/b/.env a/b/env"},
		{ws + "/a/**", "a"},
		{"nothing*", ""},
	} {
		x := NewGlobs(time.Hour)
		p := sandbox.WorkspaceWrite(ws)
		p.DenyGlobs = strings.Fields(row.globs)
		m := x.Find(p.DenyGlobs, Searched(sandboxtest.Resolved(p)))
		var got []string
		for _, path := range m.Paths {
			got = append(got, strings.TrimPrefix(path, ws+"/"))
			real := !strings.HasSuffix(path, "/target")
			if real && p.JudgeRead(path).Allowed {
				t.Errorf("%s: %s may be read", row.globs, path)
			}
		}
		if strings.Join(got, " ") != row.want || m.Why != "" {
			t.Errorf("%s: %q %q, want %q", row.globs, got, m.Why, row.want)
		}
	}
}

// TestGlobSearchIsRenewed: the next start knows new files.
func TestGlobSearchIsRenewed(t *testing.T) {
	ws := globTree(t)
	x := NewGlobs(time.Hour)
	p := sandbox.WorkspaceWrite(ws)
	p.DenyGlobs = []string{"**/.env"}
	before := len(x.Find(p.DenyGlobs, Searched(sandboxtest.Resolved(p))).Paths)
	x.patience = time.Second
	defer x.Close()
	if err := os.WriteFile(ws+"/a/b/c.env", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ws+"/a/b/c.env", ws+"/keys.d/.env"); err != nil {
		t.Fatal(err)
	}
	// A start repeats a search that was fast, and others after a rest: on a loaded machine that can
	// take seconds.
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		m := x.Find(p.DenyGlobs, Searched(sandboxtest.Resolved(p)))
		if len(m.Paths) == before+1 && slices.Contains(m.Paths, ws+"/keys.d/.env") {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the new file is not found: %+v", m)
		}
	}
}
