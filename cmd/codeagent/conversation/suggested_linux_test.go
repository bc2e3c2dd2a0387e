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

// TestSuggestionsEveryday: codeagent accepts what each everyday job suggests, and the job gets further with
// it. Outside CI this is a sample.
func TestSuggestionsEveryday(t *testing.T) { inStages(t, "TestSuggestedJobs", 1) }

// TestSuggestedJobs is the body of TestSuggestionsEveryday, in a process of its user.
func TestSuggestedJobs(t *testing.T) {
	stage := stageOf(t, "TestSuggestionsEveryday")
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
	tried, all := 0, 0
	for _, j := range jobsHere(t, everydayJobs, machine.Sample(t, everydaySample)) {
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
