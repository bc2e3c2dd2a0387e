//go:build linux

package attack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/machine"
)

// Setting is a kind of machine on which the sandbox must work.
type Setting struct {
	Name, Surroundings string
	UID                int
	// Landlock is the newest ABI that the helper uses there; 0: the kernel's.
	Landlock int
}

func (s Setting) String() string { return s.Name }

// Races reports whether to run races: in one setting, and under CI in all.
func (s Setting) Races() bool { return s.Name == "user" || machine.Thorough() }

// SlowJobs reports whether the slow jobs run here.
func (s Setting) SlowJobs() bool {
	return s.Name == "root" || s.Name == "user, no namespaces" || s == ThisUser
}

// ThisUser is where tests run that no other user can start.
var ThisUser = Setting{Name: "this user"}

// PlainUser is an ordinary user.
const PlainUser = 1001

// Settings are those in which every attack is tried.
var Settings = []Setting{
	{"root", SurroundPlain, 0, 0},
	{"user", SurroundPlain, PlainUser, 0},
	{"root, no namespaces", SurroundNoNamespaces, 0, 0},
	{"user, no namespaces", SurroundNoNamespaces, PlainUser, 0},
	{"root in a container", SurroundContainer, 0, 0},
	{"user in a container", SurroundContainer, PlainUser, 0},
	{"user, covered /proc", SurroundMaskedProc, PlainUser, 0},
}

// OtherMachines are those of kernels whose Landlock lacks rights (truncation before ABI 3, Linux 6.2; moves between
// folders before ABI 2, 5.19) or that have none, and of Docker's default filter. The helper of an old kernel uses no newer
// right, so that the kernel refuses no more than an old one.
var OtherMachines = slices.Concat(oldLandlock(1), oldLandlock(2), oldLandlock(3), []Setting{
	{"user, no Landlock", SurroundNoLandlock, PlainUser, 0},
	{"root, no Landlock", SurroundNoLandlock, 0, 0},
	{"user, Docker's filter", SurroundDocker, PlainUser, 0},
	{"root, Docker's filter", SurroundDocker, 0, 0},
})

// Bwrap are those of the backend bwrap, on a kernel for which it is: without Landlock, listener and new calls for mounts.
var Bwrap = []Setting{{"user, bwrap", SurroundGVisor, PlainUser, 0}, {"root, bwrap", SurroundGVisor, 0, 0}}

// InBwrap reports whether this process is in one of them.
func InBwrap() bool { return strings.HasSuffix(os.Getenv(EnvSetting), ", bwrap") }

// Containers are those of the backend container, with Podman.
var Containers = []Setting{{"user, podman", SurroundPlain, PlainUser, 0}, {"root, podman", SurroundPlain, 0, 0}}

// InContainers reports whether this process is in one of them.
func InContainers() bool { return strings.HasSuffix(os.Getenv(EnvSetting), ", podman") }

// WithLandlock stands in the name of a setting with an old Landlock, behind the setting that is the same but for it.
const WithLandlock = ", Landlock ABI "

// oldLandlock are both users, with and without namespaces.
func oldLandlock(abi int) (out []Setting) {
	for _, s := range Settings[:4] {
		out = append(out, Setting{s.Name + WithLandlock + strconv.Itoa(abi), s.Surroundings, s.UID, abi})
	}
	return out
}

const (
	// EnvSetting names the setting of a test process.
	EnvSetting = "CODEAGENT_TEST_SETTING"
	// EnvStage is a folder that the user of a setting may write.
	EnvStage = "CODEAGENT_TEST_STAGE"
)

// InSettings runs in every setting, or in those whose turn it is, what start returns: the tests of a binary in a process of the
// setting. together: the settings run beside each other. In CI they are most of all, other ones in each turn. A
// user other than root has only one.
func InSettings(t *testing.T, together bool, most int, start func(t *testing.T, s Setting) *exec.Cmd) {
	t.Helper()
	InThese(t, together, settingsOf(t, most), start)
}

// InThese does so in the given settings.
func InThese(t *testing.T, together bool, settings []Setting, start func(t *testing.T, s Setting) *exec.Cmd) {
	t.Helper()
	if together {
		t.Parallel() // with other tests of settings, after all tests that use this process alone
	}
	for _, s := range settings {
		t.Run(s.Name, func(t *testing.T) {
			if together {
				t.Parallel()
			}
			switch {
			case s.UID != os.Getuid() && os.Getuid() != 0, os.Getuid() != 0 && s.Surroundings != SurroundPlain:
				t.Skip("needs root, to become another user and to set its surroundings up")
			}
			out, err := start(t, s).CombinedOutput()
			if err != nil || !ranHere(string(out)) {
				t.Errorf("%s: %v\n%s", s.Name, err, WithoutPassed(string(out)))
			} else {
				t.Logf("%s:\n%s", s.Name, out)
			}
			for _, line := range skipped(string(out)) {
				t.Logf("not tried in %s: %s", s.Name, line)
			}
			for _, line := range sampled.FindAllString(string(out), -1) {
				t.Logf("in %s %s", s.Name, line)
			}
		})
	}
}

// settingsOf are those whose turn it is. Who is not root hears of each what it needs.
func settingsOf(t *testing.T, most int) []Setting {
	if os.Getuid() != 0 {
		return Settings
	}
	return machine.Pick(t, t.Name(), 1, most, Settings)
}

// Command returns the command that runs tests of binary in the setting, with files of their own in
// dir, a folder of Stage.
func (s Setting) Command(t *testing.T, dir, binary, pattern string) *exec.Cmd {
	t.Helper()
	attr, env := &syscall.SysProcAttr{}, ""
	if s.Surroundings == SurroundNoNamespaces {
		var err error
		if attr, env, err = NewUserNamespace(); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{LauncherName, s.Surroundings, strconv.Itoa(s.UID), binary, "-test.run", pattern, "-test.v"}
	cmd.SysProcAttr, cmd.Dir = attr, dir+"/tmp"
	cmd.Env = append(os.Environ(), env, EnvSetting+"="+s.Name, EnvStage+"="+dir+"/files", "TMPDIR="+dir+"/tmp", "HOME="+dir+"/tmp")
	return cmd
}

// CurrentSetting is the setting of this process, after a check. In a process that was not started
// for a setting it skips the test: the test named test starts one for each.
func CurrentSetting(t *testing.T, test string) Setting {
	t.Helper()
	all := slices.Concat(Settings, OtherMachines, Bwrap, Containers)
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == os.Getenv(EnvSetting) })
	if i < 0 {
		t.Skip("body of " + test)
	}
	if err := Surrounded(all[i].Surroundings); err != nil || os.Getuid() != all[i].UID {
		t.Fatalf("not in the setting: uid %d, %v", os.Getuid(), err)
	}
	return all[i]
}

// ranHere reports whether tests ran to their end in a process of a setting, or reported why they do
// not apply.
func ranHere(out string) bool {
	return (strings.Contains(out, "--- PASS: ") || strings.Contains(out, "--- SKIP: ")) && !strings.Contains(out, "body of ")
}

// sampled matches the lines of tests that try a sample of their rows.
var sampled = regexp.MustCompile(machine.Sampled + `.*`)

// skipped lists the tests that a verbose run skipped, by reason. The summary of all tests names
// them (internal/testsummary).
func skipped(out string) []string {
	names, reasons, last := map[string][]string{}, []string{}, ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "--- SKIP: "); ok {
			name, _, _ := strings.Cut(rest, " ")
			if names[last] == nil {
				reasons = append(reasons, last)
			}
			names[last] = append(names[last], name)
		}
		_, last, _ = strings.Cut(line, ": ")
	}
	for i, why := range reasons {
		reasons[i] = why + ": " + strings.Join(names[why], ", ")
	}
	return reasons
}

// WithoutPassed is the output of a verbose test run without the lines that only say which tests
// started and passed, so that failures are visible in a truncated log.
func WithoutPassed(out string) string {
	var kept strings.Builder
	for line := range strings.Lines(out) {
		if text := strings.TrimSpace(line); !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- PASS: ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// Stage is a folder accessible to a user, with two folders of the user's own: tmp and files. If
// possible it is not below /tmp: a sandbox that gives commands their own /tmp would hide it.
func Stage(t *testing.T, uid int) string {
	t.Helper()
	var dir string
	var err error
	for _, parent := range []string{"/srv", "/var/lib", ""} {
		if dir, err = os.MkdirTemp(parent, "codeagent-settings"); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { RemoveAll(dir) })
	steps := []error{os.Chmod(dir, 0o755)}
	for _, name := range []string{"tmp", "files"} {
		own := filepath.Join(dir, name)
		steps = append(steps, os.Mkdir(own, 0o755))
		if os.Getuid() == 0 {
			steps = append(steps, os.Chown(own, uid, uid))
		}
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// RemoveAll also removes folders that a victim made inaccessible.
func RemoveAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
