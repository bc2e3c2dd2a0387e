//go:build linux

package linuxsandbox

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	"codeagent/sandbox"
)

// BenchmarkTrue measures what confinement costs: the same program started in
// turn plainly and in the sandbox, with the real helper binary. The figure is
// the difference of the two medians, which a busy machine moves less than means.
func BenchmarkTrue(b *testing.B) {
	backend, err := New(Options{Helper: realHelper(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	ws := b.TempDir()
	cmd := sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: ws, Env: []string{"PATH=/bin:/usr/bin"}}
	policy := sandbox.WorkspaceWrite(ws)
	var plain, confined []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		proc, err := backend.Start(context.Background(), policy, cmd, nil)
		if err != nil {
			b.Fatal(err)
		}
		if st, err := proc.Wait(); err != nil || st.Exit != 0 {
			b.Fatalf("%+v %v", st, err)
		}
		plain = append(plain, middle.Sub(start))
		confined = append(confined, time.Since(middle))
	}
	slices.Sort(plain)
	slices.Sort(confined)
	for _, at := range []struct {
		name string
		part int
	}{{"best", 50}, {"median", 2}} {
		p, c := plain[len(plain)/at.part], confined[len(confined)/at.part]
		b.ReportMetric(float64(p.Microseconds())/1000, at.name+"-plain-ms")
		b.ReportMetric(float64((c-p).Microseconds())/1000, at.name+"-above-ms")
	}
}
