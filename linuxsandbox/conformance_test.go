//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/plan"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"
)

// TestConformance runs as the user who runs the tests.
func TestConformance(t *testing.T) {
	sandboxtest.Run(t, func() resolved.Backend { return newBackend(t) })
}

// TestConformanceWithoutNamespaces runs the suite with only Landlock and the filter.
func TestConformanceWithoutNamespaces(t *testing.T) {
	sandboxtest.Run(t, func() resolved.Backend { return newPlainBackend(t) })
}

// TestConformanceAsUser runs the same suite as an ordinary user.
func TestConformanceAsUser(t *testing.T) { againAsUser(t, "^TestConformance(WithoutNamespaces)?$") }

func newBackend(t testing.TB) *Backend {
	t.Helper()
	b, err := New(Options{Helper: tests.Helper(t)})
	if err != nil {
		t.Fatal(err)
	}
	b.globs = plan.NewGlobs(time.Hour)
	names := &fakeNames{}
	b.outside.Lookup, b.outside.Closed = names.find, names.closed
	fakes.Store(b, names)
	// The effect of a limit must not depend on the group in which the tests run.
	b.groups.Close()
	return b
}

// tests are those of this package, which run again as other users and in other settings.
var tests = attack.Tests{Package: "codeagent/linuxsandbox", Env: []string{sandboxtest.NoPause}}

const plainUser = attack.PlainUser

// againAsUser runs tests of this binary as uid 1001, with files of its own.
func againAsUser(t *testing.T, pattern string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	machine.Turn(t, 3)
	dir, err := os.MkdirTemp("", "as-user")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "tests")
	attack.CopyFile(t, "/proc/self/exe", binary)
	helper := filepath.Join(dir, HelperName)
	attack.CopyFile(t, tests.Helper(t), helper)
	temp := filepath.Join(dir, "tmp")
	for _, step := range []error{os.Chmod(dir, 0o755), os.Mkdir(temp, 0o700), os.Chown(temp, plainUser, plainUser)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	cmd := exec.Command(binary, "-test.run", pattern, "-test.v")
	cmd.Dir = temp
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+temp, attack.EnvHelper+"="+helper, sandboxtest.NoPause)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainUser, Gid: plainUser}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("as uid %d: %v\n%s", plainUser, err, out)
	} else {
		t.Logf("as uid %d:\n%s", plainUser, out)
	}
}

// newPlainBackend is a backend whose keepers get no namespaces.
func newPlainBackend(t testing.TB) *Backend {
	t.Helper()
	b := newBackend(t)
	b.plain = errPlain
	return b
}

var errPlain = errors.New("the test wants none")
