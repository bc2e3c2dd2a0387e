//go:build linux

package linuxsandbox

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestMain lets the test binary serve as its own helper, as codeagent does.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == HelperName {
		syscall.Exit(HelperMain(os.Args)) // os.Exit would wait a second with the race detector
	}
	sandboxtest.Main()
	attack.Launcher()
	playRole()
	sandboxtest.HeedSignals()
	code := machine.Run(m)
	tests.Remove()
	os.Exit(code)
}

func TestStart(t *testing.T) {
	b, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ws := t.TempDir()
	p := sandbox.WorkspaceWrite(ws)
	proc, err := sandboxtest.Start(b, context.Background(), p, sandbox.Command{
		Path: "sh", Args: []string{"sh", "-c", "echo in > a; echo out > ../b; exit 4"}, Dir: ws, Env: []string{"PATH=/bin:/usr/bin"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := proc.Wait(); err != nil || st.Exit != 4 {
		t.Errorf("status %+v, error %v, want exit 4", st, err)
	}
	if _, err := os.Stat(filepath.Join(ws, "a")); err != nil {
		t.Errorf("write inside: %v", err)
	}
	if _, err := os.Stat(filepath.Join(ws, "../b")); err == nil {
		t.Error("a write outside the root succeeded")
	}
}
