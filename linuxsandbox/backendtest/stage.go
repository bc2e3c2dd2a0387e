//go:build linux

package backendtest

import (
	"os"
	"path/filepath"
	"testing"

	"codeagent/internal/attack"
)

// EnvFilter, in the environment, makes this test binary install the filter on itself before it
// runs the rest of its arguments.
const EnvFilter = "CODEAGENT_TEST_FILTER"

// Stage is where victims run: a copy of this test binary and a directory of their own, both
// accessible to any user.
type Stage struct{ Binary, Dir string }

// NewStage makes a stage for victims of the given user.
func NewStage(t *testing.T, uid int) Stage {
	t.Helper()
	root, err := os.MkdirTemp("", "attack")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	s := Stage{Binary: filepath.Join(root, "victim"), Dir: filepath.Join(root, "work")}
	attack.CopyFile(t, "/proc/self/exe", s.Binary)
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(s.Dir, uid, -1); err != nil {
		t.Fatal(err)
	}
	return s
}
