package draft_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codeagent/draft"
	"codeagent/exec"
	"codeagent/exec/worker"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox/resolved"
)

// onDraft is a session that works on a draft of p, beside p.runner, which works on the files: the runner of its commands,
// and that of a server.
func (p *place) onDraft(t testing.TB) (d *draft.Draft, commands, server *exec.Runner) {
	t.Helper()
	own := backendtest.New(t)
	d, err := draft.New(p.drafts, p.ws, []string{"this session"}, p.policy)
	if err != nil {
		t.Fatal(err)
	}
	b, err := own.OnDraft(d, []string{p.ws})
	if err != nil {
		t.Fatal(err)
	}
	apart, err := b.Apart()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = apart.Close(); _ = b.Close(); _ = own.Close() })
	runner := func(b resolved.Backend) *exec.Runner {
		return exec.New(exec.Options{Backend: b, Files: exec.OS{}, Environ: os.Environ(), Draft: d})
	}
	return d, runner(b), runner(apart)
}

// sh runs a script, and returns its output.
func sh(t testing.TB, r *exec.Runner, p *place, script string) string {
	t.Helper()
	o, err := r.Run(context.Background(), p.policy, exec.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: p.ws}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Failed() {
		t.Fatalf("%s: %d: %s", script, o.Status.Exit, o.Output.Text())
	}
	return o.Output.Text()
}

// TestSession: all programs of a session on a draft see the same files, at the same time, and the files stay.
func TestSession(t *testing.T) { tests.InSettings(t, "^TestSessionInSetting$") }

func TestSessionInSetting(t *testing.T) {
	backendtest.InSetting(t, "TestSession")
	p := newPlace(t)
	native(t, p.ws, "sh", "-c", "echo old >a; echo gone >b; mkdir d; echo x >d/x")
	d, r, server := p.onDraft(t)
	_, other, _ := p.onDraft(t)
	var wait sync.WaitGroup
	wait.Add(1)
	go func() { // a job that runs meanwhile
		defer wait.Done()
		if got := sh(t, r, p, "until [ -s go ]; do sleep 0.02; done; cat go; echo job >job"); got != "now\n" {
			t.Errorf("the job read %q", got)
		}
	}()
	sh(t, r, p, "echo new >a; rm b; mv d e")
	files, err := r.Files(t.Context(), p.policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if _, err := files.Put(filepath.Join(p.ws, "go"), []byte("now\n"), 0o644, worker.Expect{Absent: true}); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if got := sh(t, server, p, "cat a job e/x; ls"); got != "new\njob\nx\na\ne\ngo\njob\n" {
		t.Errorf("a server sees %q", got)
	}
	if got := sh(t, other, p, "cat a b d/x; ls"); got != "old\ngone\nx\na\nb\nd\n" {
		t.Errorf("another session sees %q", got)
	}
	if got := sh(t, p.runner, p, "cat a b d/x; ls"); got != "old\ngone\nx\na\nb\nd\n" {
		t.Errorf("the files are %q", got)
	}
	outside := p.policy.Clone()
	outside.Unconfined = true
	if _, err := r.Run(t.Context(), outside, exec.Command{Argv: []string{"/bin/true"}, Dir: p.ws}, nil); err == nil || !strings.Contains(err.Error(), "works on a draft") {
		t.Errorf("a command outside the sandbox: %v", err)
	}
	if left := p.keep(t, d, p.changes(t, d)); len(left) > 0 {
		t.Errorf("not kept: %v", left)
	}
	if got := sh(t, p.runner, p, "cat a job e/x; ls"); got != "new\njob\nx\na\ne\ngo\njob\n" {
		t.Errorf("kept: %q", got)
	}
}
