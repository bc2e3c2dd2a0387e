//go:build linux

package linuxsandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// Ordinary jobs: what people do all day must work in the sandbox as it does
// without. Each runs in a workspace of its own, under workspace-write.

// job is one ordinary job: a bash script that ends with status 0, under
// `set -eu -o pipefail`.
type job struct {
	name string
	// needs are the programs it is about.
	needs  string
	script string
	// says stands in what it prints.
	says string
	// layer names the layer without which the job cannot work, and why.
	layer, why string
	// optional programs may be missing, also in CI.
	optional bool
	// slow jobs run in CI only.
	slow bool
	// fails: the job is to end with another status than 0.
	fails bool
	// unless0: root has no business with it.
	unless0 bool
}

// TestJobs runs the table as whoever runs the tests, with the layers that the
// machine gives.
func TestJobs(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	ran := runJobs(t, b)
	t.Logf("%d jobs passed", ran)
}

// TestJobsAsUser runs the table as an ordinary user.
func TestJobsAsUser(t *testing.T) { againAsUser(t, "^TestJobs$") }

// TestJobsAreMany: the number is promised, and no job is counted twice.
func TestJobsAreMany(t *testing.T) {
	const promised = 40
	seen := map[string]bool{}
	for _, j := range jobs {
		if seen[j.name] || seen[j.script] {
			t.Errorf("%s is there twice", j.name)
		}
		seen[j.name], seen[j.script] = true, true
	}
	if len(jobs) < promised {
		t.Errorf("%d jobs, want at least %d", len(jobs), promised)
	}
}

// runJobs runs the table through b and returns how many passed. Every other
// setting (other layers, other users) is another b.
func runJobs(t *testing.T, b *Backend) (passed int) {
	t.Helper()
	e, err := b.Enforcement(sandbox.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("uid %d, layers %s", os.Getuid(), strings.Join(e.Active(), " "))
	inCI := os.Getenv("CI") != ""
	for _, j := range jobs {
		// What a row itself rules out here is no hole: it is told, not skipped.
		if why := j.ruledOut(e, inCI); why != "" {
			t.Logf("%s: not run: %s", j.name, why)
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			for _, program := range strings.Fields(j.needs) {
				if _, err := lookIn(jobPath, program); err != nil && inCI {
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
	return passed
}

// ruledOut is why the row itself does not want to run here, "" if it does.
func (j job) ruledOut(e sandbox.Enforcement, inCI bool) string {
	switch {
	case j.slow && !inCI:
		return "takes long: in CI only"
	case j.unless0 && os.Getuid() == 0:
		return "not as root"
	case j.layer != "" && !slices.Contains(e.Active(), j.layer):
		return "needs the layer " + j.layer + ": " + j.why
	}
	for _, program := range strings.Fields(j.needs) {
		if _, err := lookIn(jobPath, program); err != nil && j.optional && inCI {
			return "optional, and there is no " + program
		}
	}
	return ""
}

// jobPath leaves out whatever the tester has in their home folder.
const jobPath = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

func lookIn(path, program string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if file, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}

func runJob(t *testing.T, b *Backend, j job) bool {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
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
	st, out := run(t, b, p, sandbox.Command{
		Path: "/bin/bash", Args: []string{"bash", "-eu", "-o", "pipefail", "-c", j.script}, Dir: ws, Env: jobEnv(ws, temp),
	})
	if (st.Exit != 0) != j.fails || st.Signal != 0 || !strings.Contains(out, j.says) {
		t.Errorf("uid %d: %+v, want it to say %q\n%s", os.Getuid(), st, j.says, out)
		return false
	}
	return true
}

func jobEnv(ws, temp string) []string {
	return []string{
		"PATH=" + jobPath, "HOME=" + filepath.Join(ws, "home"), "TMPDIR=" + temp, "LANG=C.UTF-8", "TERM=dumb", "USER=dev",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@example.org", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@example.org",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
		"GOCACHE=" + filepath.Join(temp, "gocache"), "GOPATH=" + filepath.Join(temp, "gopath"), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off",
		"npm_config_cache=" + filepath.Join(temp, "npm"), "npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false",
		"PYTHONDONTWRITEBYTECODE=1",
	}
}
