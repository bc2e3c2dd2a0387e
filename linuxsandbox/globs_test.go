//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		x := globIndex{patient: true}
		p := sandbox.WorkspaceWrite(ws)
		p.DenyGlobs = strings.Fields(row.globs)
		m := x.find(p.DenyGlobs, searched(sandboxtest.Resolved(p)))
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
	x := globIndex{patient: true}
	p := sandbox.WorkspaceWrite(ws)
	p.DenyGlobs = []string{"**/.env"}
	before := len(x.find(p.DenyGlobs, searched(sandboxtest.Resolved(p))).Paths)
	x.patient = false
	defer x.close()
	if err := os.WriteFile(ws+"/a/b/c.env", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ws+"/a/b/c.env", ws+"/keys.d/.env"); err != nil {
		t.Fatal(err)
	}
	// A start repeats a search that was fast, and others after a rest: on a loaded machine that can
	// take seconds.
	waitFor(t, func() bool {
		m := x.find(p.DenyGlobs, searched(sandboxtest.Resolved(p)))
		return len(m.Paths) == before+1 && slices.Contains(m.Paths, ws+"/keys.d/.env")
	}, "the new file is not found")
}

// TestGlobs runs TestGlobsInSetting in every setting.
func TestGlobs(t *testing.T) { inSettings(t, "^TestGlobsInSetting$") }

// TestGlobsInSetting: with mounts, files that match a glob cannot be read, and everything else
// works.
func TestGlobsInSetting(t *testing.T) {
	b, f := backendInSetting(t, "TestGlobs")
	if !f.Namespaces {
		t.Skip("no mount namespace here, which is a stated weakness")
	}
	for _, row := range []struct{ name, script, want string }{
		{"by name", `cat .env a/.env`, ""},
		{"by its path", `cat $WS/a/b/.env`, ""},
		{"a link that matches", `cat other/.env target`, ""},
		{"a new link", `ln -s a/.env l; cat l`, ""},
		{"a folder that matches", `cat keys.d/one; ls keys.d`, ""},
		{"copied", `cp .env copy; cat copy`, ""},
		{"in place of another", `mv a/b a/c; cat a/c/.env a/b/.env`, ""},
		{"through /proc", `exec 3<.env; cat <&3; cat /proc/self/cwd/.env`, ""},
		{"in a folder that was shut before", `chmod 755 shut; cat shut/b/.env shut/.env`, ""},
		{"in a folder that cannot be listed", `cat unlisted/.env`, ""},
		{"in a folder that cannot be entered", `chmod 755 unentered; cat unentered/.env`, ""},
		{"nothing else", `cat a/b/env other/y.pub x.key.bak; echo more > a/new; cat a/new`, "secret\nsecret\nsecret\nmore"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ws := globTree(t)
			for name, mode := range map[string]os.FileMode{"shut": 0, "unlisted": 0o300, "unentered": 0o400} {
				dir := filepath.Join(ws, name)
				t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
				if err := errors.Join(os.MkdirAll(dir+"/b", 0o755), os.WriteFile(dir+"/.env", []byte("secret\n"), 0o644),
					os.WriteFile(dir+"/b/.env", []byte("secret\n"), 0o644), os.Chmod(dir, mode)); err != nil {
					t.Fatal(err)
				}
			}
			p := sandbox.WorkspaceWrite(ws)
			p.DenyGlobs = []string{"**/.env", "*.d"}
			_, out := run(t, b, p, sandbox.Command{
				Path: "bash", Args: []string{"bash", "-c", "exec 2>/dev/null; " + row.script}, Dir: ws, Env: []string{"PATH=/bin:/usr/bin", "WS=" + ws},
			})
			if strings.TrimSpace(out) != row.want {
				t.Errorf("%q, want %q", out, row.want)
			}
			if left, err := os.ReadFile(ws + "/.env"); err != nil || string(left) != "secret\n" {
				t.Errorf("on the host: %q %v", left, err)
			}
		})
	}
}
