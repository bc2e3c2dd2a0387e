//go:build linux

package attack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/machine"

	"golang.org/x/sys/unix"
)

// Tests are those of one package of the sandbox. They run again as other users and in other
// settings, from a copy of their binary, with a helper that is built once.
type Tests struct {
	// Package is their import path.
	Package string
	// Env is added to the environment of the tests in a setting.
	Env []string

	helper, plain Program
	// old are helpers by the newest ABI of Landlock that they use.
	old [4]Program
}

const (
	// EnvHelper names a helper that was built before.
	EnvHelper = "LINUXSANDBOX_TEST_HELPER"
	// HostSecret is in the environment and the memory of the host, and in files that no command may
	// read.
	HostSecret = "the-secret-of-the-host"
	// StrangerUID is a user who owns nothing that a command may touch.
	StrangerUID = 4712

	helperName = "linux-sandbox-helper"
	// perTurn is in how many settings a test runs in one turn of CI.
	perTurn = 2
)

// Helper builds the helper once, as `make build` does. The test binary could be the helper too, but
// with the race detector each start takes a second.
func (own *Tests) Helper(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(EnvHelper); path != "" {
		return path
	}
	return own.helper.BuildHelper(t, helperName)
}

// toolchain tries what building a program begins with. An emulated machine (.ci/guest) has none.
var toolchain = machine.Trial{What: "building programs with Go", Do: func(testing.TB) error {
	return exec.Command("go", "list", "-deps", "codeagent/linuxsandbox/keeper").Run()
}}

// Remove removes what was built.
func (own *Tests) Remove() {
	own.helper.Remove()
	own.plain.Remove()
	for i := range own.old {
		own.old[i].Remove()
	}
}

// InSettings runs the tests of a pattern in the settings of its turn. A user other than root has only one.
func (own *Tests) InSettings(t *testing.T, pattern string) {
	t.Helper()
	own.Run(t, pattern, true, perTurn)
}

// InEachSetting does so one after the other: these tests affect all processes of their user.
func (own *Tests) InEachSetting(t *testing.T, pattern string) {
	t.Helper()
	own.Run(t, pattern, false, perTurn)
}

// Run runs the tests of a pattern as InSettings of this package does.
func (own *Tests) Run(t *testing.T, pattern string, together bool, most int) {
	t.Helper()
	InSettings(t, together, most, func(t *testing.T, s Setting) *exec.Cmd { return own.Command(t, s, pattern) })
}

// AsUser runs tests of this binary as PlainUser, with files of its own.
func (own *Tests) AsUser(t *testing.T, pattern string) {
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
	CopyFile(t, "/proc/self/exe", binary)
	helper := filepath.Join(dir, helperName)
	CopyFile(t, own.Helper(t), helper)
	temp := filepath.Join(dir, "tmp")
	for _, step := range []error{os.Chmod(dir, 0o755), os.Mkdir(temp, 0o700), os.Chown(temp, PlainUser, PlainUser)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	cmd := exec.Command(binary, "-test.run", pattern, "-test.v")
	cmd.Dir = temp
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+temp, EnvHelper+"="+helper)
	cmd.Env = append(cmd.Env, own.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: PlainUser, Gid: PlainUser}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("as uid %d: %v\n%s", PlainUser, err, out)
	} else {
		t.Logf("as uid %d:\n%s", PlainUser, out)
	}
}

// Command runs this test binary again, in the setting. One setting has the race detector, if there is
// one.
func (own *Tests) Command(t *testing.T, s Setting, pattern string) *exec.Cmd {
	t.Helper()
	dir := Stage(t, s.UID)
	binary := filepath.Join(dir, "tests")
	from := "/proc/self/exe"
	if s.Name != "user" {
		from = own.plain.BuildPlain(t, own.Package)
	}
	CopyFile(t, from, binary)
	helper := filepath.Join(dir, helperName)
	built := own.Helper
	if abi, _ := value(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1); s.Landlock > 0 && s.Landlock < int(abi) {
		toolchain.Require(t)
		built = func(t testing.TB) string { return own.old[s.Landlock].BuildOldHelper(t, helperName, s.Landlock) }
	}
	CopyFile(t, built(t), helper)
	id, err := LookIn(Path, "id")
	if err != nil {
		t.Fatal(err)
	}
	setUID := filepath.Join(dir, "id")
	CopyFile(t, id, setUID)
	if err := errors.Join(os.Chown(setUID, StrangerUID, StrangerUID), os.Chmod(setUID, os.ModeSetuid|0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := s.Command(t, dir, binary, pattern)
	cmd.Env = append(append(cmd.Env, EnvHelper+"="+helper, "HOST_SECRET="+HostSecret), own.Env...)
	return cmd
}

// SetUIDProgram is the set-user-ID program of StrangerUID that Command has put beside the stage.
func SetUIDProgram() string { return filepath.Join(filepath.Dir(os.Getenv(EnvStage)), "id") }

// BodyOf skips a test whose work runs in a separate process, started by the named test.
// internal/testsummary checks that the work was done.
func BodyOf(t *testing.T, test string) {
	t.Helper()
	t.Skip("body of " + test)
}
