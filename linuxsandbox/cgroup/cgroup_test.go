//go:build linux

package cgroup

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// kernelTree simulates the kernel: files by path, and the rules of control groups that matter here
// (cgroup-v2(7), "No Internal Process Constraint").
type kernelTree struct {
	files map[string]string
	// procs are the processes of each group, by its path.
	procs    map[string][]string
	readOnly bool
	foreign  string // the group that belongs to somebody else, with those above it
}

const treeTop = "/sys/fs/cgroup"

// newTree puts codeagent into the group /run.scope, together with other processes.
func newTree(controllers string, others ...string) *kernelTree {
	g := &kernelTree{files: map[string]string{
		"/proc/self/cgroup":    "4:memory:/elsewhere\n0::/run.scope\n",
		"/proc/meminfo":        "MemTotal:       16000 kB\nMemFree: 1 kB\nSwapTotal:      4000 kB\n",
		"/proc/self/mountinfo": "30 1 0:26 / " + treeTop + " rw,nosuid - cgroup2 cgroup2 rw\n",
	}, procs: map[string][]string{}}
	g.group("/run.scope", controllers)
	g.procs[treeTop+"/run.scope"] = slices.Sorted(slices.Values(append(others, strconv.Itoa(os.Getpid()))))
	return g
}

func (g *kernelTree) group(path, controllers string) {
	path = treeTop + path
	g.procs[path] = nil
	g.files[path+"/cgroup.controllers"] = controllers + "\n"
	g.files[path+"/cgroup.subtree_control"] = "\n"
}

func (g *kernelTree) Read(path string) (string, error) {
	if filepath.Base(path) == "cgroup.procs" {
		return strings.Join(g.procs[filepath.Dir(path)], "\n"), nil
	}
	text, ok := g.files[path]
	if !ok {
		return "", &fs.PathError{Op: "open", Path: path, Err: unix.ENOENT}
	}
	return text, nil
}

func (g *kernelTree) Write(path, text string) error {
	dir, name := filepath.Split(path)
	dir = strings.TrimSuffix(dir, "/")
	switch name {
	case "cgroup.procs":
		if strings.TrimSpace(g.files[dir+"/cgroup.subtree_control"]) != "" {
			return unix.EBUSY
		}
		for other := range g.procs {
			g.procs[other] = slices.DeleteFunc(g.procs[other], func(pid string) bool { return pid == text })
		}
		g.procs[dir] = slices.Sorted(slices.Values(append(g.procs[dir], text)))
	case "cgroup.kill":
		g.procs[dir] = nil
	case "cgroup.subtree_control":
		if len(g.procs[dir]) > 0 {
			return unix.EBUSY
		}
		on := strings.Fields(g.files[path])
		for _, word := range strings.Fields(text) {
			on = slices.DeleteFunc(on, func(s string) bool { return s == word[1:] })
			if word[0] == '+' {
				on = append(on, word[1:])
			}
		}
		g.files[path] = strings.Join(on, " ") + "\n"
	default:
		if _, ok := g.files[path]; !ok {
			return &fs.PathError{Op: "open", Path: path, Err: unix.ENOENT}
		}
		g.files[path] = text + "\n"
	}
	return nil
}

func (g *kernelTree) Writable(path string) error {
	if dir := filepath.Dir(path); g.foreign != "" && sandbox.Covers(dir, treeTop+g.foreign) {
		return unix.EACCES
	}
	return nil
}

func (g *kernelTree) Mkdir(path string) error {
	if g.readOnly {
		return &fs.PathError{Op: "mkdir", Path: path, Err: unix.EACCES}
	}
	on := g.files[filepath.Dir(path)+"/cgroup.subtree_control"]
	g.group(strings.TrimPrefix(path, treeTop), strings.TrimSpace(on))
	for controller, files := range map[string][]string{
		"memory": {"memory.max", "memory.swap.max", "memory.oom.group", "memory.events"}, "pids": {"pids.max", "pids.events"}, "cpu": {"cpu.max"},
	} {
		if slices.Contains(strings.Fields(on), controller) {
			for _, name := range files {
				g.files[path+"/"+name] = "max\n"
			}
		}
	}
	return nil
}

func (g *kernelTree) Rmdir(path string) error {
	if len(g.procs[path]) > 0 {
		return &fs.PathError{Op: "rmdir", Path: path, Err: unix.EBUSY}
	}
	delete(g.procs, path)
	maps.DeleteFunc(g.files, func(name, _ string) bool { return strings.HasPrefix(name, path+"/") })
	return nil
}

func (g *kernelTree) List(path string) (names []string, err error) {
	for group := range g.procs {
		if filepath.Dir(group) == path {
			names = append(names, filepath.Base(group))
		}
	}
	return names, nil
}

// TestGroupsByDoing: what codeagent finds in a tree, and that it leaves the tree unchanged.
func TestGroupsByDoing(t *testing.T) {
	all := Facts{Tried: true, Memory: true, Processes: true, CPU: true}
	for _, row := range []struct {
		name string
		tree *kernelTree
		want Facts // the group's Why must contain this Why
	}{
		{"delegated, codeagent alone", newTree("cpu memory pids"), all},
		{"some controllers", newTree("io memory"), Facts{Tried: true, Memory: true, Why: "lacks the controllers pids, cpu"}},
		{"other programs in it", newTree("cpu memory pids", "1"), Facts{Tried: true, Why: "other programs"}},
		{"no controllers", newTree("hugetlb"), Facts{Tried: true, Why: "none of the controllers"}},
		{"not writable", func() *kernelTree { g := newTree("cpu memory pids"); g.readOnly = true; return g }(), Facts{Tried: true, Why: "permission denied"}},
		{"version 1 alone", func() *kernelTree {
			g := newTree("memory")
			g.files["/proc/self/mountinfo"] = "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
			return g
		}(), Facts{Tried: true, Why: "no control group of version 2"}},
		{"switched on already", func() *kernelTree {
			g := newTree("memory pids cpu")
			g.procs[treeTop+"/run.scope"] = nil // as in the root group, which may contain processes
			g.files[treeTop+"/run.scope/cgroup.subtree_control"] = "memory pids cpu\n"
			return g
		}(), all},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := fmt.Sprint(row.tree.files, row.tree.procs)
			g := New(row.tree)
			got := g.Open()
			why := got.Why
			got.Why = row.want.Why
			if got != row.want || !strings.Contains(why, row.want.Why) || row.want.Why == "" && why != "" {
				t.Errorf("found %+v, %q; want %+v", got, why, row.want)
			}
			if got.Memory {
				c, err := g.Add(sandbox.Limits{Memory: 1 << 30, CPUPercent: 150})
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := row.tree.Read(c.path + "/memory.max"); got != "1073741824\n" {
					t.Errorf("memory.max is %q", got)
				}
				if got, _ := row.tree.Read(c.path + "/cpu.max"); row.want.CPU && got != "150000 100000\n" {
					t.Errorf("cpu.max is %q", got)
				}
				shared := strings.TrimSuffix(c.path, filepath.Base(c.path)) + name() + "-0"
				if got := row.tree.files[shared+"/memory.max"] + row.tree.files[shared+"/memory.swap.max"]; got != "12288000\n3072000\n" {
					t.Errorf("the shared group has memory and swap %q", got)
				}
				if got := row.tree.files[shared+"/pids.max"] + row.tree.files[c.path+"/pids.max"]; row.want.Processes && got != "4096\n4096\n" {
					t.Errorf("pids.max of the shared group and of one without such a limit: %q", got)
				}
				row.tree.procs[c.path] = []string{"4711"}
				row.tree.files[c.path+"/memory.events"] = "low 0\noom 1\noom_kill 1\n"
				if limit := c.End(); limit != sandbox.LimitMemory {
					t.Errorf("the group ended by limit %q", limit)
				}
			}
			g.Close()
			if after := fmt.Sprint(row.tree.files, row.tree.procs); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// TestScope: where codeagent's own group is not delegated, the one that a service manager makes is used, if a process
// can get there.
func TestScope(t *testing.T) {
	for _, row := range []struct {
		name, own, foreign string
		started            bool
		why                string
	}{
		{"a terminal below the user's manager", "/user/app/term", "/user.slice", true, ""},
		{"a login", "/user.slice/session", "/user.slice", false, "other programs"},
		{"the manager's groups are elsewhere", "/mine/app/term", "/user", true, "permission denied"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree := newTree("cpu memory pids", "1")
			tree.foreign = row.foreign
			self := strconv.Itoa(os.Getpid())
			tree.group(row.own, "cpu memory pids")
			tree.procs[treeTop+"/run.scope"], tree.procs[treeTop+row.own] = nil, []string{"1", self}
			tree.files[treeTop+"/user/app/made/pids.max"], tree.files[treeTop+"/user/app/pids.max"] = "max\n", "1000\n"
			tree.files["/proc/self/cgroup"] = "0::" + row.own + "\n"
			started, ended := false, false
			g := New(tree)
			g.Scope = func() (int, func(), error) {
				started = true
				tree.group("/user/app/made", "cpu memory pids")
				tree.procs[treeTop+"/user/app/made"] = []string{"77"}
				tree.files["/proc/77/cgroup"] = "0::/user/app/made\n"
				return 77, func() { ended = true }, nil
			}
			got := g.Open()
			if started != row.started || got.Memory != (row.why == "") || !strings.Contains(got.Why, row.why) {
				t.Errorf("started %v, %+v", started, got)
			}
			if before := g.Mark(); got.Memory {
				tree.files[g.shared.Load().path+"/pids.events"] = "max 3\n"
				if limit := g.Since(before); limit != sandbox.LimitProcesses || g.Since(g.Mark()) != "" {
					t.Errorf("reached %q", limit)
				}
				if got := tree.files[g.shared.Load().path+"/pids.max"]; got != "750\n" {
					t.Errorf("pids.max below a group with 1000: %q", got)
				}
				if !slices.Equal(tree.procs[treeTop+row.own], []string{"1", self}) {
					t.Error("codeagent was moved")
				}
			}
			if g.Close(); ended != started {
				t.Errorf("ended %v", ended)
			}
		})
	}
}

// TestGroupsOfTheDead: the next codeagent removes the groups of a killed one.
func TestGroupsOfTheDead(t *testing.T) {
	tree := newTree("memory")
	gone := "codeagent-999999999-3" // above every possible pid
	for _, name := range []string{gone, "codeagent-1-1", "another"} {
		tree.group("/run.scope/"+name, "")
	}
	g := New(tree)
	g.Open()
	g.Close()
	names, _ := tree.List(treeTop + "/run.scope")
	if slices.Sort(names); !slices.Equal(names, []string{"another", "codeagent-1-1"}) {
		t.Errorf("left are %v", names)
	}
}

func TestGroupFolder(t *testing.T) {
	const mount = "41 31 0:38 %s %s rw,relatime - cgroup2 cgroup2 rw\n"
	for _, row := range []struct{ own, root, at, want string }{
		{"0::/\n", "/", "/sys/fs/cgroup", "/sys/fs/cgroup"},
		{"8:pids:/x\n0::/user.slice/a.scope\n", "/", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/user.slice/a.scope"},
		{"0::/docker/c/inner\n", "/docker/c", "/sys/fs/cgroup", "/sys/fs/cgroup/inner"},
		{"0::/other\n", "/docker/c", "/sys/fs/cgroup", ""},
		{"0::/../elsewhere\n", "/docker/c", "/sys/fs/cgroup", ""},
		{"8:pids:/x\n", "/", "/sys/fs/cgroup", ""},
		{"0::/x\n", "/", `/a\040folder`, ""},
	} {
		got, err := folder(row.own, fmt.Sprintf(mount, row.root, row.at))
		if got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%q in %s at %s: %q, %v; want %q", row.own, row.root, row.at, got, err, row.want)
		}
	}
}
