//go:build linux

package cgroup

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Threat: a runaway command takes the memory of the machine, or all its process numbers, and with them the screen on
// which it could be stopped. No single limit that people would not notice prevents that, but one for all commands of a
// session together does. A process that is born in a group (CLONE_INTO_CGROUP) costs nothing; one that is moved waits
// for an RCU grace period, often 15 ms.

// defaultTasks is how many processes and threads the commands of a session have together.
const defaultTasks = 4096

// share makes the group of all commands that get none of their own: three quarters of the memory and of the swap that
// there is, and defaultTasks, or three quarters of what the groups above leave if that is less: codeagent lives there too. When memory is short there, the kernel kills the largest process, not all of them.
func (g *Groups) share() error {
	memory, swap := g.least("memory.max", g.most("MemTotal"))/4*3, g.most("SwapTotal")/4*3
	tasks := min(defaultTasks, g.least("pids.max", math.MaxInt64)/4*3)
	c := &Group{files: g.files, path: g.own + "/" + name() + "-0"}
	if err := c.files.Mkdir(c.path); err != nil {
		return err
	}
	var files []limitFile
	if g.facts.Memory && memory > 0 {
		files = append(files, limitFile{name: "memory.max", value: strconv.FormatInt(memory, 10)}, limitFile{"memory.swap.max", strconv.FormatInt(swap, 10), true})
	}
	if g.facts.Processes {
		files = append(files, limitFile{name: "pids.max", value: strconv.FormatInt(tasks, 10)})
	}
	err := c.set(files)
	if err != nil {
		_ = g.files.Rmdir(c.path)
		return err
	}
	c.folder = sync.OnceValue(func() int {
		fd, _ := unix.Open(c.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return fd
	})
	g.defaults = sandbox.Limits{Memory: memory, Processes: tasks}
	g.shared.Store(c)
	return nil
}

// least is the lowest limit that a file names in own and in the groups above it, or most.
func (g *Groups) least(file string, most int64) int64 {
	for dir := g.own; ; dir = filepath.Dir(dir) {
		text, err := g.files.Read(dir + "/" + file)
		if n, bad := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && bad == nil {
			most = min(most, n)
		}
		if err != nil || dir == filepath.Dir(dir) {
			return most // the topmost group has no limits
		}
	}
}

// most is a field of /proc/meminfo in bytes; 0 if it is not there.
func (g *Groups) most(field string) int64 {
	text, _ := g.files.Read("/proc/meminfo")
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// Folder is the descriptor of the shared group, in which keepers are born; -1 until Open has made it, or where it cannot be made.
func (g *Groups) Folder() int {
	if c := g.shared.Load(); c != nil {
		return c.folder()
	}
	return -1
}

// Mark is the state of the shared group, for Since.
func (g *Groups) Mark() (m Mark) {
	if c := g.shared.Load(); c != nil {
		m = c.Mark()
	}
	return m
}

// Since is the limit of the shared group that was reached after m, or "". Commands that ran at the same time share it.
func (g *Groups) Since(m Mark) (limit sandbox.Limit) {
	if c := g.shared.Load(); c != nil {
		limit = c.Since(m)
	}
	return limit
}

// takeRounds bounds the pursuit of processes that fork faster than they are moved.
const takeRounds = 100

// Take moves a keeper that was not born in the shared group, and what it started. It waits for Open.
func (g *Groups) Take(keeper int) {
	g.Open()
	c, taken := g.shared.Load(), map[int]bool{}
	if c == nil {
		return
	}
	for range takeRounds {
		before := len(taken)
		for _, p := range append([]kernel.Process{{PID: keeper}}, kernel.Descendants(keeper)(kernel.Processes())...) {
			if !taken[p.PID] {
				_ = c.files.Write(c.path+"/cgroup.procs", strconv.Itoa(p.PID))
				taken[p.PID] = true
			}
		}
		if len(taken) == before {
			return
		}
	}
}
