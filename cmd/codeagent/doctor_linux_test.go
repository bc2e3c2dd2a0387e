package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
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
// hold, or the report states the weakness. What it says of layers and weaknesses is what the goldens of doctor show for such a
// machine.
func TestDoctorOnOtherMachines(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to set the surroundings up")
	}
	goldens := map[string]string{"user, no Landlock": "landlock-0", "user, Landlock ABI 1": "landlock-1", "root, no namespaces, Landlock ABI 2": "landlock-2",
		"user, no namespaces, Landlock ABI 3": "old-kernel", "root, Docker's filter": "root-in-container"}
	for _, s := range machine.Pick(t, t.Name(), 2, 4, attack.OtherMachines) {
		t.Run(s.Name, func(t *testing.T) {
			uid := s.UID
			if uid == 0 {
				uid = -1
			}
			u := newUser(t, "self", uid)
			want := []string{"\n  refused   write a file outside the roots", "\n  refused   change the mode of a file outside", "\n  refused   connect to a server of this machine", "\n  works     write in the temporary folder"}
			switch {
			case s.Landlock > 0:
				if err := buildPrograms(u.bin, attack.OldLandlock(t, s.Landlock)); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprintf("\n  landlock  degraded  ABI %d;", s.Landlock), "\n            lost      limits on TCP", "\n  device-ioctl: ", "signals: ")
			case s.Surroundings == attack.SurroundNoLandlock:
				want = append(want, "\n  landlock  absent    the kernel has none", "\n            but       notify: codeagent makes each change", "\n  mountns   active ")
			default:
				want = append(want, "\n  mountns   absent ", "\n  locks: ", "\n  connect   absent ", "no single host can be opened here")
			}
			if s.Surroundings == attack.SurroundNoNamespaces {
				want = append(want, "\n  mountns   absent    clone: ", "\n  connect   active ", "\n  local-servers: ", "\n  process-death: ")
			}
			r := run1(t, surrounded(t, s.Surroundings, s.UID, u.codeagent("doctor")))
			if r.code != 0 || strings.Contains(r.stdout, "FAILED") || strings.Contains(r.stdout, "unknown") {
				t.Errorf("%v", r)
			}
			for _, want := range want {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("no %q in\n%s", want, r.stdout)
				}
			}
			if name := goldens[s.Name]; name != "" && (s.Landlock > 0 || s.Surroundings == attack.SurroundNoLandlock || strings.Contains(r.stdout, "landlock  active")) {
				text, err := os.ReadFile("doctor/testdata/doctor/" + name + ".txt")
				if got, want := enforced(r.stdout), enforced(string(text)); err != nil || got != want {
					t.Errorf("%v: doctor says\n%s\nand its golden %s\n%s", err, got, name, want)
				}
			}
		})
	}
}

// ownGroup is what doctor says of control groups, which depends on the machine and not on its Landlock.
var ownGroup = regexp.MustCompile(`(?m)^  cgroup .*\n(?: {6,}.*\n)*`)

// enforced is what a report says of layers and weaknesses, without what depends on the machine: line breaks, the newest ABI
// and the folders of the records.
func enforced(report string) string {
	report = ownGroup.ReplaceAllString(report, "")
	_, layers, _ := strings.Cut(report, "sandbox   backend")
	layers, _, _ = strings.Cut(layers, "\nevidence ")
	layers, _, _ = strings.Cut(layers, "\nnot enforced")
	_, weak, _ := strings.Cut(report, "\nnot enforced")
	weak, _, _ = strings.Cut(weak, "\nmodel ")
	words := strings.Join(strings.Fields(layers+weak), " ")
	return regexp.MustCompile(`active ABI \d+;|in sessions: .*? why:`).ReplaceAllString(words, "…")
}

// TestNoSandboxAtAll: where no policy can hold, as in gVisor, no command runs (125), and doctor and the command say why and
// what to do. doctor's verdict is its first line.
func TestNoSandboxAtAll(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	const why = "cannot run commands here: this kernel has no Landlock, and namespaces cannot stand in for it here (open_tree /proc: function not implemented)"
	r := run1(t, surrounded(t, attack.SurroundGVisor, os.Getuid(), u.codeagent("doctor")))
	first, _, _ := strings.Cut(r.stdout, "\n")
	if r.code != 125 || !strings.HasPrefix(first, "sandbox: "+why) || strings.Contains(r.stderr, "codeagent doctor says") {
		t.Errorf("%v", r)
	}
	for _, want := range []string{"\n  landlock  absent ", "\nworkspace /", "  seccomp   active ", "  notify    absent ", "Landlock needs Linux", "gVisor has none", "\nmodel    ", "\nterminal "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	r = run1(t, surrounded(t, attack.SurroundGVisor, os.Getuid(), u.codeagent("sandbox", "--", "true")))
	if r.code != 125 || !strings.Contains(r.stderr, "no Landlock") || !strings.Contains(r.stderr, "what is needed is Linux 5.13") || !strings.Contains(r.stderr, "the command did not run") || !strings.Contains(r.stderr, "codeagent doctor says") {
		t.Errorf("%v", r)
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
				return surrounded(t, row.surroundings, row.uid, cmd)
			})
		})
	}
}

// surrounded is cmd in these surroundings.
func surrounded(t *testing.T, surroundings string, uid int, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	attr, env := &syscall.SysProcAttr{}, ""
	if surroundings == attack.SurroundNoNamespaces {
		var err error
		if attr, env, err = attack.NewUserNamespace(); err != nil {
			t.Fatal(err)
		}
	}
	launched := exec.Command("/proc/self/exe")
	launched.Args = append([]string{attack.LauncherName, surroundings, strconv.Itoa(uid)}, cmd.Args...)
	launched.Dir, launched.Env, launched.SysProcAttr = cmd.Dir, append(cmd.Env, env), attr
	return launched
}
