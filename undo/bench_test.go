package undo

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// openStore opens a session in a store without bounds, and a folder of its own for
// what is changed.
func openStore(b *testing.B) (*History, *os.File) {
	b.Helper()
	store := New(b.TempDir())
	store.bounds.turn, store.bounds.session = 1<<40, 1<<40
	ses, err := store.Open(sessionID)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ses.Discard() })
	dir, err := os.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { dir.Close() })
	return ses, dir
}

// BenchmarkBeforeChange measures the wait of a command before it changes one file.
func BenchmarkBeforeChange(b *testing.B) {
	for _, row := range []struct {
		name string
		size int
	}{{"a new file", -1}, {"4 KB", 4 << 10}, {"64 KB", 64 << 10}, {"1 MB", 1 << 20}} {
		b.Run(row.name, func(b *testing.B) {
			ses, dir := openStore(b)
			if row.size >= 0 {
				if err := os.WriteFile(dir.Name()+"/f", []byte(strings.Repeat("x", row.size)), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			call := ses.Call()
			n := 0
			for b.Loop() {
				if n++; n%10_000 == 0 {
					ses.Begin("")
				}
				call.BeforeChange(int(dir.Fd()), "f", fmt.Sprintf("%s/%d", dir.Name(), n))
			}
		})
	}
}

// BenchmarkSettle measures codeagent's work at the end of a command, for each file that the
// command changed.
func BenchmarkSettle(b *testing.B) {
	const files = 20_000
	ses, dir := openStore(b)
	for b.Loop() {
		b.StopTimer()
		ses.Begin("")
		call := ses.Call()
		for n := range files {
			name := fmt.Sprintf("%05d", n)
			call.BeforeChange(int(dir.Fd()), name, dir.Name()+"/"+name)
			if err := os.WriteFile(dir.Name()+"/"+name, []byte(fmt.Sprint(b.N)), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		call.Settle()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/files, "µs/file")
}
