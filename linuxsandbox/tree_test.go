//go:build linux

package linuxsandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// TestTree: every change is reported, what is held open is found, and a stopped tree does not run.
func TestTree(t *testing.T) {
	b := newBackend(t)
	dir := t.TempDir()
	p, err := resolved.On(hostfile.OS{}, sandbox.WorkspaceWrite(dir))
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Enforcement(p)
	if err != nil || !e.Observes {
		t.Skip("no broker here")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var mu sync.Mutex
	var changed []string
	proc, err := b.Start(context.Background(), p, sandbox.Command{
		Path: "/bin/sh", Dir: dir, Stdout: w, Stderr: w,
		Args:    []string{"sh", "-c", "mkdir sub; : > gone; rm gone; exec 9> sub/held 8< sub/held; chmod 700 sub; echo ready; while :; do echo x >&9; done"},
		Env:     []string{"PATH=/usr/bin:/bin"},
		Changed: func(path string) { mu.Lock(); defer mu.Unlock(); changed = append(changed, path) },
	}, nil)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { proc.Kill(); _, _ = proc.Wait() }()
	line := make([]byte, 6)
	if _, err := r.Read(line); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	for _, name := range []string{"sub", "gone", "sub/held"} {
		if !slices.Contains(changed, filepath.Join(dir, name)) {
			t.Errorf("%s is not in %q", name, changed)
		}
	}
	mu.Unlock()
	held := filepath.Join(dir, "sub/held")
	size := func() int64 {
		st, err := os.Stat(held)
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	for range 3 {
		resume, err := proc.(sandbox.Tree).Stop()
		if err != nil {
			t.Fatal(err)
		}
		files, all := proc.(sandbox.Tree).Holds(func(path string) bool { return strings.HasPrefix(path, dir) })
		if !slices.Equal(files, []string{held}) || !all {
			t.Errorf("held: %q, %v", files, all)
		}
		was := size()
		time.Sleep(5 * time.Millisecond)
		if now := size(); now != was {
			t.Errorf("it wrote %d bytes while it was stopped", now-was)
		}
		resume()
		for was == size() { // without the stop it writes on
			time.Sleep(time.Millisecond)
		}
	}
}
