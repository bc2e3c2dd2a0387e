package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/execcmd"
	"codeagent/headless"
	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
	"codeagent/linuxsandbox"
)

// A long session runs in a process of its own, which runs only what codeagent itself runs: the
// wiring, the sandbox, the session's file.

// span holds the average cost of a part of the turns.
type span struct {
	Turns  int
	Allocs uint64 // allocations a turn
	Bytes  uint64 // of them
	Micros int64
	// Processor is processor time in microseconds, of codeagent alone.
	Processor int64
}

// lived is the result of a long session.
type lived struct {
	Early, Late span
	// HeapMB is the heap in use at the end, PeakMB the peak memory of the process.
	HeapMB, PeakMB int
	// Items is the length of the conversation at the end.
	Items int
}

// spanned is how many turns a span has, from turn 10 on and up to the last: several times the
// number of turns between two compactions.
const spanned = 200

// liveLong is the program: longtalk TURNS, with a model in the environment.
func liveLong() {
	out, err := liveTurns(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func liveTurns(count string) (lived, error) {
	turns, err := strconv.Atoi(count)
	if err != nil {
		return lived{}, err
	}
	ctx := context.Background()
	s := cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}
	base, err := conversation.Open(ctx, s, cli.Flags{Model: "test"}, conversation.Options{Beginning: conversation.Beginning{HasPrompt: true}})
	if err != nil {
		return lived{}, err
	}
	defer base.Close()
	ses := conversation.Join(base, execcmd.PrinterFace{Printer: headless.New(headless.Options{Out: io.Discard, Err: io.Discard, JSON: true}), Ending: func() {}})
	ses.Begin()
	var out lived
	part := func(from, to int) (span, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start, processor := time.Now(), processorTime()
		for n := from; n < to; n++ {
			if err := ses.Agent.Turn(ctx, agent.Input{Text: fmt.Sprintf("wish %d: read it, and say what you think", n)}); err != nil {
				return span{}, fmt.Errorf("turn %d: %w", n, err)
			}
		}
		runtime.ReadMemStats(&after)
		n := uint64(max(to-from, 1))
		return span{to - from, (after.Mallocs - before.Mallocs) / n, (after.TotalAlloc - before.TotalAlloc) / n,
			time.Since(start).Microseconds() / int64(n), (processorTime() - processor).Microseconds() / int64(n)}, nil
	}
	for _, p := range []struct {
		from, to int
		into     *span
	}{{0, 10, new(span)}, {10, 10 + spanned, &out.Early}, {10 + spanned, turns - spanned, new(span)}, {turns - spanned, turns, &out.Late}} {
		if *p.into, err = part(p.from, p.to); err != nil {
			return lived{}, err
		}
	}
	runtime.GC()
	var end runtime.MemStats
	runtime.ReadMemStats(&end)
	out.HeapMB, out.PeakMB, out.Items = int(end.HeapInuse>>20), peakMB(), len(ses.Agent.History())
	return out, nil
}

// processorTime returns the CPU time of the process.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // never fails for the own process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMB returns the peak memory of the process.
func peakMB() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return kb >> 10
}

// answerLong is the model of a long session: each turn it reads a file, keeps a
// plan or, rarely, runs a command, and then has something to say.
func answerLong(r scripted.Request) scripted.Reply {
	last := r.Last()
	words := strings.Repeat("It is as was to be expected, and a little more than that. ", 20)
	switch {
	case last.Role == "tool":
		return scripted.Reply{Text: words, Piece: 256}
	case strings.Contains(last.Text, "replaced by a summary, which you write now"):
		return scripted.Reply{Text: "## Done\n" + words, Piece: 256}
	case r.N%50 == 0:
		return scripted.Reply{Calls: []scripted.Call{{ID: fmt.Sprint("c", r.N), Name: "shell", Arguments: `{"command":"echo done"}`}}}
	case r.N%3 == 0:
		return scripted.Reply{Calls: []scripted.Call{{ID: fmt.Sprint("c", r.N), Name: "update_plan", Arguments: `{"plan":[{"step":"go on","status":"in_progress"}]}`}}}
	}
	return scripted.Reply{Calls: []scripted.Call{{ID: fmt.Sprint("c", r.N), Name: "read_file", Arguments: `{"path":"text.txt"}`}}}
}

// plainTests are these tests without the race detector.
var plainTests attack.Program

// liveIn runs the turns in a new home, with a model whose context has that many tokens.
func liveIn(t testing.TB, turns, limit int) lived {
	t.Helper()
	srv, err := scripted.Start(t.Context(), answerLong)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	srv.Forget()
	base := t.TempDir()
	home, work := filepath.Join(base, "home"), filepath.Join(base, "work")
	for _, dir := range []string{filepath.Join(home, ".config/codeagent"), work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	settings := fmt.Sprintf("[models.test]\ncontext = %d\n", limit)
	text := strings.Repeat("a line of the file that is read again and again\n", 80)
	for name, data := range map[string]string{filepath.Join(home, ".config/codeagent/config.toml"): settings, filepath.Join(work, "text.txt"): text} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The detector of races keeps what it saw of each turn, and multiplies the time of each process.
	program := filepath.Join(base, "bin", "longtalk")
	if err := os.Mkdir(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	attack.CopyFile(t, plainTests.BuildPlain(t, "codeagent/cmd/codeagent"), program)
	if err := os.Link(program, filepath.Join(filepath.Dir(program), linuxsandbox.HelperName)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, strconv.Itoa(turns))
	cmd.Dir = work
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "OPENAI_BASE_URL=" + srv.URL}
	told, err := cmd.Output()
	var out lived
	if err == nil {
		err = json.Unmarshal(told, &out)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return out
}

// TestTwoThousandTurns: however long a session is, a turn costs as much as at its beginning,
// and the total memory is bounded.
func TestTwoThousandTurns(t *testing.T) {
	machine.Turn(t, 0) // minutes
	t.Parallel()
	got := liveIn(t, 2000, 20_000)
	t.Logf("%+v", got)
	if got.PeakMB > 150 || got.HeapMB > 60 {
		t.Errorf("%d MB at most, %d MB of heap at the end", got.PeakMB, got.HeapMB)
	}
	if e, l := got.Early, got.Late; l.Allocs > e.Allocs*5/4 || l.Bytes > e.Bytes*5/4 {
		t.Errorf("a turn allocates more late in a session: early %+v, late %+v", e, l)
	}
	if got.Items > 500 {
		t.Errorf("the conversation has %d items: it was never compacted", got.Items)
	}
}

// BenchmarkLongSession measures the cost of a turn near the beginning of a session of
// 2,000 turns and at its end.
func BenchmarkLongSession(b *testing.B) {
	for b.Loop() {
		got := liveIn(b, 2000, 32_000)
		b.ReportMetric(float64(got.Early.Micros), "µs/turn-10")
		b.ReportMetric(float64(got.Late.Micros), "µs/turn-2000")
		b.ReportMetric(float64(got.Early.Processor), "cpu-µs/turn-10")
		b.ReportMetric(float64(got.Late.Processor), "cpu-µs/turn-2000")
		b.ReportMetric(float64(got.Early.Bytes)/1024, "KB/turn-10")
		b.ReportMetric(float64(got.Late.Bytes)/1024, "KB/turn-2000")
		b.ReportMetric(float64(got.PeakMB), "peak-MB")
	}
}
