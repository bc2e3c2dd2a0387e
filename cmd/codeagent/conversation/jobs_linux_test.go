package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/mcp/inquiry"
	"codeagent/model"
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

// Tables of jobs are run with the real gate and the real sandbox, in a process of their user. A person
// answers the questions, and counts them.

const (
	jobUser = 1001
	// stageVariable names the folder of such a process.
	stageVariable = "CODEAGENT_TEST_JOBS"
)

// inStages runs the test body in a process of its own for root or for a user in turn, in CI for so many of
// them, or for the user alone.
func inStages(t *testing.T, body string, thorough int) {
	t.Helper()
	t.Parallel()
	users := []string{"self"}
	if os.Geteuid() == 0 {
		users = []string{"root", "user"}
	}
	for _, name := range machine.Pick(t, t.Name(), 1, thorough, users) {
		t.Run(name, func(t *testing.T) {
			stage, attr := newStage(t), &syscall.SysProcAttr{}
			if name == "user" {
				if err := os.Chown(stage, jobUser, jobUser); err != nil {
					t.Fatal(err)
				}
				attr.Credential = &syscall.Credential{Uid: jobUser, Gid: jobUser}
			}
			cmd := exec.Command(stage+"/tests", "-test.run", "^"+body+"$", "-test.v")
			cmd.Dir, cmd.Env, cmd.SysProcAttr = stage, append(os.Environ(), stageVariable+"="+stage, "HOME="+stage, "TMPDIR="+stage), attr
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

// newStage returns a folder with a copy of this test program.
func newStage(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "jobs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attack.CopyFile(t, hostileTests.BuildPlain(t, "codeagent/cmd/codeagent/conversation"), dir+"/tests")
	return dir
}

// stageOf is the folder of this process, if it was started for the body of a test.
func stageOf(t *testing.T, test string) string {
	t.Helper()
	stage := os.Getenv(stageVariable)
	if stage == "" {
		t.Skip("body of " + test)
	}
	return stage
}

// jobsHere returns the jobs of a sample whose programs this machine has.
func jobsHere(t *testing.T, all []job, sample machine.Rows) (jobs []job) {
	t.Helper()
	for i, j := range all {
		if _, err := exec.LookPath(j.needs); err != nil {
			t.Logf("not tried: %s (there is no %s)", j.name, j.needs)
		} else if sample.Has(i) && (!j.slow || machine.Thorough()) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// jobLimit is how many seconds a job may take. It decides nothing: on a loaded machine the Go compiler alone needs minutes.
const jobLimit = 900

// bash runs a script without a sandbox.
func bash(t *testing.T, env []string, dir, script string) (string, error) {
	t.Helper()
	for _, d := range []string{dir, strings.TrimPrefix(env[0], "HOME=")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "timeout", "-k", "1", fmt.Sprint(jobLimit), "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// jobSession is a session in which jobs are run.
type jobSession struct {
	*Session
	person jobPerson
	play   jobModel
}

// openJobs opens a session with a home folder, which the environment names first. Its commands find what Go compiled for the trials, as in a
// workspace where they have built before.
func openJobs(t *testing.T, env []string, work, compiled string) *jobSession {
	t.Helper()
	t.Setenv("HOME", strings.TrimPrefix(env[0], "HOME="))
	devnull, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { devnull.Close() })
	stdio := cli.Stdio{In: devnull, Out: devnull, Err: devnull, Environ: env, Text: &cli.Output{W: devnull}}
	base, err := Open(t.Context(), stdio, cli.Flags{Folder: work, Model: "test"}, Options{Audience: Audience{Attended: true}, Beginning: Beginning{HasPrompt: true, Ephemeral: true}})
	if err != nil {
		t.Skipf("no session here: %v", err)
	}
	t.Cleanup(base.Close)
	if why := base.Workspace.NotHeld(); why != "" {
		t.Skipf("calls cannot be held here: %s", why)
	}
	if _, err := os.Stat(compiled); err == nil {
		if out, err := exec.Command("cp", "-r", compiled+"/.", base.Workspace.Policy.Env.Set["GOCACHE"]).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	s := &jobSession{}
	base.chosen.Model = &s.play
	s.Session = Join(base, &s.person)
	s.Begin()
	return s
}

// do runs a job in its folder, with a person who says yes or no to every question.
func (s *jobSession) do(t *testing.T, j job, folder, script string, yes bool) {
	t.Helper()
	s.play.folder, s.play.script, s.play.calls = folder, script, 0
	s.person.begin(yes)
	if err := s.Turn(t.Context(), agent.Input{Text: j.name}); err != nil {
		t.Fatalf("%s: %v", j.name, err)
	}
}

// report says what became of the last job.
func (s *jobSession) report(t *testing.T) {
	t.Helper()
	last := s.person.last
	t.Logf("%d calls, status %d\n%s", s.play.calls, last.Exit, last.Output)
	for _, r := range s.person.asked {
		t.Logf("  %s | %+v | %v", r.Title, r.Grant, r.Warnings)
	}
	t.Logf("  denied %v, %s, lacks %+v", last.Verdict.Denied, last.Verdict.Confidence, last.Verdict.Suggest)
	for _, d := range last.Verdict.Denials {
		t.Logf("  refused: %s %s %s moot %v by %s", d.Kind, d.Operation, d.Target, d.Moot, d.Executable)
	}
}

// jobPerson answers the questions of one job after another, and counts them.
type jobPerson struct {
	mu    sync.Mutex
	yes   bool
	asked []approvals.Request
	last  event.ToolFinished
}

func (p *jobPerson) Emit(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := e.(event.ToolFinished); ok {
		p.last = f
	}
}

func (p *jobPerson) Ask(_ context.Context, r approvals.Request) (approvals.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	if p.yes {
		return approvals.Answer{Decision: approvals.Once}, nil
	}
	return approvals.Answer{}, nil
}

func (*jobPerson) Steer() (agent.Input, bool) { return agent.Input{}, false }

func (*jobPerson) Inquire(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return inquiry.Reply{Action: inquiry.Declined}, nil
}

// begin starts a new count for the next job.
func (p *jobPerson) begin(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.yes, p.asked, p.last = yes, nil, event.ToolFinished{}
}

// jobModel makes the call of a job, and, if it insists, what its result advises, three times at most.
type jobModel struct {
	folder, script string
	insists        bool
	calls          int
}

var advised = regexp.MustCompile(`(?m)^\{"sandbox_permissions".*\}$`)

func (m *jobModel) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		arguments := map[string]any{"command": m.script, "workdir": m.folder, "timeout_ms": jobLimit * 1000}
		if last := r.Items[len(r.Items)-1]; last.Kind == model.Result {
			more := advised.FindString(last.Text)
			if !m.insists || more == "" || m.calls > 3 || !last.Failed {
				_ = yield(model.TextDelta{Text: "done"}, nil) && yield(model.Finished{Reason: model.StopEnd}, nil)
				return
			}
			_ = json.Unmarshal([]byte(more), &arguments)
			arguments["justification"] = "`" + m.script + "`, which you asked for, needs what it was refused"
		}
		m.calls++
		text, _ := json.Marshal(arguments)
		id := fmt.Sprint("call-", filepath.Base(m.folder), "-", m.calls)
		_ = yield(model.CallDone{Call: model.ToolCall{ID: id, Name: "shell", Arguments: string(text)}}, nil) &&
			yield(model.Finished{Reason: model.StopCalls}, nil)
	}
}
