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

	"golang.org/x/sys/unix"
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
	var plain, confined, plainCPU, confinedCPU []time.Duration
	for b.Loop() {
		start, startCPU := time.Now(), usedCPU()
		benchRun(b, dir, script)
		plain, plainCPU = append(plain, time.Since(start)), append(plainCPU, usedCPU()-startCPU)
		benchRun(b, dir, "rm -r out")
		start, startCPU = time.Now(), usedCPU()
		proc, err := backend.Start(b.Context(), sandbox.WorkspaceWrite(dir), cmd, nil)
		if err != nil {
			b.Fatal(err)
		}
		if st, err := proc.Wait(); err != nil || st.Exit != 0 {
			b.Fatalf("%+v %v, refused: %+v", st, err, proc.Denials()[:min(3, len(proc.Denials()))])
		}
		confined, confinedCPU = append(confined, time.Since(start)), append(confinedCPU, usedCPU()-startCPU)
		benchRun(b, dir, "rm -r out")
	}
	for _, at := range []struct {
		name            string
		plain, confined []time.Duration
	}{{"time", plain, confined}, {"cpu", plainCPU, confinedCPU}} {
		slices.Sort(at.plain)
		slices.Sort(at.confined)
		p, c := at.plain[len(plain)/2].Seconds(), at.confined[len(plain)/2].Seconds()
		b.ReportMetric(p*1000, at.name+"-plain-ms")
		b.ReportMetric(c*1000, at.name+"-confined-ms")
		b.ReportMetric(c/p, at.name+"-ratio")
	}
}

// usedCPU is what this process, with the broker in it, and its children took of
// the processors: other work on the machine moves it less than time.
func usedCPU() time.Duration {
	total := time.Duration(0)
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var used unix.Rusage
		if unix.Getrusage(who, &used) == nil {
			total += time.Duration(used.Utime.Nano() + used.Stime.Nano())
		}
	}
	return total
}
