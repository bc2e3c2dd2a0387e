package conversation

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"

	"codeagent/config/configtest"
	"codeagent/exec"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
)

const suggestedVariable = "CODEAGENT_TEST_SUGGESTED"

// TestSuggestionsEveryday: codeagent accepts what each everyday job suggests, and the job gets further with
// it. Outside CI this is a sample.
func TestSuggestionsEveryday(t *testing.T) { inStages(t, suggestedVariable, "TestSuggestedJobs", 1) }

// TestSuggestedJobs is the body of TestSuggestionsEveryday, in a process of its user.
func TestSuggestedJobs(t *testing.T) {
	stage := os.Getenv(suggestedVariable)
	if stage == "" {
		t.Skip("body of TestSuggestionsEveryday")
	}
	backend, err := linuxsandbox.New(linuxsandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	files := exec.OS{}
	runner := exec.New(exec.Options{Backend: backend, None: exec.Plain{}, Files: files})
	work, home, temp, cache := stage+"/job/work", stage+"/job/home", stage+"/job/tmp", stage+"/cache"
	policy := sandbox.WorkspaceWrite(work)
	policy.Temp = temp
	policy.Write = append(policy.Write, sandbox.Root{Path: cache})
	policy.Env.Set = map[string]string{"HOME": home, "TMPDIR": temp, "GOCACHE": cache, "PATH": os.Getenv("PATH"), "LANG": "C.UTF-8", "USER": "u", "TERM": "dumb"}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	sample, tried, all := machine.Sample(t, everydaySample), 0, 0
	for i, j := range everydayJobs {
		if _, err := osexec.LookPath(j.needs); err != nil || !sample.Has(i) || j.slow && !machine.Thorough() {
			continue
		}
		reset := func() {
			_ = os.RemoveAll(stage + "/job")
			for _, dir := range []string{work, home, temp} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			setup := osexec.CommandContext(t.Context(), "bash", "-c", j.setup)
			setup.Dir, setup.Env = work, append(os.Environ(), "HOME="+home, "GOCACHE="+cache)
			if out, err := setup.CombinedOutput(); err != nil {
				t.Logf("%s: the setup fails: %v %.200q", j.name, err, out)
			}
		}
		run := func(p sandbox.Policy) (sandbox.Verdict, error) {
			reset()
			o, err := runner.Run(t.Context(), p, exec.Command{Argv: []string{"/bin/bash", "-c", j.script}, Dir: work, Timeout: 2 * time.Minute}, nil)
			return o.Verdict, err
		}
		first, err := run(policy)
		if err != nil {
			t.Errorf("%s: %v", j.name, err)
			continue
		}
		trial := configtest.Trial{Base: policy, Own: filepath.Join(stage, "own"), Workspace: work, Home: home, Files: files, Command: j.script, Reset: reset, Run: run}
		count, faults := trial.Faults(first)
		tried, all = tried+1, all+count
		for _, fault := range faults {
			t.Errorf("%s: %s", j.name, fault)
		}
	}
	t.Logf("%d suggestions of %d jobs", all, tried)
}
