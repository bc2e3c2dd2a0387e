//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatGitTrustsIsProtected: commands cannot write hooks and included settings in the
// workspace that git's configuration names, also those of a nested repository. The last
// rows are the same writes without such a configuration.
func TestWhatGitTrustsIsProtected(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		for _, set := range []bool{true, false} {
			dir := filepath.Join(u.work, "ws")
			nested := filepath.Join(dir, "a/b")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			steps := [][]string{{"init", "-q", dir}, {"init", "-q", nested}}
			if set {
				steps = append(steps, []string{"-C", dir, "config", "core.hooksPath", ".husky/_"}, []string{"-C", dir, "config", "include.path", "../team.config"},
					[]string{"-C", nested, "config", "core.fsmonitor", "tools/watch"})
			}
			for _, args := range steps {
				if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
					t.Fatalf("git %q: %v %s", args, err, out)
				}
			}
			err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
				if err == nil && u.uid >= 0 {
					err = os.Lchown(name, u.uid, u.uid)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			cmd := u.codeagent("sandbox", "--cd", dir, "--", "sh", "-c", `mkdir -p .husky/_; for f in .husky/pre-commit .husky/_/pre-commit team.config a/b/tools/watch; do mkdir -p "${f%/*}"; echo x > $f; done 2>/dev/null; echo x > fine`)
			out, _ := cmd.CombinedOutput()
			for _, name := range []string{".husky/pre-commit", ".husky/_/pre-commit", "team.config", "a/b/tools/watch", "fine"} {
				_, err := os.Lstat(filepath.Join(dir, name))
				if made, want := err == nil, !set || name == "fine"; made != want {
					t.Errorf("set %v: %s made %v, want %v\n%s", set, name, made, want, out)
				}
			}
			if got := strings.Contains(string(out), "write "+dir+"/.husky"); got != set {
				t.Errorf("set %v: told %v\n%s", set, got, out)
			}
		}
	})
}
