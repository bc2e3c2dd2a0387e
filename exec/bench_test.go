package exec_test

import (
	"context"
	"io"
	osexec "os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/sandbox"
)

var benchTrue = exec.Command{Argv: []string{"/bin/true"}, Dir: "/"}

// BenchmarkTrue runs one /bin/true through the exec layer without a sandbox;
// BenchmarkTrueBare uses os/exec with two drained pipes, for comparison.
func BenchmarkTrue(b *testing.B) {
	r, _ := plain(b)
	for b.Loop() {
		if _, err := r.Run(context.Background(), sandbox.FullAccess(), benchTrue, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrueBare(b *testing.B) {
	for b.Loop() {
		cmd := osexec.Command("/bin/true")
		cmd.Dir = "/"
		cmd.Stdout, cmd.Stderr = struct{ io.Writer }{io.Discard}, struct{ io.Writer }{io.Discard}
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFlood captures 200 MB of output: in memory, streamed to a sink, and spilled up to
// the limit. peak-heap-MB is the largest heap meanwhile.
func BenchmarkFlood(b *testing.B) {
	r, dir := plain(b)
	c := exec.Command{Argv: []string{"head", "-c", "200000000", "/dev/zero"}, Dir: dir}
	b.SetBytes(200e6)
	var peak atomic.Uint64
	stop := make(chan struct{})
	go func() {
		var m runtime.MemStats
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			}
		}
	}()
	calls := 0
	for b.Loop() {
		o, err := r.Run(context.Background(), sandbox.FullAccess(), c, func(int64, []byte) { calls++ })
		if err != nil || o.Output.Total != 200e6 || o.Output.Spilled != 64<<20 {
			b.Fatal(o.Output.Total, o.Output.Spilled, err)
		}
	}
	close(stop)
	b.ReportMetric(float64(peak.Load())/1e6, "peak-heap-MB")
	b.ReportMetric(float64(calls)/float64(b.N), "sink-calls/op")
}

// BenchmarkFiles starts a file worker, sends one request and ends it.
func BenchmarkFiles(b *testing.B) {
	r, dir := plain(b)
	for b.Loop() {
		f, err := r.Files(context.Background(), sandbox.FullAccess(), nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Stat(dir); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
