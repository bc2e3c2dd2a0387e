package exec_test

import (
	"context"
	"path/filepath"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
)

func init() {
	places["sandbox"] = func(t testing.TB) (*exec.Runner, sandbox.Policy, string) {
		r, p, ws, _ := confined(t)
		return r, p, ws
	}
}

// openQuestion answers no when nobody waits for it any more.
type openQuestion struct{ asked chan sandbox.Denial }

func (openQuestion) Asks(sandbox.Denial) bool { return true }

func (h openQuestion) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	h.asked <- d
	<-ctx.Done()
	return sandbox.Grant{}, false
}

func TestBackgroundHoldsNothingAfterItsCall(t *testing.T) {
	r, p, ws, out := confined(t)
	s := &jobs{exec.NewJobs(r, nil), t, p, ws}
	defer s.Close()
	target := filepath.Join(out, "x")
	h := openQuestion{make(chan sandbox.Denial, 10)}
	b := s.script("echo ready; read -r x; echo x >" + target)
	b.Holder = h
	job, _ := s.start(b, until("ready"))
	typed(t, job, "\n")
	reading := job.Read(context.Background(), end)
	if v := reading.Outcome.Verdict; reading.Running || !v.Denied || len(v.Denials) != 1 || v.Denials[0].Target != target {
		t.Errorf("running %v, verdict %+v", reading.Running, v)
	}
	if len(h.asked) != 0 {
		t.Errorf("asked after the call: %+v", <-h.asked)
	}

	b = s.script("echo x >" + target)
	b.Holder = h
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-h.asked; cancel() }()
	if _, reading, err := s.Start(ctx, p, b, end); err != nil || reading.Running || !reading.Outcome.Interrupted {
		t.Errorf("interrupted while it was asked: %v, %+v", err, reading)
	}
}

// What the sandbox refuses is reported once, while the command still runs.
func TestBackgroundTellsRefusalsWhileItRuns(t *testing.T) {
	r, p, ws, out := confined(t)
	s := &jobs{exec.NewJobs(r, nil), t, p, ws}
	defer s.Close()
	target := filepath.Join(out, "x")
	job, reading := s.start(s.script("echo x >"+target+"; echo ready; read -r x"), until("ready"))
	if !reading.Running || len(reading.Refused) != 1 || reading.Refused[0].Target != target || reading.Refused[0].Kind != sandbox.KindWrite {
		t.Errorf("refused so far: %+v", reading.Refused)
	}
	if again := job.Read(context.Background(), exec.Wait{Most: 1}); len(again.Refused) != 0 {
		t.Errorf("told again: %+v", again.Refused)
	}
}
