//go:build linux

package alike

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// Ordinary jobs, which people do all day, must work in the sandbox as they do without. Each runs in
// its own workspace, under workspace-write, in every setting.

// job is one ordinary job: a bash script that ends with status 0, under
// `set -eu -o pipefail`.
type job struct {
	name string
	// needs are the programs that the job uses.
	needs  string
	script string
	// says must appear in the output.
	says string
	// layer is the layer without which the job cannot work, or two of which it needs one; why is the reason.
	layer, why string
	// optional programs may be missing, also in CI.
	optional bool
	// slow jobs run in CI only, in one setting of each user.
	slow bool
	// fails: the job must end with a status other than 0.
	fails bool
	// rule is the rule of the kernel for which the job fails, and attack the name of an attack that
	// works without this rule.
	rule, attack string
	// unless0: the job makes no sense for root. only0: only for root.
	unless0, only0 bool
}

func (j job) String() string { return j.name }

// TestJobs runs the table in every setting. A user other than root has only one.
func TestJobs(t *testing.T) {
	if os.Getuid() == 0 {
		tests.InSettings(t, "^TestJobsInSetting$")
	} else {
		runJobs(t, attack.ThisUser, jobs, promisedJobs)
	}
}

// TestJobsInSetting is the body of TestJobs, in a process of the setting.
func TestJobsInSetting(t *testing.T) {
	runJobs(t, attack.CurrentSetting(t, "TestJobs"), jobs, promisedJobs)
}

// TestJobsAreMany: there are as many jobs as promised, and none is counted twice.
func TestJobsAreMany(t *testing.T) {
	seen := map[string]bool{}
	for _, j := range slices.Concat(jobs, realJobs) {
		if seen[j.name] || seen[j.script] {
			t.Errorf("%s is there twice", j.name)
		}
		seen[j.name], seen[j.script] = true, true
	}
	if len(jobs) < promisedJobs {
		t.Errorf("%d jobs, want at least %d", len(jobs), promisedJobs)
	}
}

// promisedJobs is the number of jobs that must pass in every setting.
const promisedJobs = 40

// runJobs runs the table in one setting and reports the results.
func runJobs(t *testing.T, s attack.Setting, rows []job, promised int) {
	t.Helper()
	b := backendtest.New(t)
	defer b.Close()
	e, err := sandboxtest.Enforcement(b, sandbox.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("uid %d, layers %s", os.Getuid(), strings.Join(e.Active(), " "))
	passed := 0
	for _, j := range rows {
		// A row that does not apply here is not a gap: it is reported, not skipped.
		if why := j.ruledOut(e, s); why != "" {
			t.Logf("%s: not run: %s", j.name, why)
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			for _, program := range strings.Fields(j.needs) {
				if _, err := attack.LookIn(attack.Path, program); err != nil && machine.Thorough() {
					t.Fatalf("needs %s", program)
				} else if err != nil {
					t.Skipf("needs %s", program)
				}
			}
			if runJob(t, b, j) {
				passed++
			}
		})
	}
	t.Logf("%s: %d of %d jobs passed", s.Name, passed, len(rows))
	if machine.Thorough() && passed < promised {
		t.Errorf("%s: %d jobs passed, want at least %d", s.Name, passed, promised)
	}
}

// ruledOut returns why the row does not apply here; "" if it does.
func (j job) ruledOut(e sandbox.Enforcement, s attack.Setting) string {
	switch {
	case j.slow && !(machine.Thorough() && s.SlowJobs()):
		return "takes long: under CI, and in one setting of each user"
	case j.unless0 && os.Getuid() == 0:
		return "not as root"
	case j.only0 && os.Getuid() != 0:
		return "only as root"
	case j.layer != "" && !slices.ContainsFunc(strings.Fields(j.layer), func(layer string) bool { return slices.Contains(e.Active(), layer) }):
		return "needs the layer " + j.layer + ": " + j.why
	}
	for _, program := range strings.Fields(j.needs) {
		if _, err := attack.LookIn(attack.Path, program); err != nil && j.optional && machine.Thorough() {
			return "optional, and there is no " + program
		}
	}
	return ""
}

func runJob(t *testing.T, b *linuxsandbox.Backend, j job) bool {
	t.Helper()
	base, err := os.MkdirTemp("", "job") // a short name: sockets lie below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(base) })
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	ws, temp := filepath.Join(base, "ws"), filepath.Join(base, "temp")
	for _, dir := range []string{ws, temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := sandbox.WorkspaceWrite(ws)
	p.Temp = temp
	st, out := sandboxtest.Output(t, b, p, sandbox.Command{
		Path: "/bin/bash", Args: []string{"bash", "-eu", "-o", "pipefail", "-c", j.script}, Dir: ws, Env: backendtest.JobEnv(ws, temp),
	})
	if (st.Exit != 0) != (j.fails || j.rule != "") || st.Signal != 0 || !strings.Contains(out, j.says) {
		t.Errorf("uid %d: %+v, want it to say %q\n%s", os.Getuid(), st, j.says, out)
		return false
	}
	return true
}
