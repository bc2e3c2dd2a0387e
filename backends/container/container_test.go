//go:build linux

package container

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

var tests = attack.Tests{Package: "codeagent/backends/container", Env: []string{sandboxtest.NoPause}}

func TestMain(m *testing.M) {
	sandboxtest.Main()
	os.Exit(m.Run())
}

func newBackend(t testing.TB, o Options) *linuxsandbox.Backend {
	t.Helper()
	o.Run, o.Image = attack.RunPodman, attack.Image
	b, err := New(o, linuxsandbox.Options{Helper: tests.Helper(t)}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestInPodman runs what needs containers.
func TestInPodman(t *testing.T) {
	program := attack.NewPodman(t)
	t.Run("fields", func(t *testing.T) { everyField(t, newBackend(t, Options{Program: program})) })
	t.Run("limits", func(t *testing.T) { limits(t, newBackend(t, Options{Program: program, Memory: 64, Tasks: 64})) })
	t.Run("killed", func(t *testing.T) { killed(t, program) })
}

// TestInPodmanAsUser runs it as an ordinary user, with rootless podman.
func TestInPodmanAsUser(t *testing.T) { tests.AsUser(t, "^TestInPodman$") }

// everyField: what becomes of each field of the policy in containers. Evidence, held calls and narrow grants are as on the
// native backend.
func everyField(t *testing.T, b *linuxsandbox.Backend) {
	e, err := sandboxtest.Enforcement(b, sandbox.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	if !e.Observes || e.Weak("evidence") {
		t.Errorf("no evidence: %+v", e.Weaknesses)
	}
	if st, out := run(t, b, "echo shared > /dev/shm/memory && cat /dev/shm/memory"); st.Exit != 0 || out != "shared\n" {
		t.Errorf("memory of files: %+v %q", st, out)
	}
	backendtest.EveryField(t, machine.SampleOf(t, 6, false), b)
}

// run is a command of a shell in a workspace of its own.
func run(t testing.TB, b resolved.Backend, text string) (sandbox.Status, string) {
	t.Helper()
	ws := t.TempDir()
	return sandboxtest.Output(t, b, sandbox.WorkspaceWrite(ws), sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", text}, Dir: ws, Env: []string{"PATH=/bin"}})
}

// limits: a command that takes too much of the container is ended, and the limit is named; the next one works.
func limits(t *testing.T, b *linuxsandbox.Backend) {
	inForce := machine.Trial{What: "limits of containers", Do: func(t testing.TB) error {
		e, err := sandboxtest.Enforcement(b, sandbox.ReadOnly())
		if err == nil && e.Weak("container-limits") {
			err = errors.New("not with these control groups, or not for this user")
		}
		return err
	}}
	if !inForce.Works(t) {
		return
	}
	for text, want := range map[string]sandbox.Limit{
		"head -c 200000000 /dev/zero | tail -c 199000000 > /dev/null; exit $?": sandbox.LimitMemory,
		"i=0; while [ $i -lt 100 ]; do sleep 10 & i=$((i+1)); done":            sandbox.LimitProcesses,
	} {
		if st, out := run(t, b, text); st.Limit != want {
			t.Errorf("%s: %+v %s", text, st, out)
		}
		if _, err := os.Lstat("oom"); err == nil {
			t.Error("the engine left a file where codeagent runs")
		}
		if st, out := run(t, b, "exit 7"); st.Exit != 7 || st.Limit != "" {
			t.Errorf("after %s: %+v %s", text, st, out)
		}
	}
}

// TestArgv: the command lines of engines, of which only Podman's ever ran.
func TestArgv(t *testing.T) {
	binds := []linuxsandbox.Bind{
		{Path: "/dev/kvm", Source: "/dev/kvm", Device: true}, {Path: "/tmp", Source: "/t", Writable: true}, {Path: "/ws", Source: "/ws", Writable: true},
		{Path: "/ws/.git", Source: "/ws/.git"},
	}
	const docker = "--pull never --log-driver none --security-opt no-new-privileges --security-opt label=disable --ipc none --mount type=tmpfs,destination=/dev/shm --no-healthcheck "
	const podman = docker + "--read-only-tmpfs=false --http-proxy=false "
	base := Options{Image: "go:1", Memory: 8, CPUs: 2, Tasks: 300}
	for _, row := range []struct {
		program string
		engine  engine
		order   linuxsandbox.ContainerOrder
		want    string
	}{
		{"/bin/podman", engine{uid: 0, gid: 0}, linuxsandbox.ContainerOrder{FileCaps: true},
			podman + "--user 0:0 --cap-add DAC_OVERRIDE --cap-add FOWNER --cap-add CHOWN --network none"},
		{"/bin/podman", engine{uid: 5, gid: 6}, linuxsandbox.ContainerOrder{Join: "first"},
			podman + "--user 0:0 --network container:first"},
		{"/bin/podman", engine{uid: 5, gid: 6, subordinate: true}, linuxsandbox.ContainerOrder{HostNet: true, Join: "first"},
			podman + "--userns keep-id --user 5:6 --network host"},
		{"/bin/docker", engine{uid: 5, gid: 6}, linuxsandbox.ContainerOrder{},
			docker + "--user 5:6 --network none"},
		{"/bin/container", engine{uid: 5, gid: 6}, linuxsandbox.ContainerOrder{}, "--user 5:6 --network none"},
	} {
		row.engine.Options, row.engine.Program = base, row.program
		row.order.Name, row.order.Binds, row.order.First = "c", binds, []string{"/h", "--container", "/s"}
		limits, readOnly := "--pids-limit 300 --memory 64m --memory-swap 64m --cpus 2", "ro"
		if row.program == "/bin/container" {
			limits, readOnly = "--memory 64m --cpus 2", "readonly"
		}
		want := row.program + " run --detach --rm --name c --read-only --cap-drop ALL --workdir / " + row.want + " " + limits + " --device /dev/kvm:/dev/kvm" +
			" --mount type=bind,source=/t,destination=/tmp --mount type=bind,source=/ws,destination=/ws --mount type=bind,source=/ws/.git,destination=/ws/.git," + readOnly +
			" --entrypoint /h go:1 --container /s"
		got, err := row.engine.argv(row.order)
		if line := strings.Join(got, " "); err != nil || line != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, line, want)
		}
	}
	_, err := engine{}.argv(linuxsandbox.ContainerOrder{Binds: []linuxsandbox.Bind{{Path: "/a,b", Source: "/a,b"}}})
	if err == nil {
		t.Error("a path with a comma can become another option of the mount")
	}
}

// TestLacks: limits that were raised or are not in force are weaknesses.
func TestLacks(t *testing.T) {
	e := engine{Options: Options{Memory: 8, CPUs: 1, Tasks: 100}}
	for want, found := range map[string]spec.Container{
		"least":                      {Memory: "67108864", CPU: "100000 100000", Tasks: "100"},
		"least limits limits limits": {Memory: "9223372036854771712", CPU: "-1", Tasks: "max"},
		"least limits":               {Memory: "67108864", CPU: "max 100000", Tasks: "100"},
	} {
		var got []string
		for _, w := range e.Lacks(found) {
			got = append(got, strings.TrimPrefix(w.ID, "container-"))
		}
		if line := strings.Join(got, " "); line != want {
			t.Errorf("%+v: %s, want %s", found, line, want)
		}
	}
}

// envProgram is the podman of a process that is killed.
const envProgram = "CODEAGENT_TEST_PODMAN"

// killed: when codeagent is killed, its container ends with the command in it.
func killed(t *testing.T, program string) {
	images := filepath.Dir(program)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledBody$") // its files stay
	cmd.Env = append(os.Environ(), envProgram+"="+program, attack.EnvHelper+"="+tests.Helper(t))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pids := attack.FirstProcesses(images)
	if line != "runs\n" || len(pids) != 1 {
		t.Fatalf("%q, and the containers have the first processes %d", line, pids)
	}
	pidfd, err := unix.PidfdOpen(pids[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(machine.Patience(20*time.Second).Milliseconds())); n != 1 {
		t.Error("the container runs on")
	}
}

// TestKilledBody is the process that is killed.
func TestKilledBody(t *testing.T) {
	program := os.Getenv(envProgram)
	if program == "" {
		attack.BodyOf(t, "TestInPodman")
	}
	ws := t.TempDir()
	cmd := sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo runs; sleep 1000"}, Dir: ws, Env: []string{"PATH=/bin"}, Stdout: os.Stdout}
	p, err := sandboxtest.Start(newBackend(t, Options{Program: program}), t.Context(), sandbox.WorkspaceWrite(ws), cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Error(p.Wait())
}

// BenchmarkExec is a command in a container that runs, beside the same on the native backend.
func BenchmarkExec(b *testing.B) {
	native, err := linuxsandbox.New(linuxsandbox.Options{Helper: tests.Helper(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { native.Close() })
	for _, on := range []resolved.Backend{native, newBackend(b, Options{Program: attack.NewPodman(b)})} {
		ws := b.TempDir()
		one := func() {
			if st, out := sandboxtest.Output(b, on, sandbox.WorkspaceWrite(ws), sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: ws}); st.Exit != 0 {
				b.Fatal(out)
			}
		}
		one()
		b.Run(on.Name(), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				one()
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
		})
	}
}
