//go:build linux

package linuxsandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/linuxsandbox/cgroup"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// withoutControllers are the kernel's groups with simulated files of controllers: creating,
// joining, killing and removing groups needs no controller.
type withoutControllers struct {
	cgroup.Kernel
	played map[string]string // the files of controllers that were written
	events string            // the content of memory.events
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
		return g.events, nil
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
			if st, _ := sh("exit 0"); st.Limit != "" {
				t.Errorf("%+v: a command that passed ran into no limit", st)
			}
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
func TestGroupsAsUser(t *testing.T) { tests.AsUser(t, "^(TestCommandInGroup|TestMemoryOfAll)$") }
