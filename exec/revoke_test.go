package exec_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// revocable is a backend whose processes run until they are killed. They record what is revoked
// from them. starting, if set, is called while a command starts.
type revocable struct {
	exec.Plain
	starting func()
	taken    chan sandbox.Revocation
}

type revocableProcess struct {
	*slowProcess
	taken chan sandbox.Revocation
}

func (p revocableProcess) Kill() { p.killed <- struct{}{} }

func (p revocableProcess) Wait() (sandbox.Status, error) { <-p.killed; return sandbox.Status{}, nil }

func (p revocableProcess) Revoke(g sandbox.Revocation) sandbox.RevokeResult {
	p.taken <- g
	return sandbox.RevokeResult{Cut: 1, Stays: []string{"open files"}}
}

func (b *revocable) Start(context.Context, resolved.Policy, sandbox.Command, sandbox.Holder) (sandbox.Process, error) {
	if b.starting != nil {
		b.starting()
	}
	return revocableProcess{&slowProcess{killed: make(chan struct{}, 8)}, b.taken}, nil
}

// TestRevokeReachesAll: a revocation reaches running and starting commands, but not ended ones.
func TestRevokeReachesAll(t *testing.T) {
	g := sandbox.Revocation{Grant: sandbox.Grant{Write: []string{"/srv"}}}
	b := &revocable{taken: make(chan sandbox.Revocation, 8)}
	r := exec.New(exec.Options{Backend: b, None: b, Files: exec.OS{}})
	list := exec.NewJobs(r, nil)
	begin := func() int {
		j, _, err := list.Start(t.Context(), sandbox.ReadOnly(), exec.Background{Command: exec.Command{Argv: []string{"/bin/x"}, Dir: "/"}}, exec.Wait{})
		if err != nil {
			t.Fatal(err)
		}
		return j.ID()
	}
	one, two := begin(), begin()
	if n, out := r.Revoke(g); n != 2 || out.Cut != 2 || !slices.Equal(out.Stays, []string{"open files"}) || len(b.taken) != 2 {
		t.Errorf("%d commands, %+v", n, out)
	}
	only := sandbox.Revocation{Grant: sandbox.Grant{Sockets: []string{"/run/s"}}}
	if out, ok := list.Revoke(two, only); !ok || out.Cut != 1 || len(b.taken) != 3 {
		t.Errorf("of one job: %+v %v", out, ok)
	}
	for _, info := range list.List() {
		if want := map[int]int{one: 1, two: 2}[info.ID]; len(info.Revoked) != want {
			t.Errorf("job %d: revoked %+v", info.ID, info.Revoked)
		}
	}
	<-b.taken
	list.Kill(two)
	if _, ok := list.Revoke(two, only); ok {
		t.Error("revoked of a job that has ended")
	}
	b.starting = func() {
		if n, _ := r.Revoke(g); n != 2 {
			t.Errorf("%d commands, with one that starts", n)
		}
	}
	three := begin()
	if len(b.taken) != 4 {
		t.Errorf("%d revocations arrived, want 4", len(b.taken))
	}
	b.starting = nil
	first, second := g, g
	first.Number, second.Number = 1, 2
	r.Revoke(first)
	r.Revoke(second)
	for len(b.taken) > 0 {
		<-b.taken
	}
	for revision, want := range map[int]int{0: 2, 1: 1, 2: 0} { // decided before both, between them, after both
		p := sandbox.ReadOnly()
		p.Revision = revision
		j, _, err := list.Start(t.Context(), p, exec.Background{Command: exec.Command{Argv: []string{"/bin/x"}, Dir: "/"}}, exec.Wait{})
		if err != nil {
			t.Fatal(err)
		}
		if len(b.taken) != want || len(j.Info().Revoked) != want {
			t.Errorf("started under revision %d: %d revocations arrived, want %d", revision, len(b.taken), want)
		}
		for len(b.taken) > 0 {
			<-b.taken
		}
		list.Kill(j.ID())
	}
	list.Kill(one)
	list.Kill(three)
	free, _, err := list.Start(t.Context(), sandbox.FullAccess(), exec.Background{Command: exec.Command{Argv: []string{"/bin/x"}, Dir: "/"}}, exec.Wait{})
	if err != nil {
		t.Fatal(err)
	}
	if n, out := r.Revoke(g); n != 0 || len(out.Stays) != 0 {
		t.Errorf("of a command outside the sandbox: %d, %+v", n, out)
	}
	leave := sandbox.Revocation{Grant: sandbox.Grant{Unsandboxed: true}}
	if n, out := r.Revoke(leave); n != 1 || len(out.Stays) != 1 || !strings.Contains(out.Stays[0], "outside the sandbox") || len(b.taken) != 0 {
		t.Errorf("of the answer for outside: %d, %+v", n, out)
	}
	list.Kill(free.ID())
	if n, _ := r.Revoke(g); n != 0 || len(b.taken) != 0 {
		t.Errorf("%d commands after the last ended", n)
	}
}
