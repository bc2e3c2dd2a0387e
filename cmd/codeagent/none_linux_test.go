package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/sandbox"
)

// TestNoSandboxOnlyByChoice: on a kernel without Landlock no command runs, unless the user has
// allowed running unconfined, which is then reported each time.
func TestNoSandboxOnlyByChoice(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to take Landlock away")
	}
	// The same setting if a sandbox works.
	const warn = "-csandbox.fallback=warn"
	stated := func(r result) bool {
		return r.report.Sandbox.Backend == "none" &&
			slices.ContainsFunc(r.report.Sandbox.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == "unconfined" })
	}
	for _, row := range []struct {
		name       string
		noLayers   bool
		flags      []string
		runs, none bool
		says       string
	}{
		{"a sandbox", false, nil, true, false, ""},
		{"a sandbox, and the fallback is not needed", false, []string{warn}, true, false, ""},
		{"a layer is missing", false, []string{warn, `-csandbox.required_layers=["seatbelt"]`}, false, false, "seatbelt"},
		{"no sandbox", true, nil, false, false, "-c sandbox.fallback=warn"},
		{"no sandbox, by choice", true, []string{warn}, true, true, "without a sandbox"},
		{"no sandbox, by choice, and a list that nothing enforces", true, []string{warn, `-csandbox.allowed_programs=["cat"]`}, false, false, "sandbox.allowed_programs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := newUser(t, "root", -1)
			report := u.out + "/report.json"
			cmd := u.codeagent(append(append([]string{"sandbox", "--report", report}, row.flags...), "--", "bash", "-c", "echo ran > ~/outside; echo ran")...)
			if row.noLayers {
				cmd = withoutLayers(cmd)
			}
			r := run1(t, cmd)
			r.read(t, report)
			_, err := os.Stat(u.home + "/outside")
			if ran := r.stdout == "ran\n"; ran != row.runs || !ran && r.code != 125 || stated(r) != row.none || (err == nil) != row.none || !strings.Contains(r.stderr, row.says) {
				t.Errorf("%v\n%+v, written outside: %v", r, r.report.Sandbox, err == nil)
			}
		})
	}
	t.Run("doctor", func(t *testing.T) {
		u := newUser(t, "root", -1)
		if r := run1(t, withoutLayers(u.codeagent("doctor", warn))); !strings.Contains(r.stdout, "commands run without a sandbox") || !strings.Contains(r.stdout, "unconfined: ") {
			t.Errorf("%v", r)
		}
	})
}

func withoutLayers(cmd *exec.Cmd) *exec.Cmd {
	out := exec.Command("/proc/self/exe")
	out.Args = append([]string{attack.LauncherName, attack.SurroundGVisor, "0"}, cmd.Args...)
	out.Dir, out.Env = cmd.Dir, cmd.Env
	return out
}
