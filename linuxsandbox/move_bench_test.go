//go:build linux

package linuxsandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// BenchmarkAskedBesideMoves is BenchmarkAsked while another command of the session moves a folder
// of 50,000 files back and forth.
func BenchmarkAskedBesideMoves(b *testing.B) {
	backend := newBackend(b)
	defer backend.Close()
	ws := b.TempDir()
	file := filepath.Join(ws, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	for dir := range 50 {
		at := filepath.Join(ws, "big", strconv.Itoa(dir))
		if err := os.MkdirAll(at, 0o755); err != nil {
			b.Fatal(err)
		}
		for i := range 1000 {
			if err := os.WriteFile(filepath.Join(at, strconv.Itoa(i)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	policy := sandbox.WorkspaceWrite(ws)
	mover, err := sandboxtest.Start(backend, b.Context(), policy, sandbox.Command{
		Path: "sh", Args: []string{"sh", "-c", "while mv big moved && mv moved big; do :; done"}, Dir: ws, Env: []string{"PATH=" + os.Getenv("PATH")},
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { mover.Kill(); _, _ = mover.Wait() }()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		proc, err := sandboxtest.Start(backend, b.Context(), policy, sandbox.Command{
			Path: exe, Args: []string{"victim", "-test.run=^TestAskedVictim$"}, Dir: ws, Env: []string{"CODEAGENT_TEST_ASKED=" + file},
		}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if st, err := proc.Wait(); err != nil || st.Exit != 0 {
			b.Fatalf("%+v %v", st, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/askedCalls, "ns/call")
}
