package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
)

// init makes this test binary a launcher of surroundings if it was started as one.
func init() { attack.Launcher() }

// TestDoctorInSettings runs doctor with and without namespaces. Without root it uses only the
// machine's own settings.
func TestDoctorInSettings(t *testing.T) {
	t.Parallel()
	const held, lost = `
  refused   write a file outside the roots
  refused   change the mode of a file outside
  refused   connect to a server of this machine
  refused   connect to a socket file
  refused   signal codeagent
  refused   leave a process behind`, `
            lost      the end of all processes that a command leaves behind
            but       the keeper finds and ends them`
	want := map[string]string{
		"root": held + "\n  mountns   active    tried: ", "user": held + "\n  userns    active    tried: ",
		"user without namespaces": held + lost + "\n  mountns   absent    ", "root in a container": held + lost + "\n  mountns   absent    ",
	}
	inSettings(t, func(t *testing.T, name string, u user, launch func(*exec.Cmd) *exec.Cmd) {
		r := run1(t, launch(u.codeagent("doctor")))
		if r.code != 0 || strings.Contains(r.stdout, "FAILED") || strings.Contains(r.stdout, "unknown") {
			t.Errorf("%v", r)
		}
		for _, line := range strings.Split(want[name], "\n") {
			if !strings.Contains(r.stdout, line) {
				t.Errorf("no %q in\n%s", line, r.stdout)
			}
		}
		t.Log(r.stdout)
	})
}

// TestDoctorOnOtherMachines: with a Landlock of ABI 1, 2 or 3, without Landlock, and in Docker's default filter doctor's tries
// hold, or the report states the weakness.
func TestDoctorOnOtherMachines(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to set the surroundings up")
	}
	for _, row := range []struct {
		name, surroundings string
		landlock           int
		want               []string
	}{
		{"ABI 1", attack.SurroundPlain, 1, []string{"\n  landlock  degraded  ABI 1;", "\n            lost      limits on emptying files that are not opened for writing", "\n            but       seccomp: such calls are refused, or codeagent makes them"}},
		{"ABI 2", attack.SurroundPlain, 2, []string{"\n  landlock  degraded  ABI 2;", "\n            lost      limits on emptying files that are not opened for writing"}},
		{"ABI 3", attack.SurroundPlain, 3, []string{"\n  landlock  degraded  ABI 3;", "\n            lost      limits on TCP"}},
		{"no Landlock", attack.SurroundNoLandlock, 0, []string{"\n  landlock  absent    the kernel has none", "\n            but       notify: codeagent makes each change", "\n  mountns   active "}},
		{"Docker", attack.SurroundDocker, 0, []string{"\n  mountns   absent ", "\n  locks: ", "\n  connect   absent "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := newUser(t, "self", ordinary)
			if row.landlock > 0 {
				if err := buildPrograms(u.bin, attack.OldLandlock(t, row.landlock)); err != nil {
					t.Fatal(err)
				}
			}
			cmd := u.codeagent("doctor")
			cmd.Path, cmd.SysProcAttr = "/proc/self/exe", nil
			cmd.Args = append([]string{attack.LauncherName, row.surroundings, strconv.Itoa(ordinary)}, cmd.Args...)
			r := run1(t, cmd)
			if r.code != 0 || strings.Contains(r.stdout, "FAILED") || strings.Contains(r.stdout, "unknown") {
				t.Errorf("%v", r)
			}
			for _, want := range append(row.want, "\n  refused   write a file outside the roots", "\n  refused   change the mode of a file outside", "\n  refused   connect to a server of this machine", "\n  works     write in the temporary folder") {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("no %q in\n%s", want, r.stdout)
				}
			}
		})
	}
}

// TestDoctorWithoutLandlock: the whole report, its verdict first, if no command can run, as in gVisor.
func TestDoctorWithoutLandlock(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	cmd := u.codeagent("doctor")
	cmd.Path, cmd.Args = "/proc/self/exe", append([]string{attack.LauncherName, attack.SurroundGVisor, strconv.Itoa(os.Getuid())}, cmd.Args...)
	r := run1(t, cmd)
	first, _, _ := strings.Cut(r.stdout, "\n")
	if r.code != 125 || !strings.HasPrefix(first, "sandbox: cannot run commands here: ") {
		t.Errorf("status %d, first line %q", r.code, first)
	}
	for _, want := range []string{"\n  landlock  absent ", "\nworkspace /", "  seccomp   active ", "Landlock needs Linux", "\nmodel    ", "\nterminal "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if strings.Contains(r.stderr, "codeagent doctor says") {
		t.Errorf("doctor recommends itself: %s", r.stderr)
	}
}

// inSettings runs f with and without namespaces; launch changes a run of the program to one in
// these surroundings.
func inSettings(t *testing.T, f func(t *testing.T, name string, u user, launch func(*exec.Cmd) *exec.Cmd)) {
	if os.Getuid() != 0 {
		f(t, "own", newUser(t, "self", -1), func(cmd *exec.Cmd) *exec.Cmd { return cmd })
		return
	}
	for _, row := range []struct {
		name, surroundings string
		uid                int
	}{
		{"root", attack.SurroundPlain, 0},
		{"user", attack.SurroundPlain, ordinary},
		{"user without namespaces", attack.SurroundNoNamespaces, ordinary},
		{"root in a container", attack.SurroundContainer, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			uid := row.uid
			if uid == 0 {
				uid = -1
			}
			f(t, row.name, newUser(t, row.name, uid), func(cmd *exec.Cmd) *exec.Cmd {
				attr, env := &syscall.SysProcAttr{}, ""
				if row.surroundings == attack.SurroundNoNamespaces {
					var err error
					if attr, env, err = attack.NewUserNamespace(); err != nil {
						t.Fatal(err)
					}
				}
				launched := exec.Command("/proc/self/exe")
				launched.Args = append([]string{attack.LauncherName, row.surroundings, strconv.Itoa(row.uid)}, cmd.Args...)
				launched.Dir, launched.Env, launched.SysProcAttr = cmd.Dir, append(cmd.Env, env), attr
				return launched
			})
		})
	}
}
