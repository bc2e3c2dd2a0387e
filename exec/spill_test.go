package exec

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/sandbox"
)

// spills returns a Runner with small bounds that keeps outputs in a folder, on a disk of that
// size.
func spills(t *testing.T, o Options, free, size int64) (*Runner, string) {
	t.Helper()
	o.SpillDir = filepath.Join(t.TempDir(), "output")
	o.None, o.Environ = Plain{}, []string{"PATH=/usr/bin:/bin"}
	r := New(o)
	r.spills.free = func(*os.File) (int64, int64) {
		bytes, _ := held(t, o.SpillDir)
		return free - bytes, size
	}
	return r, o.SpillDir
}

// print runs a command that prints n bytes.
func print(t *testing.T, r *Runner, n string, most int64) Output {
	t.Helper()
	p := sandbox.FullAccess()
	p.Limits.Output = most
	o, err := r.Run(context.Background(), p, Command{Argv: []string{"head", "-c", n, "/dev/zero"}, Dir: "/"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o.Output
}

// held returns the size and the number of the files in the folder.
func held(t *testing.T, dir string) (bytes int64, files int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes, len(entries)
}

const plenty = 1 << 50

// TestSpillsOfAllSessions: outputs of earlier sessions are removed, the oldest first. Those
// still being written and other files stay.
func TestSpillsOfAllSessions(t *testing.T) {
	r, dir := spills(t, Options{SpillAll: 3 << 20}, plenty, plenty)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := func(name string, age time.Duration) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first, second, third := old("output-1.txt", 3*time.Hour), old("output-2.txt", 2*time.Hour), old("output-3.txt", time.Hour)
	aged, other := old("output-0.txt", 8*24*time.Hour), old("mine.txt", 9*24*time.Hour)
	writing, err := openSpill(New(Options{}).spills, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	writing.room.free = r.spills.free
	writing.room.all = plenty
	writing.write(make([]byte, 1<<20))
	path, _, _ := writing.where()
	if err := os.Chtimes(path, time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	print(t, r, "100000", 1<<20)
	for file, stays := range map[string]bool{aged: false, first: false, second: false, third: true, other: true, path: true} {
		if _, err := os.Stat(file); (err == nil) != stays {
			t.Errorf("%s: stays %v, want %v", filepath.Base(file), err == nil, stays)
		}
	}
	writing.close()
}

// TestSpillsMakeRoom: on a nearly full disk old outputs are removed before a new one is cut.
func TestSpillsMakeRoom(t *testing.T) {
	r, dir := spills(t, Options{}, 1<<30+12<<20, plenty)
	for range 4 {
		if out := print(t, r, "6000000", 6<<20); out.Cut != "" {
			t.Errorf("cut: %s", out.Cut)
		}
	}
	if bytes, _ := held(t, dir); bytes > 12<<20 {
		t.Errorf("%d bytes", bytes)
	}
}

// TestSpillCut: the model and the user read why part of an output is not on disk.
func TestSpillCut(t *testing.T) {
	for name, row := range map[string]struct {
		o          Options
		free, size int64
		most       int64
		want       string
		limit      sandbox.Limit
	}{
		"whole":                      {Options{}, plenty, plenty, 0, "whole output in ", ""},
		"its own limit":              {Options{}, plenty, plenty, 1 << 20, "first 1048576 bytes of the output in ", sandbox.LimitOutput},
		"its own, in words":          {Options{}, plenty, plenty, 1 << 20, "the rest was not kept: limit of 1 MiB ", sandbox.LimitOutput},
		"nearly full":                {Options{}, 1<<30 + 5<<20, plenty, 0, "the rest was not kept: disk nearly full", ""},
		"nearly full from the start": {Options{}, 1 << 30, plenty, 0, "bytes cut, not kept: disk nearly full", ""},
		"a small disk":               {Options{}, 100 << 20, 1 << 30, 0, "whole output in ", ""},
		"a small full disk":          {Options{}, 50 << 20, 1 << 30, 0, "not kept: disk nearly full", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := spills(t, row.o, row.free, row.size)
			out := print(t, r, "6000000", row.most)
			if text := out.Text(); !strings.Contains(text, row.want) {
				t.Errorf("%q", text[bytes.IndexByte([]byte(text), '['):][:200])
			}
			if got := Reached(sandbox.Limits{}, Outcome{Output: out}); got != row.limit {
				t.Errorf("limit %q, want %q", got, row.limit)
			}
		})
	}
}

// TestSpareRoom: some space stays free on a small disk, and no large share of a large one.
func TestSpareRoom(t *testing.T) {
	for size, want := range map[int64]int64{1 << 30: 1 << 30 / 20, 20 << 30: 1 << 30, 4 << 40: 1 << 30} {
		if got := spareRoom(size); got != want {
			t.Errorf("of %d: %d, want %d", size, got, want)
		}
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if free, size := freeRoom(dir); free <= 0 || size < free {
		t.Errorf("%d of %d bytes are free", free, size)
	}
}
