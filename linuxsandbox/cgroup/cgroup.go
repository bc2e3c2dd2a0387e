//go:build linux

// Package cgroup limits memory, processes and the share of processor time of a command with all its
// descendants, by control groups of version 2. They work where codeagent's own group is delegated to
// it (systemd-run --scope -p Delegate=yes), or where a service manager delegates another one to it
// (Groups.Scope). codeagent finds that out by trying: it makes a group, sets limits, reads them back and
// removes the group.
//
//	own group              controllers are switched on here
//	   codeagent-PID       codeagent itself, or what keeps the other group: a group that
//	                       hands controllers on may not hold a process
//	   codeagent-PID-0     all commands without a limit of their own, keepers too (shared.go)
//	   codeagent-PID-N     a command with one, whose first process joins by itself, right
//	                       before exec: the keeper counts for nothing in it
//
// Nothing of this is touched until a policy sets such a limit, or a session wants the shared group.
package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Facts are the limits that control groups enforce here.
type Facts struct {
	// Tried reports that a policy asked for a group limit.
	Tried                  bool
	Memory, Processes, CPU bool
	// Why is the reason if some of the three limits are not enforced.
	Why string
}

// Wanted reports whether l sets a limit that a control group can enforce.
func Wanted(l sandbox.Limits) bool { return l.Memory > 0 || l.Processes > 0 || l.CPUPercent > 0 }

// Rest returns the limits of l that resource limits must enforce.
func (f Facts) Rest(l sandbox.Limits) sandbox.Limits {
	if f.Memory {
		l.Memory = 0
	}
	if f.Processes {
		l.Processes = 0
	}
	l.CPUPercent = 0
	return l
}

// limitFile is one limit of a group.
type limitFile struct {
	name, value string
	// optional files are missing on some kernels.
	optional bool
}

// limitFiles returns the files that enforce l, with their values.
func limitFiles(l sandbox.Limits, f Facts) []limitFile {
	var out []limitFile
	if f.Memory && l.Memory > 0 {
		// The group gets no swap: otherwise a command over its memory limit would only become
		// slow. When the limit is reached, the kernel kills the whole group, not single processes.
		out = append(out, limitFile{name: "memory.max", value: strconv.FormatInt(l.Memory, 10)},
			limitFile{"memory.swap.max", "0", true}, limitFile{"memory.oom.group", "1", true})
	}
	if f.Processes && l.Processes > 0 {
		out = append(out, limitFile{name: "pids.max", value: strconv.FormatInt(l.Processes, 10)})
	}
	if f.CPU && l.CPUPercent > 0 {
		out = append(out, limitFile{name: "cpu.max", value: strconv.FormatInt(l.CPUPercent*1000, 10) + " 100000"}) // of 100 ms
	}
	return out
}

// Files reads and writes the files of control groups.
type Files interface {
	Read(path string) (string, error)
	Write(path, text string) error
	// Writable returns nil if the file may be opened to write.
	Writable(path string) error
	Mkdir(path string) error
	Rmdir(path string) error
	List(path string) ([]string, error)
}

// Groups are the control groups of a session.
type Groups struct {
	// Scope starts a process that only waits, in a group that a service manager delegates to this user. It is used where
	// codeagent's own is not delegated; nil: nobody delegates one. Set it before Open.
	Scope func() (pid int, end func(), err error)

	files Files
	// opening guards the fields after it. They do not change once ready is set.
	opening sync.Mutex
	ready   atomic.Bool
	facts   Facts
	// own is codeagent's group, or that of Scope. leaf is the group below it that the process moved went into, and on lists
	// the controllers that codeagent switched on. They are "" and nil if it did neither.
	own, leaf string
	moved     int
	on        []string
	end       func()
	defaults  sandbox.Limits
	// shared is nil until Open has made it, or where it cannot be made.
	shared atomic.Pointer[Group]

	mu     sync.Mutex
	number int
}

// New returns the groups of files, which Open tries.
func New(files Files) *Groups { return &Groups{files: files} }

// controllers are in the order of Facts: Memory, Processes and CPU.
var controllers = []string{"memory", "pids", "cpu"}

// Open finds out, once, which limits groups enforce here.
func (g *Groups) Open() Facts {
	g.opening.Lock()
	defer g.opening.Unlock()
	if !g.ready.Load() {
		if err := g.try(); err != nil {
			g.leave()
			g.facts = Facts{Why: err.Error()}
		}
		g.facts.Tried = true
		g.ready.Store(true)
	}
	return g.facts
}

// Known is Open, but the zero value while that is not done.
func (g *Groups) Known() Facts {
	if !g.ready.Load() {
		return Facts{}
	}
	return g.facts
}

// Close moves codeagent back into its original group. It waits for no Open: what that makes is gone with codeagent,
// or swept away by the next one.
func (g *Groups) Close() {
	if !g.opening.TryLock() {
		return
	}
	defer g.opening.Unlock()
	if !g.ready.Load() {
		g.facts = Facts{Tried: true, Why: "the session is closed"}
		g.ready.Store(true)
	}
	g.leave()
}

// try uses codeagent's own group, else one that a service manager delegates.
func (g *Groups) try() error {
	own, err := g.locate("self")
	if err != nil {
		return err
	}
	// A process may leave a group only by way of one above both, which must be this user's.
	if err = g.use(own, os.Getpid()); err == nil || g.Scope == nil || g.files.Writable(filepath.Dir(own)+"/cgroup.procs") != nil {
		return err
	}
	g.leave()
	pid, end, failed := g.Scope()
	if failed != nil {
		return fmt.Errorf("%w; %w", err, failed)
	}
	g.end = end
	scope, failed := g.locate(strconv.Itoa(pid))
	if failed == nil {
		failed = g.files.Writable(above(own, scope) + "/cgroup.procs")
	}
	if failed == nil {
		failed = g.use(scope, pid)
	}
	return failed
}

// above is the nearest folder that contains both.
func above(a, b string) string {
	for !sandbox.Covers(a, b) {
		a = filepath.Dir(a)
	}
	return a
}

// use makes own the group of all others. pid is the process in it.
func (g *Groups) use(own string, pid int) error {
	g.own = own
	text, err := g.files.Read(own + "/cgroup.controllers")
	if err != nil {
		return err
	}
	missing := without(controllers, strings.Fields(text))
	have := without(controllers, missing)
	if len(have) == 0 {
		return errors.New("the control group of codeagent has none of the controllers " + strings.Join(controllers, ", "))
	}
	g.sweep()
	if err := g.switchOn(have, pid); err != nil {
		return err
	}
	g.facts = Facts{Memory: slices.Contains(have, "memory"), Processes: slices.Contains(have, "pids"), CPU: slices.Contains(have, "cpu")}
	if len(missing) > 0 {
		g.facts.Why = "the control group of codeagent lacks the controllers " + strings.Join(missing, ", ")
	}
	// These limits fit any machine. What is read back must equal what was written.
	limits := sandbox.Limits{Memory: 64 << 20, Processes: 64, CPUPercent: 50}
	c, err := g.Add(limits)
	if err != nil {
		return err
	}
	defer c.End()
	for _, file := range limitFiles(limits, g.facts) {
		got, err := g.files.Read(c.path + "/" + file.name)
		if !file.optional && (err != nil || strings.TrimSpace(got) != file.value) {
			return fmt.Errorf("a control group did not take %s: %q, %v", file.name, strings.TrimSpace(got), err)
		}
	}
	return g.share()
}

// locate finds the folder of the group of a process.
func (g *Groups) locate(process string) (string, error) {
	own, err := g.files.Read("/proc/" + process + "/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := g.files.Read("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return folder(own, mounts)
}

// folder is the folder of a process's group, computed from two /proc files.
func folder(own, mounts string) (string, error) {
	path := ""
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			path = rest
		}
	}
	for line := range strings.Lines(mounts) {
		left, right, _ := strings.Cut(line, " - ")
		fields := strings.Fields(left)
		if len(fields) < 5 || !strings.HasPrefix(right, "cgroup2 ") || strings.Contains(fields[4], `\`) {
			continue
		}
		if root, at := fields[3], fields[4]; path != "" && sandbox.Covers(root, path) {
			return filepath.Join(at, strings.TrimPrefix(path, root)), nil
		}
	}
	return "", errors.New("codeagent is in no control group of version 2 that is mounted")
}

// errShared is the error where moving codeagent would not empty its group.
var errShared = errors.New("other programs are in codeagent's control group")

// switchOn enables controllers for the groups below own, where pid may be the only process.
func (g *Groups) switchOn(want []string, pid int) error {
	text, err := g.files.Read(g.own + "/cgroup.subtree_control")
	if err != nil {
		return err
	}
	want = without(want, strings.Fields(text))
	if len(want) == 0 {
		return nil
	}
	turn := func() error { return g.files.Write(g.own+"/cgroup.subtree_control", "+"+strings.Join(want, " +")) }
	err = turn()
	if errors.Is(err, unix.EBUSY) {
		// The group holds processes. A move takes milliseconds, and does not help if there are others.
		if in, _ := g.files.Read(g.own + "/cgroup.procs"); len(strings.Fields(in)) > 1 {
			return errShared
		}
		leaf := g.own + "/" + name()
		if err := g.files.Mkdir(leaf); err != nil {
			return err
		}
		g.leaf, g.moved = leaf, pid
		if err := g.files.Write(leaf+"/cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
		if err = turn(); errors.Is(err, unix.EBUSY) {
			return errShared
		}
	}
	if err == nil {
		g.on = want
	}
	return err
}

// leave undoes use. If a step fails, at worst an empty group stays. The next codeagent started
// in this group sweeps it away.
func (g *Groups) leave() {
	if c := g.shared.Swap(nil); c != nil {
		unix.Close(c.folder())
		_ = g.files.Rmdir(c.path)
	}
	if len(g.on) > 0 {
		_ = g.files.Write(g.own+"/cgroup.subtree_control", "-"+strings.Join(g.on, " -"))
	}
	if g.leaf != "" {
		_ = g.files.Write(g.own+"/cgroup.procs", strconv.Itoa(g.moved))
		_ = g.files.Rmdir(g.leaf)
	}
	if g.end != nil {
		g.end()
	}
	g.on, g.leaf, g.end = nil, "", nil
}

const prefix = "codeagent-"

func name() string { return prefix + strconv.Itoa(os.Getpid()) }

// sweep removes the groups of codeagent processes that were killed. The kernel refuses to remove a
// group that holds a process.
func (g *Groups) sweep() {
	names, err := g.files.List(g.own)
	if err != nil {
		return
	}
	for _, name := range names {
		rest, ours := strings.CutPrefix(name, prefix)
		pid, err := strconv.Atoi(strings.SplitN(rest, "-", 2)[0])
		if ours && err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			_ = g.files.Rmdir(g.own + "/" + name)
		}
	}
}

// Group is the control group of one command.
type Group struct {
	files  Files
	path   string
	folder func() int // the descriptor of path, of the shared group
}

// Add creates the group of a command.
func (g *Groups) Add(l sandbox.Limits) (*Group, error) {
	g.mu.Lock()
	g.number++
	c := &Group{files: g.files, path: fmt.Sprintf("%s/%s-%d", g.own, name(), g.number)}
	g.mu.Unlock()
	if err := c.files.Mkdir(c.path); err != nil {
		return nil, err
	}
	l.Memory, l.Processes = cmp.Or(l.Memory, g.defaults.Memory), cmp.Or(l.Processes, g.defaults.Processes)
	if err := c.set(limitFiles(l, g.facts)); err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

func (c *Group) set(files []limitFile) error {
	for _, file := range files {
		err := c.files.Write(c.path+"/"+file.name, file.value)
		if err != nil && !(file.optional && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// Door opens the file to which a process writes "0" to join the group.
func (c *Group) Door() (int, error) {
	path := c.path + "/cgroup.procs"
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// goneRounds bounds the wait for the end of a killed group: five seconds.
const goneRounds = 250

// End kills the processes left in the group and removes it. It returns the limit that the command
// reached, or "".
func (c *Group) End() sandbox.Limit {
	if c == nil {
		return ""
	}
	limit := c.Since(Mark{})
	for round := range goneRounds {
		if err := c.files.Rmdir(c.path); !errors.Is(err, unix.EBUSY) {
			break
		}
		if round == 0 {
			_ = c.files.Write(c.path+"/cgroup.kill", "1")
		}
		kernel.Pause()
	}
	return limit
}

// Mark is how often limits of a group were reached.
type Mark struct{ refused, killed int }

// InContainer is the group of a container with this first process, to which something else has given limits. It is seen from
// inside, where codeagent may look.
func InContainer(pid int) *Group {
	return &Group{files: Kernel{}, path: "/proc/" + strconv.Itoa(pid) + "/root/sys/fs/cgroup"}
}

// Mark is the state of the group now, for Since. An engine may have made a group of version 1.
func (c *Group) Mark() Mark {
	return Mark{c.count("pids.events", "max") + c.count("pids/pids.events", "max"),
		c.count("memory.events", "oom_kill") + c.count("memory/memory.oom_control", "oom_kill")}
}

// Since is the limit that was reached after m, or "".
func (c *Group) Since(m Mark) sandbox.Limit {
	switch now := c.Mark(); {
	case now.killed > m.killed:
		return sandbox.LimitMemory
	case now.refused > m.refused:
		return sandbox.LimitProcesses
	}
	return ""
}

// count reads one counter of a file of counters.
func (c *Group) count(file, field string) int {
	text, err := c.files.Read(c.path + "/" + file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, field+" "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(rest))
			return n
		}
	}
	return 0
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// Kernel accesses the real files.
type Kernel struct{}

// Read is part of Files.
func (Kernel) Read(path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

// Write is part of Files. It never creates a file: the kernel does not allow that in cgroupfs.
func (Kernel) Write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Writable is part of Files.
func (Kernel) Writable(path string) error { return unix.Access(path, unix.W_OK) }

// Mkdir is part of Files.
func (Kernel) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

// Rmdir is part of Files.
func (Kernel) Rmdir(path string) error {
	if err := unix.Rmdir(path); err != nil {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

// List is part of Files.
func (Kernel) List(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
