package patch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// edit changes a few lines of a file at random, drawn from few distinct lines so
// that equal places abound.
func edit(r *rand.Rand, lines []string) []string {
	var out []string
	for _, l := range lines {
		switch n := r.IntN(30); {
		case n == 0: // removed
		case n == 1:
			out = append(out, fmt.Sprintf("changed %d\n", r.IntN(9)))
		case n == 2:
			out = append(out, l, fmt.Sprintf("new %d\n", r.IntN(9)))
		default:
			out = append(out, l)
		}
	}
	return out
}

func join(r *rand.Rand, lines []string) string {
	s := strings.Join(lines, "")
	if r.IntN(4) == 0 {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

// git runs git in dir with no configuration of the machine.
func git(t *testing.T, dir string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+dir)
	return cmd.Output()
}

// The hunks of git's own diff give the same file here as with git apply: on the
// very file, and with lines put above it so that every number is off.
func TestSameAsGitApply(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	put := func(name, data string) {
		if err := os.WriteFile(path(name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compared := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var lines []string
		for range 20 + r.IntN(100) {
			lines = append(lines, fmt.Sprintf("line %d\n", r.IntN(25)))
		}
		old, changed := join(r, lines), join(r, edit(r, lines))
		if old == changed {
			continue
		}
		put("f", old)
		put("new", changed)
		diff, err := git(t, dir, "diff", "--no-index", "--no-color", "f", "new")
		if err == nil || len(diff) == 0 {
			t.Fatalf("git diff: %v", err)
		}
		_, hunks, ok := bytes.Cut(diff, []byte("\n@@"))
		if !ok {
			t.Fatalf("no hunk in %s", diff)
		}
		hunks = append([]byte("@@"), hunks...)
		put("p", "--- a/f\n+++ b/f\n"+string(hunks))
		for _, above := range []string{"", "above 1\nabove 2\nabove 3\n"} {
			put("f", above+old)
			if out, err := git(t, dir, "apply", "p"); err != nil {
				continue // shifted onto equal lines: git refuses, nothing to compare
			} else if len(out) > 0 {
				t.Fatalf("git apply: %s", out)
			}
			want, err := os.ReadFile(path("f"))
			if err != nil {
				t.Fatal(err)
			}
			m := newMemory(map[string]string{"f": above + old})
			if _, err := run(m, "*** Begin Patch\n*** Update File: f\n"+string(hunks)+"*** End Patch\n"); err != nil {
				t.Errorf("seed %d, %q above: %v", seed, above, err)
				continue
			}
			if got := string(m.files["f"].Data); got != string(want) {
				t.Errorf("seed %d, %q above: differs from git apply\n%s", seed, above, hunks)
			}
			compared++
		}
	}
	if compared < 80 {
		t.Errorf("only %d patches were compared", compared)
	}
}
