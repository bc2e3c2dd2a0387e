//go:build linux

package linuxsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// layered are backends with some of their layers, to measure the cost of each.
var layered = []struct {
	name               string
	namespaces, broker bool
}{
	{"landlock+seccomp", false, false},
	{"with broker", false, true},
	{"with namespaces", true, false},
	{"all", true, true},
}

// newLayered leaves layers out. It skips the benchmark if this machine lacks a wanted layer.
func newLayered(b *testing.B, namespaces, broker bool) *Backend {
	b.Helper()
	backend := newBackend(b)
	if !namespaces {
		backend.plain = errors.New("left out of this benchmark")
	}
	f, err := backend.probe(nil)
	if err != nil {
		b.Fatal(err)
	}
	if f.Namespaces != namespaces || broker && !f.Broker {
		backend.Close()
		b.Skipf("not on this machine: %s%s", f.NamespacesWhy, f.NoBroker)
	}
	if !broker {
		backend.probed.Broker, backend.probed.NoBroker = false, "left out of this benchmark"
		backend.probed.Sockets, backend.probed.NoSockets = sockets.TakesNone, "left out of this benchmark"
	}
	return backend
}

// BenchmarkTrue measures the cost of confinement: the same program started alternately without and
// in the sandbox, with the real helper binary. The result is the difference of the two medians,
// which vary less on a busy machine than means.
func BenchmarkTrue(b *testing.B) {
	for _, l := range layered {
		b.Run(l.name, func(b *testing.B) {
			backend := newLayered(b, l.namespaces, l.broker)
			defer backend.Close()
			ws := b.TempDir()
			cmd := sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: ws, Env: []string{"PATH=/bin:/usr/bin"}}
			plain, sandboxed := inTurns(b, plainly(b, cmd), confined(b, backend, sandbox.WorkspaceWrite(ws), cmd), func() {})
			reportAbove(b, plain, sandboxed)
		})
	}
}

// BenchmarkRecords measures what hiding codeagent's records adds to a start: the same program
// alternately with the records visible and hidden.
func BenchmarkRecords(b *testing.B) {
	for _, namespaces := range []bool{true, false} {
		b.Run(layersName[namespaces], func(b *testing.B) {
			backend := newLayered(b, namespaces, true)
			defer backend.Close()
			r := newRecords(b)
			cmd := sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: r.ws}
			hidden, shown := r.policy(), r.policy()
			shown.Protected.Hidden = nil
			none, both := inTurns(b, confined(b, backend, shown, cmd), confined(b, backend, hidden, cmd), func() {})
			reportAbove(b, none, both)
		})
	}
}

// BenchmarkEvidence measures what recording refusals adds to a start: the same program alternately
// with no evidence and with all of it.
func BenchmarkEvidence(b *testing.B) {
	for _, namespaces := range []bool{true, false} {
		b.Run(layersName[namespaces], func(b *testing.B) {
			backend := newLayered(b, namespaces, true)
			defer backend.Close()
			ws := b.TempDir()
			p := sandbox.WorkspaceWrite(ws)
			seen := sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: ws, Evidence: sandbox.EvidenceFull}
			unseen := seen
			unseen.Evidence = sandbox.EvidenceNothing
			none, full := inTurns(b, confined(b, backend, p, unseen), confined(b, backend, p, seen), func() {})
			reportAbove(b, none, full)
		})
	}
}

// reportAbove reports how much longer the second of two programs took, for the best starts and for
// the medians.
func reportAbove(b *testing.B, one, two []time.Duration) {
	b.Helper()
	for _, at := range []struct {
		name string
		part int
	}{{"best", 50}, {"median", 2}} {
		base, above := one[len(one)/at.part], two[len(two)/at.part]-one[len(one)/at.part]
		b.ReportMetric(float64(base.Microseconds())/1000, at.name+"-ms")
		b.ReportMetric(float64(above.Microseconds())/1000, at.name+"-above-ms")
	}
}

// BenchmarkHelper reports the size of the helper.
func BenchmarkHelper(b *testing.B) {
	info, err := os.Stat(tests.Helper(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}

// layersName distinguishes runs with and without namespaces.
var layersName = map[bool]string{true: "all", false: "no namespaces"}

// inTurns runs two programs alternately and returns their times, sorted. clear runs before each run
// and is not counted.
func inTurns(b *testing.B, one, two, clear func()) (first, second []time.Duration) {
	b.Helper()
	timed := func(run func()) time.Duration {
		clear()
		start := time.Now()
		run()
		return time.Since(start)
	}
	for b.Loop() {
		first, second = append(first, timed(one)), append(second, timed(two))
	}
	slices.Sort(first)
	slices.Sort(second)
	return first, second
}

// plainly runs cmd without a sandbox.
func plainly(b *testing.B, cmd sandbox.Command) func() {
	return func() {
		bare := exec.Cmd{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env}
		if err := bare.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// confined runs cmd under p.
func confined(b *testing.B, backend *Backend, p sandbox.Policy, cmd sandbox.Command) func() {
	return func() {
		proc, err := sandboxtest.Start(backend, context.Background(), p, cmd, nil)
		if err != nil {
			b.Fatal(err)
		}
		if st, err := proc.Wait(); err != nil || st.Exit != 0 {
			b.Fatalf("%+v %v", st, err)
		}
	}
}

// These are the sizes of the jobs of BenchmarkJobs.
const (
	clonedFiles    = 5_000
	extractedFiles = 20_000
)

// benchJobs are jobs that users wait for. script runs in a workspace that prepare has filled, and
// writes to out.
var benchJobs = []struct {
	name, prepare, script string
}{
	{"go build", `mkdir app && cd app && printf 'module app\n\ngo 1.26\n' > go.mod && printf 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("hello") }\n' > main.go`,
		`cd app && GOCACHE=$PWD/../out/cache go build -o ../out/app .`},
	{"git clone", fmt.Sprintf(`git init -q src && cd src && for i in $(seq %d); do d=d$((i%%100)); [ -d $d ] || mkdir $d; echo $i > $d/f$i; done &&
		git add . && git -c user.name=n -c user.email=e commit -qm files`, clonedFiles), `git clone -q src out/copy`},
	{"tar", fmt.Sprintf(`for i in $(seq %d); do d=d$((i%%200)); [ -d $d ] || mkdir $d; echo $i > $d/f$i; done && tar cf all.tar d*`, extractedFiles), `tar xf all.tar -C out`},
	{"grep -r", fmt.Sprintf(`for i in $(seq %d); do d=d$((i%%200)); [ -d $d ] || mkdir $d; echo $i > $d/f$i; done`, extractedFiles), `grep -rq 'no such line' . || true`},
}

// BenchmarkJobs runs ordinary jobs on tmpfs and on the disk of TMPDIR, with all
// layers and without namespaces: x-of-plain is the ratio of the medians.
func BenchmarkJobs(b *testing.B) {
	for _, job := range benchJobs {
		for _, place := range []string{os.TempDir(), kernel.ShmDir} {
			for _, namespaces := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/%s/%s", job.name, filesystemOf(place), layersName[namespaces]), func(b *testing.B) {
					ws, err := os.MkdirTemp(place, "codeagent-bench-")
					if err != nil {
						b.Fatal(err)
					}
					defer os.RemoveAll(ws)
					temp := filepath.Join(ws, "temp")
					if err := os.Mkdir(temp, 0o700); err != nil {
						b.Fatal(err)
					}
					env := append(os.Environ(), "HOME="+ws, "TMPDIR="+temp, "GIT_CONFIG_NOSYSTEM=1", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local")
					prepare := exec.Command("bash", "-c", job.prepare)
					prepare.Dir, prepare.Env = ws, env
					if out, err := prepare.CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
					backend := newLayered(b, namespaces, true)
					defer backend.Close()
					bash, err := exec.LookPath("bash")
					if err != nil {
						b.Fatal(err)
					}
					cmd := sandbox.Command{Path: bash, Args: []string{"bash", "-c", job.script}, Dir: ws, Env: env}
					out := filepath.Join(ws, "out")
					plain, sandboxed := inTurns(b, plainly(b, cmd), confined(b, backend, sandbox.WorkspaceWrite(ws), cmd), func() {
						if err := errors.Join(os.RemoveAll(out), os.Mkdir(out, 0o755)); err != nil {
							b.Fatal(err)
						}
					})
					p, c := plain[len(plain)/2], sandboxed[len(sandboxed)/2]
					b.ReportMetric(float64(p.Microseconds())/1000, "plain-ms")
					b.ReportMetric(float64(c)/float64(p), "x-of-plain")
				})
			}
		}
	}
}

// filesystemOf is "tmpfs" or "disk".
func filesystemOf(path string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
		return "tmpfs"
	}
	return "disk"
}

// BenchmarkBounded measures what being born in the session's control group adds to a start: the same program
// alternately there and in codeagent's own group.
func BenchmarkBounded(b *testing.B) {
	backend := newLayered(b, true, true)
	defer backend.Close()
	files := newWithoutControllers()
	backend.groups = cgroup.New(files)
	if f := backend.groups.Open(); f.Why != "" {
		b.Skipf("not on this machine: %s", f.Why)
	}
	ws := b.TempDir()
	cmd := sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: ws, Env: []string{"PATH=/bin:/usr/bin"}}
	start := confined(b, backend, sandbox.WorkspaceWrite(ws), cmd)
	bounded := func() { backend.bound = true; start() }
	free := func() { backend.bound = false; start() }
	plain, inGroup := inTurns(b, free, bounded, func() {})
	reportAbove(b, plain, inGroup)
}
