package exec_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// TestSendBack: a command of the foreground becomes a job with what it printed so far. It has no wall limit
// and no sink then, and the end of its call does not end it.
func TestSendBack(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		if n, err := s.SendBack(); len(n) != 0 || err != nil {
			t.Errorf("nothing runs: %v, %v", n, err)
		}
		ctx, end := context.WithCancel(t.Context())
		defer end()
		ended := make(chan exec.Outcome, 1)
		b := s.script("echo early; while [ ! -e go ]; do sleep 0.05; done; echo late; exit 3")
		b.Timeout = 3 * time.Second
		b.Ended = func(o exec.Outcome) (c sandbox.Changes) { ended <- o; return c }
		var late int
		sent := false
		sink := func(_ int64, data []byte) {
			if sent {
				late++
			}
			if strings.Contains(string(data), "early") {
				go func() { _, _ = s.SendBack() }()
			}
		}
		job, _, err := s.Run(ctx, s.policy, b, sink)
		sent = true
		if err != nil || job == nil || job.ID() != 1 {
			t.Fatalf("%+v, %v", job, err)
		}
		end()
		if so := job.Read(t.Context(), exec.Wait{}); !so.Running || so.Output.Text() != "early\n" {
			t.Fatalf("so far: %+v", so)
		}
		time.Sleep(b.Timeout)
		if list := s.List(); len(list) != 1 || !list[0].Running || list[0].Text != b.Text || s.Running() != 1 {
			t.Fatalf("after its time and its call: %+v", list)
		}
		if err := job.Type(t.Context(), "x"); !errors.Is(err, exec.ErrNoStdin) {
			t.Errorf("typed: %v", err)
		}
		if _, _, err := s.Run(t.Context(), s.policy, s.script("touch go"), nil); err != nil {
			t.Fatal(err)
		}
		o := job.Read(t.Context(), until("never"))
		if o.Running || o.Output.Text() != "late\n" || o.Outcome.Status.Exit != 3 || late > 0 {
			t.Errorf("at the end: %+v, %d to the sink", o, late)
		}
		if o := <-ended; o.Status.Exit != 3 || o.Output.Text() != "early\nlate\n" {
			t.Errorf("%+v", o)
		}
	})
}

// TestRunOfJobs: a command that nobody sends back behaves as with Runner.Run.
func TestRunOfJobs(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		b := s.script("echo out; exit 2")
		b.Ended = func(exec.Outcome) (c sandbox.Changes) { t.Error("it was no job"); return c }
		job, o, err := s.Run(t.Context(), s.policy, b, nil)
		if job != nil || err != nil || o.Status.Exit != 2 || o.Output.Text() != "out\n" {
			t.Errorf("%v, %+v, %v", job, o, err)
		}
		for _, tt := range []struct {
			limit       time.Duration
			interrupted bool
		}{{200 * time.Millisecond, false}, {0, true}} {
			ctx, cancel := context.WithCancel(t.Context())
			b := s.script("echo up; sleep 1000")
			b.Timeout = tt.limit
			_, o, err := s.Run(ctx, s.policy, b, func(int64, []byte) {
				if tt.interrupted {
					cancel()
				}
			})
			if err != nil || o.Interrupted != tt.interrupted || o.TimedOut == tt.interrupted {
				t.Errorf("%+v: %+v, %v", tt, o, err)
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, o, err := s.Run(ctx, s.policy, s.script("sleep 1000"), nil); err != nil || !o.TimedOut {
			t.Errorf("the deadline of its call: %+v, %v", o, err)
		}
		if len(s.List()) > 0 {
			t.Errorf("jobs: %+v", s.List())
		}
		if n, err := s.SendBack(); len(n) != 0 || err != nil {
			t.Errorf("all ended: %v, %v", n, err)
		}
	})
}

// serves lets a command listen when it starts.
type serves struct {
	exec.Plain
	stopped chan uint16
}

func (b serves) Start(ctx context.Context, p resolved.Policy, c sandbox.Command, h sandbox.Holder) (sandbox.Process, error) {
	for _, port := range []uint16{5173, 5174} {
		c.Listens(sandbox.Listener{Port: port, Publish: func(host netip.Addr) (netip.AddrPort, func(), error) {
			return netip.AddrPortFrom(host, port), func() { b.stopped <- port }, nil
		}})
	}
	return b.Plain.Start(ctx, p, c, h)
}

// TestPortsOfJobs: a start waits for what is decided about its ports; in the foreground nobody is asked, until
// the command is sent back. Unpublish ends what is served.
func TestPortsOfJobs(t *testing.T) {
	backend := serves{stopped: make(chan uint16, 9)}
	dir := t.TempDir()
	told := make(chan int, 99)
	s := &jobs{exec.NewJobs(exec.New(exec.Options{Backend: backend, Files: exec.OS{}}), func(n int) { told <- n }), t, sandbox.WorkspaceWrite(dir), dir}
	defer s.Close()
	host := netip.MustParseAddr("127.73.21.4")
	publishes := func(_ context.Context, j *exec.Job, l sandbox.Listener) {
		time.Sleep(300 * time.Millisecond) // the person thinks
		if at, err := j.Publish(l, host); err != nil || at != netip.AddrPortFrom(host, l.Port) {
			t.Errorf("%s, %v", at, err)
		}
		if again, err := j.Publish(l, host); err != nil || again.Port() != l.Port {
			t.Errorf("again: %s, %v", again, err)
		}
	}
	b := s.script("echo up; read -r x")
	b.Listens = publishes
	began := time.Now()
	job, _ := s.start(b, exec.Wait{Most: 100 * time.Millisecond, Text: "up"})
	if len(s.Ports()) != 2 || time.Since(began) < 300*time.Millisecond {
		t.Errorf("the start did not wait: %+v", s.Ports())
	}
	if n := s.Unpublish(5173); n != 1 || <-backend.stopped != 5173 || len(s.Ports()) != 1 {
		t.Errorf("unpublished %d: %+v", n, s.Ports())
	}
	if s.Kill(job.ID()); len(s.Ports()) != 0 {
		t.Errorf("after its end: %+v", s.Ports())
	}
	if _, err := job.Publish(sandbox.Listener{Port: 1}, host); err == nil {
		t.Error("published after the end")
	}
	b = s.script("echo up; sleep 1000")
	heard := make(chan uint16, 9)
	b.Listens = func(_ context.Context, j *exec.Job, l sandbox.Listener) { heard <- l.Port }
	job, _, err := s.Run(t.Context(), s.policy, b, func(int64, []byte) {
		if len(heard) > 0 {
			t.Error("asked in the foreground")
		}
		_, _ = s.SendBack()
	})
	if err != nil || job == nil {
		t.Fatal(err)
	}
	if got := <-heard + <-heard; got != 5173+5174 {
		t.Errorf("heard %d", got)
	}
}
