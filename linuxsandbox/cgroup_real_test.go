//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// withoutControllers are the kernel's groups with simulated files of controllers: creating,
// joining, killing and removing groups needs no controller.
type withoutControllers struct {
	kernelGroups
	events string // the content of memory.events
}

func played(path string) bool {
	name := filepath.Base(path)
	return name == "cgroup.controllers" || name == "cgroup.subtree_control" || !strings.HasPrefix(name, "cgroup")
}

func (g *withoutControllers) read(path string) (string, error) {
	limits := groupLimits(sandbox.Limits{Memory: 64 << 20, Processes: 64, CPUPercent: 50}, groupFacts{Memory: true, Processes: true, CPU: true})
	i := slices.IndexFunc(limits, func(f groupFile) bool { return f.name == filepath.Base(path) })
	switch {
	case strings.HasPrefix(path, "/proc/"):
		return g.kernelGroups.read(path)
	case i >= 0:
		return limits[i].value, nil
	case filepath.Base(path) == "memory.events":
		return g.events, nil
	case played(path):
		return strings.Join(controllers, " "), nil
	}
	return g.kernelGroups.read(path)
}

func (g *withoutControllers) write(path, text string) error {
	if played(path) {
		return nil
	}
	return g.kernelGroups.write(path, text)
}

// TestCommandInGroup runs commands in real groups, with and without namespaces. If nobody may
// create a group on this machine, Enforcement must say so.
func TestCommandInGroup(t *testing.T) {
	for name, plain := range map[string]error{"with namespaces": nil, "without": errors.New("left out for the test")} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t)
			defer b.Close()
			files := &withoutControllers{}
			b.plain, b.groups = plain, &groups{files: files}
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
				t.Logf("no group here: %s", b.groups.facts.Why)
				return
			}
			sh := func(script string) (sandbox.Status, string) {
				return run(t, b, p, sandbox.Command{Path: "bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}})
			}
			st, out := sh("grep ^0:: /proc/self/cgroup; sleep 1000 & setsid sleep 1000 & ulimit -v; exit 0")
			if st.Exit != 0 || !strings.Contains(out, groupName()) || !strings.Contains(out, "unlimited") {
				t.Errorf("%+v, want its own group and no limit on addresses:\n%s", st, out)
			}
			files.events = "oom 1\noom_kill 2\n"
			if st, _ := sh("kill -9 $$"); st.Limit != sandbox.LimitMemory || st.Signal != 9 {
				t.Errorf("%+v, want the memory limit", st)
			}
			if st, _ := sh("exit 0"); st.Limit != "" {
				t.Errorf("%+v: a command that passed ran into no limit", st)
			}
			left, err := filepath.Glob(b.groups.own + "/" + groupName() + "*")
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestMemoryOfAll: a group limits the memory of all processes together; here no single process
// exceeds the limit.
func TestMemoryOfAll(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	b.groups = new(groups)
	ws := t.TempDir()
	p := sandbox.WorkspaceWrite(ws)
	p.Limits.Memory = 96 << 20
	e, err := sandboxtest.Enforcement(b, p)
	if err != nil {
		t.Fatal(err)
	}
	if !b.groups.facts.Memory {
		if i := slices.IndexFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == "memory-limit" }); i < 0 || !strings.Contains(e.Weaknesses[i].Why, b.groups.facts.Why) {
			t.Errorf("no group holds memory here (%s), and no weakness says so: %v", b.groups.facts.Why, e.Weaknesses)
		}
		t.Logf("uid %d: no group here: %s", os.Getuid(), b.groups.facts.Why)
		return
	}
	script := `for i in 1 2 3 4; do perl -e '$x = "a" x (40<<20); sleep 60' & done; wait; echo survived`
	st, out := run(t, b, p, sandbox.Command{Path: "bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}})
	if st.Limit != sandbox.LimitMemory || strings.Contains(out, "survived") {
		t.Errorf("%+v, want the memory limit\n%s", st, out)
	}
}

// TestGroupsAsUser: an ordinary user may not create a group in another user's.
func TestGroupsAsUser(t *testing.T) { againAsUser(t, "^(TestCommandInGroup|TestMemoryOfAll)$") }
