package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/scripted"
)

// Whole-process figures of the built programs: wall time an operation, peak
// memory of the largest run, and the size of what is shipped.

func benchUser(b *testing.B) user {
	b.Helper()
	return newUser(b, "self", -1)
}

// measure runs cmd b.N times and reports CPU time and peak memory. The kernel counts the
// memory of the forking process towards the child, so the peak is at least this test's own.
func measure(b *testing.B, cmd func() *exec.Cmd) {
	b.Helper()
	var peak int64
	var cpu float64
	for b.Loop() {
		c := cmd()
		if out, err := c.Output(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		usage := c.ProcessState.SysUsage().(*syscall.Rusage)
		peak = max(peak, usage.Maxrss)
		cpu += float64((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Microseconds()) / 1000
	}
	b.ReportMetric(float64(peak)/1024, "peak-MB")
	b.ReportMetric(cpu/float64(b.N), "cpu-ms/op")
}

func BenchmarkVersion(b *testing.B) {
	u := benchUser(b)
	info, err := os.Stat(filepath.Join(programs(b), "codeagent"))
	if err != nil {
		b.Fatal(err)
	}
	measure(b, func() *exec.Cmd { return u.codeagent("version") })
	b.ReportMetric(float64(info.Size())/(1<<20), "binary-MB")
}

// BenchmarkExecOneMessage is one scripted message, headless.
func BenchmarkExecOneMessage(b *testing.B) {
	benchExec(b, scripted.Reply{Text: "hello"})
}

// BenchmarkExecOneMegabyte is an answer of 1 MB in pieces of 16 bytes.
func BenchmarkExecOneMegabyte(b *testing.B) {
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = "abcdefgh "[i%9]
	}
	benchExec(b, scripted.Reply{Text: string(text)})
}

// BenchmarkExecFiftyCalls is fifty sandboxed commands, one after the other.
func BenchmarkExecFiftyCalls(b *testing.B) {
	var replies []scripted.Reply
	for range 50 {
		replies = append(replies, scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: `{"command":"true"}`}}})
	}
	benchExec(b, append(replies, scripted.Reply{Text: "done"})...)
}

func benchExec(b *testing.B, replies ...scripted.Reply) {
	u := benchUser(b)
	srv, err := scripted.Start(context.Background(), func(r scripted.Request) scripted.Reply {
		results := 0
		for _, m := range r.Messages {
			if m.Role == "tool" {
				results++
			}
		}
		return replies[results]
	})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	measure(b, func() *exec.Cmd {
		cmd := u.codeagent("exec", "--model", "test", "hello")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		return cmd
	})
}

// BenchmarkExecFourSleeps is an answer with four sandboxed sleep 0.5, streamed at 50
// tokens a second: 24 pieces of four bytes, 480 ms. It measures the time from the request
// to the one with all results.
func BenchmarkExecFourSleeps(b *testing.B) {
	for _, wire := range []string{"chat", "responses"} {
		for _, mode := range []string{"decoding", "off"} {
			b.Run(wire+"/"+mode, func(b *testing.B) { benchSleeps(b, wire, mode) })
		}
	}
}

func benchSleeps(b *testing.B, wire, mode string) {
	u := benchUser(b)
	sleeps := scripted.Reply{TokensPerSecond: 50, PaceArguments: true}
	for range 4 {
		sleeps.Calls = append(sleeps.Calls, scripted.Call{Name: "shell", Arguments: `{"command":"sleep 0.5"}`})
	}
	var asked time.Time
	var most, all time.Duration
	least := time.Hour
	srv, err := scripted.Start(context.Background(), func(r scripted.Request) scripted.Reply {
		if r.N%2 == 0 {
			asked = time.Now()
			return sleeps
		}
		took := time.Since(asked)
		least, most, all = min(least, took), max(most, took), all+took
		return scripted.Reply{Text: "done"}
	})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	measure(b, func() *exec.Cmd {
		cmd := u.codeagent("exec", "--ephemeral", "--model", "test", "-c", "wire="+wire, "-c", "speculation.mode="+mode, "hello")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		return cmd
	})
	b.ReportMetric(float64(all.Microseconds())/1000/float64(b.N), "ms-to-results")
	b.ReportMetric(float64(least.Microseconds())/1000, "least-ms-to-results")
	b.ReportMetric(float64(most.Microseconds())/1000, "most-ms-to-results")
}

// BenchmarkSandboxTrue runs `codeagent sandbox -- true`, and true without it.
func BenchmarkSandboxTrue(b *testing.B) {
	u := benchUser(b)
	b.Run("sandboxed", func(b *testing.B) {
		measure(b, func() *exec.Cmd { return u.codeagent("sandbox", "--", "/bin/true") })
	})
	b.Run("plain", func(b *testing.B) {
		measure(b, func() *exec.Cmd { return exec.Command("/bin/true") })
	})
}
