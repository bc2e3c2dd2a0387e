//go:build linux

package linuxsandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"codeagent/sandbox"
)

// Benchmarks of work that is mostly calls the broker performs: the same script
// in turn plainly and in the sandbox. BENCH_DIR names the folder to work in, for
// figures of a certain file system.

// BenchmarkExtract unpacks an archive of 20,000 small files.
func BenchmarkExtract(b *testing.B) {
	compared(b, func(dir string) {
		for i := range 20_000 {
			benchFile(b, filepath.Join(dir, "tree", strconv.Itoa(i/200), strconv.Itoa(i)))
		}
		benchRun(b, dir, "tar cf tree.tar tree && rm -r tree")
	}, "mkdir out && tar xf tree.tar -C out")
}

// BenchmarkClone clones a repository of 5,000 files.
func BenchmarkClone(b *testing.B) {
	compared(b, func(dir string) {
		for i := range 5000 {
			benchFile(b, filepath.Join(dir, "repo", strconv.Itoa(i/100), strconv.Itoa(i)))
		}
		benchRun(b, filepath.Join(dir, "repo"), "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm all")
	}, "git clone -q repo out")
}

func benchFile(b *testing.B, path string) {
	b.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(path), 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}

func benchRun(b *testing.B, dir, script string) {
	b.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// compared reports how long script takes plainly and how much longer confined.
func compared(b *testing.B, furnish func(dir string), script string) {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { removeAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		b.Fatal(err)
	}
	furnish(dir)
	backend, err := New(Options{Helper: realHelper(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	cmd := sandbox.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: dir,
		Env: []string{"PATH=/bin:/usr/bin", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"},
	}
	var plain, confined []time.Duration
	for b.Loop() {
		start := time.Now()
		benchRun(b, dir, script)
		middle := time.Now()
		benchRun(b, dir, "rm -r out")
		again := time.Now()
		proc, err := backend.Start(b.Context(), sandbox.WorkspaceWrite(dir), cmd, nil)
		if err != nil {
			b.Fatal(err)
		}
		if st, err := proc.Wait(); err != nil || st.Exit != 0 {
			b.Fatalf("%+v %v, refused: %+v", st, err, proc.Denials()[:min(3, len(proc.Denials()))])
		}
		plain, confined = append(plain, middle.Sub(start)), append(confined, time.Since(again))
		benchRun(b, dir, "rm -r out")
	}
	slices.Sort(plain)
	slices.Sort(confined)
	p, c := plain[len(plain)/2], confined[len(confined)/2]
	b.ReportMetric(p.Seconds()*1000, "plain-ms")
	b.ReportMetric(c.Seconds()*1000, "confined-ms")
	b.ReportMetric(c.Seconds()/p.Seconds(), "ratio")
}
