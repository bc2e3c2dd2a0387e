package tui

import (
	"math/rand"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"codeagent/internal/golden"
)

// What the screen costs on a real terminal, measured from outside. These are
// figures to read, not limits to fail on.

func benchStart(b *testing.B, mode string) *golden.Terminal {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{childVariable + "=" + mode, "TERM=xterm-256color", "COLORTERM=truecolor", "HOME=/home/ada"}
	term := golden.Start(b, cmd, 120, 40)
	term.WaitFor("Ask codeagent")
	return term
}

// end stops a program outside the measured time.
func end(b *testing.B, term *golden.Terminal) {
	b.StopTimer()
	term.Kill()
	b.StartTimer()
}

// BenchmarkFirstPaint is the time from the start of the process to the painted
// composer (of a test binary; the program's own start comes instead of it).
func BenchmarkFirstPaint(b *testing.B) {
	for b.Loop() {
		end(b, benchStart(b, "still"))
	}
}

// BenchmarkFirstPaintFloor is the same for a process that only prints: the rest
// is the screen's part.
func BenchmarkFirstPaintFloor(b *testing.B) {
	for b.Loop() {
		end(b, benchStart(b, "floor"))
	}
}

// BenchmarkEcho is the time from a key to its letter on the screen, with random gaps between the
// keys as a person leaves them.
func BenchmarkEcho(b *testing.B) {
	b.Run("idle", func(b *testing.B) {
		term := benchStart(b, "moving")
		term.WaitFor("workspace-write")
		echo(b, term)
	})
	b.Run("streaming", func(b *testing.B) {
		term := benchStart(b, "moving")
		term.WaitFor("workspace-write")
		term.Write("flood\r")
		term.WaitFor("token")
		echo(b, term)
	})
}

func echo(b *testing.B, term *golden.Terminal) {
	r := rand.New(rand.NewSource(1))
	var took []time.Duration
	typed := ""
	for b.Loop() {
		b.StopTimer()
		time.Sleep(time.Duration(20+r.Intn(180)) * time.Millisecond)
		c := string(rune('a' + len(typed)%26))
		typed += c
		b.StartTimer()
		start := time.Now()
		term.Write(c)
		term.WaitFor("› " + typed)
		took = append(took, time.Since(start))
		if len(typed) == 60 {
			term.Write("\x15")
			term.WaitGone("› a")
			typed = ""
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	term.Kill()
}

// BenchmarkThousandTokens streams 1,000 tokens at 200 a second: of prose, and of lists and code.
func BenchmarkThousandTokens(b *testing.B) {
	if testing.Short() {
		b.Skip("takes five seconds a run")
	}
	for _, kind := range []string{"tokens", "lists"} {
		b.Run(kind, func(b *testing.B) {
			var cpu time.Duration
			bytes := 0
			for b.Loop() {
				term := benchStart(b, "moving")
				term.WaitFor("workspace-write")
				before := term.Written()
				used := term.CPU()
				term.Write(kind + "\r")
				term.WaitFor("All tokens told.")
				term.WaitGone("Working")
				cpu += term.CPU() - used
				bytes += term.Written() - before
				term.Kill()
			}
			b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(bytes)/1000/float64(b.N), "KB/op")
		})
	}
}

// BenchmarkIdle is the processor time and memory of ten idle seconds.
func BenchmarkIdle(b *testing.B) {
	if testing.Short() {
		b.Skip("takes ten seconds")
	}
	for b.Loop() {
		term := benchStart(b, "moving")
		term.WaitFor("workspace-write")
		used, bytes := term.CPU(), term.Written()
		time.Sleep(10 * time.Second)
		b.ReportMetric(float64((term.CPU()-used).Milliseconds())/10, "cpu-ms/s")
		b.ReportMetric(float64(term.Written()-bytes)/10, "B/s")
		b.ReportMetric(term.Memory("VmRSS"), "rss-MB")
		term.Kill()
	}
}

// BenchmarkLarge is a transcript of 20 MB: its memory, a page up, and a new size.
func BenchmarkLarge(b *testing.B) {
	term := benchStart(b, "still")
	term.WaitFor("workspace-write")
	term.Write("large\r")
	term.WaitFor("told-all")
	term.WaitGone("Working")
	var pages, sizes []time.Duration
	until := func(took *[]time.Duration, do func()) {
		was, start := term.Written(), time.Now()
		for do(); term.Written() == was; {
			time.Sleep(100 * time.Microsecond)
		}
		*took = append(*took, time.Since(start))
		time.Sleep(20 * time.Millisecond)
	}
	for n := 0; b.Loop(); n++ {
		until(&pages, func() { term.Write("\x1b[5~") })
		until(&sizes, func() { term.Resize(110+n%2*10, 40) })
	}
	slices.Sort(pages)
	slices.Sort(sizes)
	b.ReportMetric(float64(pages[len(pages)*95/100].Microseconds())/1000, "page-p95-ms")
	b.ReportMetric(float64(sizes[len(sizes)*95/100].Microseconds())/1000, "resize-p95-ms")
	for _, name := range []string{"VmRSS", "VmHWM"} {
		b.ReportMetric(term.Memory(name), name+"-MB")
	}
}
