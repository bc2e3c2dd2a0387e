//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestConformance runs as the user who runs the tests.
func TestConformance(t *testing.T) {
	sandboxtest.Run(t, func() sandbox.Backend { return newBackend(t) })
}

// TestConformanceWithoutNamespaces runs the suite with only Landlock and the filter.
func TestConformanceWithoutNamespaces(t *testing.T) {
	sandboxtest.Run(t, func() sandbox.Backend { return newPlainBackend(t) })
}

// TestConformanceAsUser runs the same suite as an ordinary user.
func TestConformanceAsUser(t *testing.T) { againAsUser(t, "^TestConformance(WithoutNamespaces)?$") }

func newBackend(t testing.TB) *Backend {
	t.Helper()
	b, err := New(Options{Helper: realHelper(t)})
	if err != nil {
		t.Fatal(err)
	}
	b.globs.patient = true
	names := &fakeNames{}
	b.outside.Lookup, b.outside.Closed = names.find, names.closed
	fakes.Store(b, names)
	// The effect of a limit must not depend on the group in which the tests run.
	b.groups.once.Do(func() { b.groups.facts = groupFacts{Tried: true, Why: "left out in tests"} })
	return b
}

// helperVariable names a helper that was built before.
const helperVariable = "LINUXSANDBOX_TEST_HELPER"

// program is a program that the tests build once.
type program struct {
	once sync.Once
	path string
	err  error
}

// builtHelper and builtTests are removed when the tests end.
var builtHelper, builtTests program

// build builds the program with the go command; args say from what.
func (p *program) build(t testing.TB, name string, args ...string) string {
	t.Helper()
	p.once.Do(func() {
		var dir string
		if dir, p.err = os.MkdirTemp("", name); p.err != nil {
			return
		}
		p.path = filepath.Join(dir, name)
		start := time.Now()
		build := exec.Command("go", slices.Insert(args, len(args)-1, "-o", p.path)...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			p.err = fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
		t.Logf("of the time of this test building %s took %v", name, time.Since(start).Round(time.Millisecond))
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.path
}

func (p *program) remove() {
	if p.path != "" {
		os.RemoveAll(filepath.Dir(p.path))
	}
}

// realHelper builds the helper once, as `make build` does. The test binary could be the helper too
// (TestStart), but with the race detector each start takes a second.
func realHelper(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(helperVariable); path != "" {
		return path
	}
	return builtHelper.build(t, HelperName, "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w -funcalign=16", "codeagent/cmd/linux-sandbox-helper")
}

// plainTests are these tests without the race detector. In a process that tries one setting the
// detector finds nothing that it does not find in others, and it makes tests three to ten times
// slower.
func plainTests(t testing.TB) string {
	t.Helper()
	info, _ := debug.ReadBuildInfo()
	if info == nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return "/proc/self/exe"
	}
	return builtTests.build(t, "tests", "test", "-c", "-vet=off", "codeagent/linuxsandbox")
}

const plainUser = 1001

// againAsUser runs tests of this binary as uid 1001, with files of its own.
func againAsUser(t *testing.T, pattern string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir, err := os.MkdirTemp("", "as-user")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "tests")
	copyFile(t, "/proc/self/exe", binary)
	helper := filepath.Join(dir, HelperName)
	copyFile(t, realHelper(t), helper)
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

// copyFile copies files, also executables. Nobody may fork meanwhile: a child that another test
// starts would hold the copy open for writing until it executes its own program, and until then
// nobody can execute the copy (ETXTBSY).
func copyFile(t testing.TB, from, to string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(dst, src)
	}
	if err == nil {
		err = dst.Close()
	}
	if err != nil {
		t.Fatal(err)
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
