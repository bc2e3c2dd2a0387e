package conversation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/machine"
	"codeagent/sandbox"
)

// everydaySample: outside CI every n-th job runs.
const everydaySample = 24

// TestEveryday runs everyday jobs. A job that succeeds in the sandbox causes no question. A job that
// needs more causes at most one. Outside CI this is a sample, which changes each hour.
func TestEveryday(t *testing.T) { inStages(t, "TestEverydayJobs", 1) }

// TestEverydayJobs is the body of TestEveryday, in a process of its user.
func TestEverydayJobs(t *testing.T) {
	stage := stageOf(t, "TestEveryday")
	if len(everydayJobs) < 80 {
		t.Errorf("%d jobs are too few", len(everydayJobs))
	}
	jobs := jobsHere(t, everydayJobs, machine.Sample(t, everydaySample))
	questions, tried := 0, 0
	for _, home := range []string{"fresh", "lived in"} {
		t.Run(home, func(t *testing.T) {
			q, n := inOneSession(t, filepath.Join(stage, strings.Fields(home)[0]), home == "lived in", jobs)
			t.Logf("%d jobs, %d questions", n, q)
			questions, tried = questions+q, tried+n
		})
	}
	t.Logf("%d questions in %d jobs", questions, tried)
}

// inOneSession runs the jobs in one home folder, in one session.
func inOneSession(t *testing.T, base string, lived bool, jobs []job) (questions, tried int) {
	home, work := base+"/home", base+"/work"
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "USER=u", "TERM=dumb", "CODEAGENT_HOME=" + base + "/own", "OPENAI_BASE_URL=http://127.0.0.1:1/v1"}
	for _, name := range []string{"GOROOT", "GOFLAGS", "GOPROXY", "RUSTUP_HOME"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	compiled := filepath.Dir(base) + "/go-build"
	bare := func(dir, script, home string) (string, error) {
		return bash(t, append([]string{"HOME=" + home, "GOCACHE=" + compiled}, env[1:]...), dir, script)
	}
	folder := func(i int) string { return fmt.Sprintf("%s/%03d", work, i) }
	var can []int
	for i, j := range jobs {
		// In a fresh home, and for jobs that ask, the trial uses another home folder. So the home stays
		// fresh, and what these jobs make is still missing when the sandboxed run begins.
		where := base + "/elsewhere"
		if lived && j.most == 0 {
			where = home
		}
		dir := fmt.Sprintf("%s/bare/%03d", base, i)
		out, err := bare(dir, j.setup, where)
		if err == nil {
			out, err = bare(dir, j.script, where)
		}
		if err != nil || !strings.Contains(out, j.want) {
			t.Logf("not tried: %s (it fails without a sandbox: %v %.200q)", j.name, err, out)
			continue
		}
		can = append(can, i)
	}
	for _, i := range can {
		if out, err := bare(folder(i), jobs[i].setup, home); err != nil {
			t.Fatalf("%s: %v %s", jobs[i].name, err, out)
		}
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	s := openJobs(t, env, work, compiled)
	met := map[string]bool{}
	for _, i := range can {
		j := jobs[i]
		t.Run(j.name, func(t *testing.T) {
			s.do(t, j, folder(i), j.script, j.most > 0)
			most := j.most
			for _, r := range s.person.asked {
				// The first contact of a program with a host causes one question, whether or not it succeeds.
				for _, d := range r.Denials {
					if contact := d.Executable + " " + d.Target; d.Kind == sandbox.KindNetwork && !met[contact] {
						met[contact] = true
						most++
					}
				}
			}
			f, asked := s.person.last, len(s.person.asked)
			if f.Duration > 2*time.Second {
				t.Logf("slow: it took %s", f.Duration)
			}
			tried, questions = tried+1, questions+asked
			if f.Exit != 0 || f.Outcome != "ok" || !strings.Contains(f.Output, j.want) || asked > most {
				t.Errorf("%s, %d questions", f.Outcome, asked)
				s.report(t)
			}
		})
	}
	return questions, tried
}
