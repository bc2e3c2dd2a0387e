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
	b, err := New(Options{Helper: realHelper(t)})
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

// helperVariable names a helper that was built before.
const helperVariable = "LINUXSANDBOX_TEST_HELPER"

// builtHelper and builtTests are removed when the tests end.
var builtHelper, builtTests attack.Program

// realHelper builds the helper once, as `make build` does. The test binary could be the helper too
// (TestStart), but with the race detector each start takes a second.
func realHelper(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(helperVariable); path != "" {
		return path
	}
	return builtHelper.BuildHelper(t, HelperName)
}

// plainTests are these tests without the race detector.
func plainTests(t testing.TB) string {
	t.Helper()
	return builtTests.BuildPlain(t, "codeagent/linuxsandbox")
}

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
	attack.CopyFile(t, realHelper(t), helper)
	temp := filepath.Join(dir, "tmp")
	for _, step := range []error{os.Chmod(dir, 0o755), os.Mkdir(temp, 0o700), os.Chown(temp, plainUser, plainUser)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	cmd := exec.Command(binary, "-test.run", pattern, "-test.v")
	cmd.Dir = temp
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+temp, helperVariable+"="+helper, sandboxtest.NoPause)
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

// need returns the path of the last of programs. If one is missing, the test is skipped. With CI=true,
// where all programs are installed, that is a failure.
func need(t *testing.T, programs ...string) (path string) {
	t.Helper()
	for _, program := range programs {
		var err error
		if path, err = lookIn(jobPath, program); err == nil {
			continue
		}
		if machine.Thorough() {
			t.Fatalf("%s is not installed", program)
		}
		t.Skipf("%s is not installed", program)
	}
	return path
}
