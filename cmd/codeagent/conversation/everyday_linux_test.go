package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	"codeagent/sandbox"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == linuxsandbox.HelperName {
		syscall.Exit(linuxsandbox.HelperMain(os.Args))
	}
	attack.Launcher()
	hostileServer()
	goneAway()
	hostilePreyMain()
	code := machine.Run(m)
	hostileHelper.Remove()
	hostileTests.Remove()
	os.Exit(code)
}

// TestEveryday runs everyday jobs with the real gate and the real sandbox. Calls are held, and a
// person counts the questions. A job that succeeds in the sandbox causes no question. A job that
// needs more causes at most one. Outside CI this is a sample, which changes each hour.
func TestEveryday(t *testing.T) { inStages(t, everydayVariable, "TestEverydayJobs", 1) }

// inStages runs the test body in a process of its own for root or for a user in turn, in CI for so many of
// them, or for the user alone. A variable names the folder of the stage.
func inStages(t *testing.T, variable, body string, thorough int) {
	t.Helper()
	t.Parallel()
	users := []string{"self"}
	if os.Geteuid() == 0 {
		users = []string{"root", "user"}
	}
	for _, name := range machine.Pick(t, t.Name(), 1, thorough, users) {
		uid := map[string]int{"self": -1, "root": 0, "user": everydayUser}[name]
		t.Run(name, func(t *testing.T) {
			stage := everydayStage(t, uid)
			cmd := exec.Command(stage+"/tests", "-test.run", "^"+body+"$", "-test.v")
			cmd.Dir, cmd.Env = stage, append(os.Environ(), variable+"="+stage, "HOME="+stage, "TMPDIR="+stage)
			if uid > 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
			}
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil && strings.Contains(string(out), "--- SKIP: "+body):
				t.Skipf("%s", out)
			case err != nil || !strings.Contains(string(out), "--- PASS: "+body):
				t.Errorf("%v\n%s", err, out)
			default:
				t.Logf("%s", out)
			}
		})
	}
}

const (
	everydayUser     = 1001
	everydayVariable = "CODEAGENT_TEST_EVERYDAY"
	// everydaySample: outside CI every n-th job runs.
	everydaySample = 24
)

// everydayStage returns a folder owned by the user, with a copy of this test program.
func everydayStage(t *testing.T, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "everyday-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		attack.CopyFile(t, hostileTests.BuildPlain(t, "codeagent/cmd/codeagent/conversation"), dir+"/tests")
	}
	if err == nil && uid > 0 {
		err = os.Chown(dir, uid, uid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// everydayPerson answers the questions of one job after another, and counts them.
type everydayPerson struct {
	mu    sync.Mutex
	yes   bool
	asked []approvals.Request
	last  event.ToolFinished
}

func (p *everydayPerson) Emit(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := e.(event.ToolFinished); ok {
		p.last = f
	}
}

func (p *everydayPerson) Ask(_ context.Context, r approvals.Request) (approvals.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	if p.yes {
		return approvals.Answer{Decision: approvals.Once}, nil
	}
	return approvals.Answer{}, nil
}

func (*everydayPerson) Steer() (agent.Input, bool) { return agent.Input{}, false }

func (*everydayPerson) Inquire(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return inquiry.Reply{Action: inquiry.Declined}, nil
}

// begin starts a new count for the next job.
func (p *everydayPerson) begin(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.yes, p.asked, p.last = yes, nil, event.ToolFinished{}
}

// everydayModel makes one call per turn: the next job.
type everydayModel struct{ folder, script string }

func (m *everydayModel) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if last := r.Items[len(r.Items)-1]; last.Kind == model.Result {
			_ = yield(model.TextDelta{Text: "done"}, nil) && yield(model.Finished{Reason: model.StopEnd}, nil)
			return
		}
		arguments, _ := json.Marshal(map[string]any{"command": m.script, "workdir": m.folder, "timeout_ms": 120000})
		_ = yield(model.CallDone{Call: model.ToolCall{ID: "call-" + filepath.Base(m.folder), Name: "shell", Arguments: string(arguments)}}, nil) &&
			yield(model.Finished{Reason: model.StopCalls}, nil)
	}
}

// TestEverydayJobs is the body of TestEveryday, in a process of its user.
func TestEverydayJobs(t *testing.T) {
	stage := os.Getenv(everydayVariable)
	if stage == "" {
		t.Skip("body of TestEveryday")
	}
	if len(everydayJobs) < 80 {
		t.Errorf("%d jobs are too few", len(everydayJobs))
	}
	sample := machine.Sample(t, everydaySample)
	var jobs []everydayJob
	for i, j := range everydayJobs {
		switch _, err := exec.LookPath(j.needs); {
		case err != nil:
			t.Logf("not tried: %s (there is no %s)", j.name, j.needs)
		case !sample.Has(i), j.slow && !machine.Thorough():
		default:
			jobs = append(jobs, j)
		}
	}
	questions, tried := 0, 0
	for _, home := range []string{"fresh", "lived in"} {
		q, n := everydayHome(t, filepath.Join(stage, strings.Fields(home)[0]), home == "lived in", jobs)
		t.Logf("%s home: %d jobs, %d questions", home, n, q)
		questions, tried = questions+q, tried+n
	}
	t.Logf("%d questions in %d jobs", questions, tried)
}

// everydayHome runs the jobs in one home folder.
func everydayHome(t *testing.T, base string, lived bool, jobs []everydayJob) (questions, tried int) {
	home, work := base+"/home", base+"/work"
	for _, dir := range []string{home, work, base + "/bare"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "USER=u", "TERM=dumb", "CODEAGENT_HOME=" + base + "/own", "OPENAI_BASE_URL=http://127.0.0.1:1/v1"}
	for _, name := range []string{"GOROOT", "GOFLAGS", "GOPROXY", "RUSTUP_HOME"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	bare := func(dir, script, home string) (string, error) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "timeout", "-k", "1", "120", "bash", "-c", script)
		cmd.Dir, cmd.Env = dir, append(env[:len(env):len(env)], "HOME="+home, "GOCACHE="+filepath.Dir(base)+"/go-build")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	folder := func(i int) string { return fmt.Sprintf("%s/%03d", work, i) }
	var can []int
	for i, j := range jobs {
		// In a fresh home, and for jobs that ask, the trial uses another home folder. So the home stays
		// fresh, and what these jobs make is still missing when the sandboxed run begins.
		where := base + "/elsewhere"
		if lived && !j.asks {
			where = home
		}
		if err := os.MkdirAll(where, 0o755); err != nil {
			t.Fatal(err)
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
	t.Setenv("HOME", home)
	devnull, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer devnull.Close()
	stdio := cli.Stdio{In: devnull, Out: devnull, Err: devnull, Environ: env, Text: &cli.Output{W: devnull}}
	ses, err := Open(t.Context(), stdio, cli.Flags{Folder: work, Model: "test"}, Options{Attended: true, HasPrompt: true, Ephemeral: true})
	if err != nil {
		t.Skipf("no session here: %v", err)
	}
	defer ses.Close()
	if why := ses.Workspace.NotHeld(); why != "" {
		t.Skipf("calls cannot be held here: %s", why)
	}
	person, play := &everydayPerson{}, &everydayModel{}
	ses.chosen.Model = play
	ses.Join(person)
	met := map[string]bool{}
	for _, i := range can {
		j := jobs[i]
		play.folder, play.script = folder(i), j.script
		person.begin(j.asks)
		if err := ses.Turn(t.Context(), agent.Input{Text: j.name}); err != nil {
			t.Fatalf("%s: %v", j.name, err)
		}
		most := 0
		if j.asks {
			most = 1
		}
		for _, r := range person.asked {
			// The first contact of a program with a host causes one question, whether or not it succeeds.
			for _, d := range r.Denials {
				if contact := d.Executable + " " + d.Target; d.Kind == sandbox.KindNetwork && !met[contact] {
					met[contact] = true
					most++
				}
			}
		}
		if person.last.Duration > 2*time.Second {
			t.Logf("slow: %s took %s", j.name, person.last.Duration)
		}
		tried, questions = tried+1, questions+len(person.asked)
		if f := person.last; f.Exit != 0 || f.Outcome != "ok" || !strings.Contains(f.Output, j.want) {
			t.Errorf("%s: %s, status %d\n%s", j.name, f.Outcome, f.Exit, f.Output)
		}
		if len(person.asked) > most {
			t.Errorf("%s: %d questions", j.name, len(person.asked))
			for _, r := range person.asked {
				t.Logf("  %s", r.Title)
			}
		}
	}
	return questions, tried
}
