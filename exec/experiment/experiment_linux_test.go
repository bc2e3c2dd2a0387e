package experiment_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/exec/experiment"
	"codeagent/hostfile"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/undo"
)

var tests = backendtest.Tests("codeagent/exec/experiment")

func TestMain(m *testing.M) { backendtest.Main(m) }

// place is a workspace with folders beside it that commands may not write.
type place struct {
	dir, ws string
	policy  sandbox.Policy
	runner  *exec.Runner
	lab     *experiment.Lab
	history *undo.History
	drafts  bool
}

func newPlace(t testing.TB, b *linuxsandbox.Backend) *place {
	t.Helper()
	t.Cleanup(func() { _ = b.Close() })
	f := backendtest.Facts(t, b)
	dir, err := os.MkdirTemp("/var/tmp", "experiment")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hostfile.RemoveAll(dir) })
	p := &place{dir: dir, ws: filepath.Join(dir, "ws"), drafts: f.Namespaces && f.Broker}
	for _, name := range []string{"drafts", "undo"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.reset(t)
	p.policy = sandbox.WorkspaceWrite(p.ws)
	p.policy.Temp = filepath.Join(dir, "tmp")
	p.policy.Protected.Own = []string{filepath.Join(dir, "drafts"), filepath.Join(dir, "undo")}
	p.policy.Env.Set = map[string]string{"OUT": filepath.Join(dir, "out"), "OUT2": filepath.Join(dir, "out2"), "PATH": os.Getenv("PATH")}
	trees := new(exec.Trees)
	o := exec.Options{Backend: b, Files: exec.OS{}, Trees: trees}
	p.runner = exec.New(o)
	p.lab = &experiment.Lab{Drafts: filepath.Join(dir, "drafts"), Trees: trees, Files: exec.OS{}, Patience: machine.Patience(2 * time.Second), Runner: func() (*exec.Runner, func(), error) {
		apart, err := b.OnDrafts()
		if err != nil {
			return nil, nil, err
		}
		on := o
		on.Backend, on.Trees = apart, nil
		return exec.New(on), func() { _ = apart.Close() }, nil
	}}
	if p.history, err = undo.New(filepath.Join(dir, "undo")).Open("0123456789abcdef"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.history.Close() })
	return p
}

// reset makes the files as they are before each command.
func (p *place) reset(t testing.TB) {
	t.Helper()
	for _, name := range []string{"ws", "tmp", "out", "out2"} {
		_ = hostfile.RemoveAll(filepath.Join(p.dir, name))
	}
	for _, name := range []string{"ws/d", "tmp", "out/sub", "out2"} {
		if err := os.MkdirAll(filepath.Join(p.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"ws/todo": "x\n", "ws/text": "one\n", "out/old0": "0\n", "out/old1": "1\n", "out/old2": "2\n", "out/gone": "x\n"} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.dir, "ws/log"), []byte(strings.Repeat("0\n", 19)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command as a turn of its own, and returns today's verdict and that of the experiment.
func (p *place) run(t testing.TB, argv ...string) (o exec.Outcome, tried sandbox.Verdict) {
	t.Helper()
	p.history.Begin("test")
	defer p.history.End()
	call := p.history.Call()
	c := exec.Command{Argv: argv, Dir: p.ws, Timeout: time.Minute, Observer: call, By: "the test"}
	trial := p.lab.Begin()
	o, err := p.runner.Run(t.Context(), p.policy, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Settle()
	return o, trial.Verdict(t.Context(), p.policy, c, o, call)
}

// sh is a command of a shell.
func (p *place) sh(t testing.TB, text string) (exec.Outcome, sandbox.Verdict) {
	return p.run(t, "/bin/bash", "-c", text)
}

// score counts how often a rule was right.
type score struct{ right, tooMany, missed, certain, certainRight int }

func (s *score) count(v sandbox.Verdict, truth bool) {
	switch {
	case v.Denied && truth:
		s.right++
	case v.Denied:
		s.tooMany++
	case truth:
		s.missed++
	}
	if v.Confidence == sandbox.Certain {
		s.certain++
		if v.Denied == truth {
			s.certainRight++
		}
	}
}

func (s *score) f1() float64 { return 2 * float64(s.right) / float64(2*s.right+s.tooMany+s.missed) }

// TestRandomPrograms: the verdict by experiment is right about programs that nobody knew before.
func TestRandomPrograms(t *testing.T) {
	p := newPlace(t, backendtest.New(t))
	if !p.drafts {
		t.Skip("no drafts here")
	}
	n := 12
	if machine.Current().Thorough {
		n = 110
	}
	if machine.Everything() {
		n = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var today, tried score
	failures, asked, complete := 0, 0, 0
	for range n {
		prog := newProgram(r)
		p.reset(t)
		o, v := p.run(t, prog.argv...)
		inside, chance := prog.ends(false)
		free, _ := prog.ends(true)
		if chance && o.Status.Exit == 9 {
			inside, free = 9, 9
		}
		if o.Status.Exit != inside {
			t.Fatalf("the program ended with %d, not %d:\n%s\n%s", o.Status.Exit, inside, text(prog), o.Output.Text())
		}
		if inside == 0 || len(o.Trace.Denials) == 0 { // only files are refused here
			continue
		}
		failures++
		truth := free == 0
		today.count(o.Verdict, truth)
		tried.count(v, truth)
		if wrong := v.Denied != truth; wrong {
			t.Logf("denied %v (%s, %q), truth %v:\n%s", v.Denied, v.Confidence, v.Experiment, truth, text(prog))
		} else if v.Confidence != sandbox.Certain {
			t.Logf("not certain (%q), truth %v:\n%s\n%v", v.Experiment, truth, text(prog), v.Denials)
		}
		if !truth || !v.Denied {
			continue
		}
		asked++
		p.reset(t)
		if chance {
			complete++ // it may fail again by chance
		} else if again := p.granted(t, v.Suggest, prog.argv); again.Failed() {
			t.Logf("the grant %v is not enough: %s\n%s", v.Suggest.Write, again.Output.Text(), text(prog))
		} else {
			complete++
		}
	}
	share := func(a, b int) float64 { return float64(a) / float64(max(b, 1)) }
	t.Logf("%d programs, %d failures", n, failures)
	t.Logf("today's rule: F1 %.3f, certain %.3f of them, right %.3f", today.f1(), share(today.certain, failures), share(today.certainRight, today.certain))
	t.Logf("experiments:  F1 %.3f, certain %.3f of them, right %.3f, grant complete %.3f of %d", tried.f1(), share(tried.certain, failures), share(tried.certainRight, tried.certain), share(complete, asked), asked)
	if n < 100 {
		return
	}
	slack, one := 0.07, 1 // what chance does to few programs
	if machine.Everything() {
		slack, one = 0, 0
	}
	if tried.f1() < 0.97-slack || share(tried.certain, failures) < 0.7-slack || share(tried.certainRight+one, tried.certain) < 0.99 || share(complete, asked) < 0.95-slack {
		t.Error("the goals are missed: F1 0.97, certain 0.7, right 0.99, complete 0.95")
	}
}

// granted runs a command under the policy and g.
func (p *place) granted(t testing.TB, g sandbox.Grant, argv []string) exec.Outcome {
	t.Helper()
	o, err := p.runner.Run(t.Context(), p.policy.With(g), exec.Command{Argv: argv, Dir: p.ws, Timeout: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func text(p program) string {
	var b strings.Builder
	fmt.Fprintln(&b, p.argv[0])
	for _, s := range p.steps {
		fmt.Fprintln(&b, "  "+s.text)
	}
	return b.String()
}
