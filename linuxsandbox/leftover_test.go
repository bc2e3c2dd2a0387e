//go:build linux

package linuxsandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeagent/internal/machine"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestNothingLeft runs many commands in a row, ten thousand under CI. Afterwards this process's
// descriptors, children, mounts, sockets, control group and temporary files are the same as before.
func TestNothingLeft(t *testing.T) {
	tests.Helper(t) // built in a folder that remains for the other tests
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ws := t.TempDir()
	b := newBackend(t)
	defer b.Close()
	groups := newWithoutControllers()
	b.groups = cgroup.New(groups) // each in a control group, where possible
	p := sandbox.WorkspaceWrite(ws)
	p.Limits.Processes = 1 << 20
	commands := 0
	one := func() {
		command := sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: ws, Env: []string{"PATH=/bin:/usr/bin"}}
		if commands++; commands%5 == 2 { // the broker opens files for it, and refuses some
			command.Path, command.Args = "/bin/sh", []string{"sh", "-c", "exec 2>/dev/null; echo a >f; chmod 600 f; mkdir d; mv f d; rm -r d; echo b >/etc/codeagent-x; true"}
		}
		st, out := sandboxtest.Output(t, b, p, command)
		if st != (sandbox.Status{}) || out != "" {
			t.Fatalf("%+v %q", st, out)
		}
	}
	// What is created once a session exists after the first few.
	for range 3 {
		one()
	}
	b.ending.Wait() // for keepers, which end behind their commands
	before := inventory(t, groups.made, ws, temp)
	times := machine.Times(100, 10_000)
	for range times {
		one()
	}
	b.ending.Wait()
	if after := inventory(t, groups.made, ws, temp); after != before {
		t.Errorf("after %d commands there is\n%s\nbefore\n%s", times, after, before)
	}
}

// inventory lists what a process has and what it could leave behind.
func inventory(t *testing.T, groups []string, dirs ...string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue // the descriptor that lists the others
		}
		kind, _, _ := strings.Cut(target, ":[")
		if !strings.HasPrefix(kind, "/proc/") {
			kinds[kind]++
		}
	}
	fmt.Fprintln(&b, "descriptors", kinds)
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if text, _ := os.ReadFile(task); len(text) > 0 {
			fmt.Fprintln(&b, "children", string(text))
		}
	}
	for _, file := range []string{"mountinfo", "cgroup"} {
		text, err := os.ReadFile("/proc/self/" + file)
		if err != nil {
			t.Fatal(err)
		}
		// The table of mounts is shared with other suites, which mount below /srv. No policy here names that.
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return strings.Contains(line, " /srv/") })
		fmt.Fprintln(&b, file, strings.Join(lines, "\n"))
	}
	for _, group := range groups {
		if _, err := os.Stat(group); err == nil {
			fmt.Fprintln(&b, "control group", group)
		}
	}
	for _, dir := range dirs {
		names, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, dir, names)
	}
	return b.String()
}

// BenchmarkStartInTree starts a command in a small tree and in one of 100,000 folders: both must
// take the same time.
func BenchmarkStartInTree(b *testing.B) {
	for _, size := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("%d folders", size), func(b *testing.B) {
			ws := b.TempDir()
			for i := range size {
				if err := os.MkdirAll(fmt.Sprintf("%s/%d/%d", ws, i%100, i), 0o755); err != nil {
					b.Fatal(err)
				}
			}
			backend := newBackend(b)
			defer backend.Close()
			p := sandbox.WorkspaceWrite(ws)
			for b.Loop() {
				proc, err := sandboxtest.Start(backend, b.Context(), p, sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: ws}, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := proc.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestWhatCannotBeKilledIsNamed: a keeper that does not end is named by pid and program, with its
// descendants. (A process that cannot be killed stays in the kernel; here nothing tries to kill
// it.) A stopped keeper is killed, and every wait for it has a limit.
func TestWhatCannotBeKilledIsNamed(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	child, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	k := &keeperProcess{pid: cmd.Process.Pid, sock: -1}
	var left *sandbox.LeftError
	if err := leftError(k.leftovers(false, false)); !errors.As(err, &left) || len(left.Processes) != 2 {
		t.Fatalf("left %v", err)
	}
	for i, pid := range []string{strconv.Itoa(cmd.Process.Pid), strings.TrimSpace(child)} {
		if !strings.HasPrefix(left.Processes[i], pid+" (/") {
			t.Errorf("%q does not name %s and its program", left.Processes[i], pid)
		}
	}
	// The keeper is stopped before its child is killed: its wait would return then, and it would end.
	if err := unix.Kill(k.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if number, err := strconv.Atoi(strings.TrimSpace(child)); err != nil || unix.Kill(number, unix.SIGKILL) != nil {
		t.Errorf("child %q: %v", child, err)
	}
	if clean, over := k.reap(); clean || !over {
		t.Errorf("a stopped keeper: clean %v, over %v", clean, over)
	}
}
