//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestGlobs runs TestGlobsInSetting in every setting.
func TestGlobs(t *testing.T) { tests.InSettings(t, "^TestGlobsInSetting$") }

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
			ws := t.TempDir()
			for _, name := range []string{
				".env", "a/.env", "a/b/.env", "a/b/env", "keys.d/one", "other/y.pub", "target", "x.key.bak",
				"shut/.env", "shut/b/.env", "unlisted/.env", "unentered/.env",
			} {
				path := filepath.Join(ws, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("secret\n"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("../target", ws+"/other/.env"); err != nil {
				t.Fatal(err)
			}
			for name, mode := range map[string]os.FileMode{"shut": 0, "unlisted": 0o300, "unentered": 0o400} {
				dir := filepath.Join(ws, name)
				t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
				if err := os.Chmod(dir, mode); err != nil {
					t.Fatal(err)
				}
			}
			p := sandbox.WorkspaceWrite(ws)
			p.DenyGlobs = []string{"**/.env", "*.d"}
			_, out := sandboxtest.Output(t, b, p, sandbox.Command{
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
