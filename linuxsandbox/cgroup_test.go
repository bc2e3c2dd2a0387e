//go:build linux

package linuxsandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// withoutControllers are the kernel's groups with simulated files of controllers: creating,
// joining, killing and removing groups needs no controller.
type withoutControllers struct {
	cgroup.Kernel
	played map[string]string // the files of controllers that were written
	events string            // the content of memory.events
	kills  int               // of each reading of it, if that is empty
	made   []string          // the groups that were created
}

func newWithoutControllers() *withoutControllers {
	return &withoutControllers{played: map[string]string{}}
}

func isPlayed(path string) bool {
	name := filepath.Base(path)
	return name == "cgroup.controllers" || name == "cgroup.subtree_control" || !strings.HasPrefix(name, "cgroup")
}

func (g *withoutControllers) Read(path string) (string, error) {
	text, written := g.played[path]
	switch {
	case strings.HasPrefix(path, "/proc/"), !isPlayed(path):
		return g.Kernel.Read(path)
	case filepath.Base(path) == "memory.events":
		g.kills++
		return cmp.Or(g.events, fmt.Sprintf("oom_kill %d\n", g.kills)), nil
	case written:
		return text, nil
	}
	return "memory pids cpu", nil
}

func (g *withoutControllers) Write(path, text string) error {
	if isPlayed(path) {
		g.played[path] = text
		return nil
	}
	return g.Kernel.Write(path, text)
}

func (g *withoutControllers) Mkdir(path string) error {
	err := g.Kernel.Mkdir(path)
	if err == nil {
		g.made = append(g.made, path)
	}
	return err
}

// TestCommandInGroup runs commands in real groups, with and without namespaces. If nobody may
// create a group on this machine, Enforcement must say so.
func TestCommandInGroup(t *testing.T) {
	for name, plain := range map[string]error{"with namespaces": nil, "without": errors.New("left out for the test")} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t)
			defer b.Close()
			files := newWithoutControllers()
			files.events = "oom 0\n"
			b.plain, b.groups = plain, cgroup.New(files)
			ws := t.TempDir()
			p := sandbox.WorkspaceWrite(ws)
			p.Limits = sandbox.Limits{Memory: 1 << 30, Processes: 1000, CPUPercent: 100}
			e, err := sandboxtest.Enforcement(b, p)
			if err != nil {
				t.Fatal(err)
			}
			stated := slices.ContainsFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == "memory-limit" })
			if active := slices.Contains(e.Active(), "cgroup"); active == stated {
				t.Fatalf("layers %v, weaknesses %v: a limit is either held or a weakness", e.Layers, e.Weaknesses)
			}
			if stated {
				t.Logf("no group here: %s", b.groups.Open().Why)
				return
			}
			sh := func(script string) (sandbox.Status, string) {
				return sandboxtest.Output(t, b, p, sandbox.Command{Path: "bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}})
			}
			st, out := sh("grep ^0:: /proc/self/cgroup; sleep 1000 & setsid sleep 1000 & ulimit -v; exit 0")
			if st.Exit != 0 || !strings.Contains(out, filepath.Base(files.made[len(files.made)-1])+"\n") || !strings.Contains(out, "unlimited") {
				t.Errorf("%+v, want its own group and no limit on addresses:\n%s", st, out)
			}
			files.events = "oom 1\noom_kill 2\n"
			if st, _ := sh("kill -9 $$"); st.Limit != sandbox.LimitMemory || st.Signal != 9 {
				t.Errorf("%+v, want the memory limit", st)
			}
			shareGroup(t, b, files, ws)
			if st, _ := sh("exit 0"); st.Limit != "" {
				t.Errorf("%+v: a command that passed ran into no limit", st)
			}
			b.groups.Close()
			for _, made := range files.made {
				if _, err := os.Stat(made); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left behind: %v", made, err)
				}
			}
		})
	}
}

// TestMemoryOfAll: a group limits the memory of all processes together; here no single process
// exceeds the limit.
func TestMemoryOfAll(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	b.groups = cgroup.New(cgroup.Kernel{})
	ws := t.TempDir()
	p := sandbox.WorkspaceWrite(ws)
	p.Limits.Memory = 96 << 20
	e, err := sandboxtest.Enforcement(b, p)
	if err != nil {
		t.Fatal(err)
	}
	if !b.groups.Open().Memory {
		if i := slices.IndexFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == "memory-limit" }); i < 0 || !strings.Contains(e.Weaknesses[i].Why, b.groups.Open().Why) {
			t.Errorf("no group holds memory here (%s), and no weakness says so: %v", b.groups.Open().Why, e.Weaknesses)
		}
		t.Logf("uid %d: no group here: %s", os.Getuid(), b.groups.Open().Why)
		return
	}
	script := `for i in 1 2 3 4; do perl -e '$x = "a" x (40<<20); sleep 60' & done; wait; echo survived`
	st, out := sandboxtest.Output(t, b, p, sandbox.Command{Path: "bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}})
	if st.Limit != sandbox.LimitMemory || strings.Contains(out, "survived") {
		t.Errorf("%+v, want the memory limit\n%s", st, out)
	}
}

// TestGroupsAsUser: an ordinary user may not create a group in another user's.
func TestGroupsAsUser(t *testing.T) {
	tests.AsUser(t, "^(TestCommandInGroup|TestMemoryOfAll|TestScope)$")
}

// shareGroup runs commands without limits of their own in the session's group.
func shareGroup(t *testing.T, b *Backend, files *withoutControllers, ws string) {
	b.bound, files.events = true, ""
	defer func() { b.bound, files.events = false, "oom 0\n" }()
	shared := files.made[slices.IndexFunc(files.made, func(path string) bool { return strings.HasSuffix(path, "-0") })]
	run := func(script string) (sandbox.Status, string) {
		return sandboxtest.Output(t, b, sandbox.WorkspaceWrite(ws), sandbox.Command{Path: "bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}})
	}
	if st, out := run("grep ^0:: /proc/self/cgroup; exit 3"); st.Limit != sandbox.LimitMemory || !strings.Contains(out, filepath.Base(shared)+"\n") {
		t.Errorf("%+v, want the memory limit of %s:\n%s", st, shared, out)
	}
	if st, _ := run("true"); st != (sandbox.Status{}) {
		t.Errorf("%+v: a command that passed ran into no limit", st)
	}
	grown := exec.Command("sh", "-c", "sleep 1000 & wait")
	if err := grown.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = files.Write(shared+"/cgroup.kill", "1")
		_ = grown.Wait()
	}()
	b.groups.Take(grown.Process.Pid)
	for _, p := range append(kernel.Descendants(grown.Process.Pid)(kernel.Processes()), kernel.Process{PID: grown.Process.Pid}) {
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.PID)); !strings.Contains(string(text), filepath.Base(shared)+"\n") {
			t.Errorf("%d (%s) was not taken into %s: %s", p.PID, p.Comm, shared, text)
		}
	}
}

// TestScope: what codeagent asks systemd for, and what becomes of it.
func TestScope(t *testing.T) {
	dir := t.TempDir()
	write := func(script string) {
		if err := os.WriteFile(filepath.Join(dir, "systemd-run"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(`printf '%s ' "$@" >` + dir + `/args; env >` + dir + `/env; while [ "$1" != -- ]; do shift; done; shift; exec "$@"`)
	pid, end, err := startScope(dir+":"+scopePath, dir)
	if err != nil {
		t.Fatal(err)
	}
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	want, runtime := "--scope --quiet --collect --description=commands of codeagent --property=Delegate=yes -- cat ", "XDG_RUNTIME_DIR=/run/user/"
	if user := os.Getuid() != 0; user != strings.HasPrefix(string(args), "--user ") || strings.TrimPrefix(string(args), "--user ") != want || user != strings.Contains(string(env), runtime) {
		t.Errorf("systemd-run %s\n%s", args, env)
	}
	if p, ok := kernel.ReadProcess(pid); !ok || p.Comm != "cat" {
		t.Errorf("the scope holds %+v", p)
	}
	if end(); unix.Kill(pid, 0) != unix.ESRCH {
		t.Errorf("%d still runs", pid)
	}
	write("echo 'Failed to connect to bus' >&2; exit 1")
	if _, _, err := startScope(dir+":"+scopePath, dir); err == nil || !strings.Contains(err.Error(), "Failed to connect to bus") {
		t.Errorf("a manager that does not answer: %v", err)
	}
	if _, _, err := startScope(dir+":"+scopePath, dir+"/absent"); err == nil {
		t.Error("a scope without a manager")
	}
}
