//go:build linux

package linuxsandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// evidenceJobs are the jobs of BenchmarkSeen; count is the number of processes or calls in one.
var evidenceJobs = []struct {
	name, script string
	count        int
}{
	{"processes", `for ((i = 0; i < 300; i++)); do /bin/true; done`, 300},
	{"processes after a refusal", `: 2>/dev/null > /nothing; for ((i = 0; i < 300; i++)); do /bin/true; done`, 300},
	{"refused opens", `for ((i = 0; i < 2000; i++)); do : > /nothing; done 2>/dev/null; true`, 2000},
	{"go build", `cd app && GOCACHE=$PWD/../out/cache go build -o ../out/app . && rm -rf ../out`, 1},
}

// BenchmarkSeen runs the same job alternately with all evidence, with none, and without a broker:
// recording must cost little. The results are medians, in microseconds for each process or call.
func BenchmarkSeen(b *testing.B) {
	for _, job := range evidenceJobs {
		b.Run(job.name, func(b *testing.B) {
			bash, err := exec.LookPath("bash")
			if err != nil {
				b.Fatal(err)
			}
			backend, bare := newLayered(b, true, true), newLayered(b, true, false)
			defer backend.Close()
			defer bare.Close()
			ws := b.TempDir()
			prepare := exec.Command(bash, "-c", benchJobs[0].prepare)
			prepare.Dir = ws
			if out, err := prepare.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			cmd := sandbox.Command{
				Path: bash, Args: []string{"bash", "-c", job.script}, Dir: ws,
				Env: []string{"PATH=" + attack.Path, "HOME=" + ws, "TMPDIR=" + filepath.Join(ws, "out"), "GOTOOLCHAIN=local"},
			}
			turns := []struct {
				name    string
				backend *Backend
				level   sandbox.EvidenceLevel
			}{{"full", backend, sandbox.EvidenceFull}, {"none", backend, sandbox.EvidenceNothing}, {"no-broker", bare, sandbox.EvidenceFull}}
			took := map[string][]time.Duration{}
			for b.Loop() {
				for _, turn := range turns {
					if err := os.MkdirAll(filepath.Join(ws, "out"), 0o755); err != nil {
						b.Fatal(err)
					}
					cmd.Evidence = turn.level
					start := time.Now()
					proc, err := sandboxtest.Start(turn.backend, b.Context(), sandbox.WorkspaceWrite(ws), cmd, nil)
					if err != nil {
						b.Fatal(err)
					}
					if st, err := proc.Wait(); err != nil || st.Exit != 0 {
						b.Fatalf("%+v %v", st, err)
					}
					took[turn.name] = append(took[turn.name], time.Since(start))
				}
				turns = append(turns[1:], turns[0]) // vary which one is first
			}
			for name, list := range took {
				slices.Sort(list)
				b.ReportMetric(float64(list[len(list)/2].Microseconds())/float64(job.count), name+"-µs")
			}
		})
	}
}
