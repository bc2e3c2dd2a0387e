package exec_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// slowBackend runs commands that work for a while, have two calls held at the
// same time, and continue.
type slowBackend struct {
	exec.Plain
	before, after time.Duration
}

func (b slowBackend) Start(ctx context.Context, _ resolved.Policy, _ sandbox.Command, h sandbox.Holder) (sandbox.Process, error) {
	p := &slowProcess{ended: make(chan struct{}), killed: make(chan struct{})}
	go func() { // ends with the waits
		defer close(p.ended)
		p.work(b.before)
		second := make(chan struct{})
		go func() {
			defer close(second)
			h.Hold(ctx, sandbox.Denial{Target: "/second"})
		}()
		h.Hold(ctx, sandbox.Denial{Target: "/first"})
		<-second
		p.work(b.after)
	}()
	return p, nil
}

type slowProcess struct{ ended, killed chan struct{} }

func (p *slowProcess) work(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.killed:
	}
}
func (p *slowProcess) Wait() (sandbox.Status, error)                  { <-p.ended; return sandbox.Status{}, nil }
func (p *slowProcess) Kill()                                          { close(p.killed) }
func (p *slowProcess) Signal(int) error                               { return nil }
func (p *slowProcess) Refused() []sandbox.Denial                      { return nil }
func (p *slowProcess) Trace() sandbox.Trace                           { return sandbox.Trace{} }
func (p *slowProcess) Revoke(sandbox.Revocation) sandbox.RevokeResult { return sandbox.Kept }

// slowHolder takes some time for each call.
type slowHolder struct{}

func (slowHolder) Asks(sandbox.Denial) bool { return true }

func (slowHolder) Hold(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	wait := 4 * time.Minute
	if d.Target == "/second" {
		wait = 3 * time.Minute
	}
	time.Sleep(wait)
	return sandbox.Grant{}, true
}

// TestWaitingForAnAnswerCostsTheCommandNoTime: the wall clock is paused while calls are held,
// and continues after the last of them.
func TestWaitingForAnAnswerCostsTheCommandNoTime(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after time.Duration
		timedOut      bool
		took          time.Duration
	}{
		{"in time", time.Minute, 50 * time.Second, false, 5*time.Minute + 50*time.Second},
		{"too slow by itself", time.Minute, time.Hour, true, 6*time.Minute + 200*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := exec.New(exec.Options{Backend: slowBackend{before: c.before, after: c.after}, Files: exec.OS{}})
				o, err := r.Run(t.Context(), sandbox.ReadOnly(), exec.Command{
					Argv: []string{"/bin/x"}, Dir: "/", Timeout: 2 * time.Minute, Foreground: true, Holder: slowHolder{},
				}, nil)
				if err != nil || o.TimedOut != c.timedOut || o.Duration != c.took {
					t.Errorf("%v: timed out %v after %v; want %v after %v", err, o.TimedOut, o.Duration, c.timedOut, c.took)
				}
			})
		})
	}
}
