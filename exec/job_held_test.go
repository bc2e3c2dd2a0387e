package exec_test

import (
	"context"
	"reflect"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// handing exposes the holder that a backend receives.
type handing struct {
	exec.Plain
	holder chan sandbox.Holder
}

func (b handing) Start(ctx context.Context, p resolved.Policy, c sandbox.Command, h sandbox.Holder) (sandbox.Process, error) {
	b.holder <- h
	return b.Plain.Start(ctx, p, c, h)
}

// answering passes each question to the test, which may take its time to answer.
type answering struct {
	grants map[string]sandbox.Grant
	asked  chan string
	late   chan struct{} // delays the answer about "late"
}

func (answering) Asks(sandbox.Denial) bool { return true }

func (h answering) Hold(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	h.asked <- d.Target
	if d.Target == "late" {
		<-h.late
	}
	grant, yes := h.grants[d.Target]
	return grant, yes
}

// Grants that a background command gets while it starts are remembered, including concurrent
// ones. A yes that comes after the tool call has returned grants nothing.
func TestBackgroundRemembersWhatItWasGranted(t *testing.T) {
	write := sandbox.Grant{Write: []string{"/srv/data"}}
	host := sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "a.example", Port: 443}}}
	who := answering{map[string]sandbox.Grant{"write": write, "host": host, "late": write}, make(chan string, 10), make(chan struct{})}
	backend := handing{holder: make(chan sandbox.Holder, 1)}
	dir := t.TempDir()
	s := &jobs{exec.NewJobs(exec.New(exec.Options{Backend: backend, SpillDir: dir, Files: exec.OS{}}), nil), t, sandbox.WorkspaceWrite(dir), dir}
	defer s.Close()

	var h sandbox.Holder
	late := make(chan bool, 1)
	starting := func() exec.Info {
		t.Helper()
		list := s.List()
		if len(list) != 1 || !list[0].Starting {
			t.Fatalf("while it starts: %+v", list)
		}
		return list[0]
	}
	during := func() {
		h = <-backend.holder
		if got := starting().Granted; len(got) != 0 {
			t.Errorf("granted before anything was asked: %+v", got)
		}
		for _, target := range []string{"write", "no", "host"} {
			if _, yes := h.Hold(t.Context(), sandbox.Denial{Target: target}); yes != (target != "no") {
				t.Errorf("%s: %v", target, yes)
			}
			<-who.asked
		}
		if got := starting().Granted; !reflect.DeepEqual(got, []sandbox.Grant{write, host}) {
			t.Errorf("granted so far: %+v", got)
		}
		go func() {
			_, yes := h.Hold(t.Context(), sandbox.Denial{Target: "late"})
			late <- yes
		}()
		<-who.asked
	}
	b := s.script("echo ready; read -r x")
	b.Holder = who
	w := until("ready")
	w.Sink = func(int64, []byte) {
		if h == nil { // the output may come in pieces
			during()
		}
	}
	job, _ := s.start(b, w)
	close(who.late)
	if <-late {
		t.Error("a yes was taken that came after the call")
	}
	if _, yes := h.Hold(t.Context(), sandbox.Denial{Target: "write"}); yes || len(who.asked) != 0 {
		t.Errorf("asked after the call: %v", yes)
	}
	if info := job.Info(); info.Starting || !reflect.DeepEqual(info.Granted, []sandbox.Grant{write, host}) {
		t.Errorf("granted: %+v", info.Granted)
	}
}
