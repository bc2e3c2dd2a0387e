package exec

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

var processWeakness = sandbox.Weakness{
	ID:   "processes",
	What: "A process that leaves its session, outlives its parent and clears its environment stays behind after the command.",
	Why:  "commands outside the sandbox are found by session, parent and a mark in the environment",
}

func plainAttr(foreground bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: !foreground, Pdeathsig: syscall.SIGKILL}
}

// shieldDescriptors marks all our descriptors but 0 to 2 as closed on exec.
func shieldDescriptors() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	return shieldEach("/proc/self/fd") // before Linux 5.11
}

// newMarker returns the variable by which processes of one command are known.
func newMarker() string {
	return fmt.Sprintf("CODEAGENT_COMMAND=%d-%016x", os.Getpid(), rand.Uint64())
}

// waitExit returns when the child has ended, without reaping it.
func waitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// leastLooks are made however late it is: a loaded machine may stand still for as
// long as the time that they have.
const leastLooks = 5

// killTree kills the command with everything it started. The leader is not
// reaped yet. Killing goes on until a look finds nobody: a process may start
// another while it is being looked for.
func killTree(leader int, foreground bool, marker string) {
	k := treeKiller{leader: leader, foreground: foreground, marker: []byte(marker)}
	deadline := time.Now().Add(killWait)
	for looks := 1; ; looks++ {
		// Looked for before the leader dies: orphans are harder to recognise.
		members := k.members()
		if !foreground {
			_ = unix.Kill(-leader, unix.SIGKILL) // nobody left is fine
		}
		_ = unix.Kill(leader, unix.SIGKILL)
		for _, m := range members {
			_ = unix.PidfdSendSignal(m.fd, unix.SIGKILL, nil, 0)
		}
		for _, m := range members {
			waitPidfd(m.fd)
			unix.Close(m.fd)
			// A process that collects orphans (prctl(2), PR_SET_CHILD_SUBREAPER), as
			// codeagent does for its Linux sandbox, has to reap them too.
			_, _ = unix.Wait4(m.pid, nil, unix.WNOHANG, nil)
		}
		if len(members) == 0 || looks >= leastLooks && time.Now().After(deadline) {
			return
		}
	}
}

// member is a process of the command, held by a descriptor.
type member struct{ pid, fd int }

type treeKiller struct {
	leader     int
	foreground bool
	marker     []byte
}

// members opens a descriptor for each living process of the command but the
// leader. Parents have lower numbers than their children, and the list is in
// order, so one pass finds grandchildren too; what it misses after a wrap the
// next look finds.
func (k treeKiller) members() []member {
	tree := map[int]bool{k.leader: true}
	var found []member
	for _, pid := range k.candidates() {
		if pid == k.leader || !k.owns(pid, tree) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		// Looked at again now that the descriptor holds the process: before, the
		// number could have become somebody else's.
		if !k.owns(pid, tree) {
			unix.Close(fd)
			continue
		}
		tree[pid] = true
		found = append(found, member{pid, fd})
	}
	return found
}

// waitPidfd waits until the killed process is gone, but not for one that hangs
// in the kernel.
func waitPidfd(fd int) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 200)
}

// fewNumbers is up to where trying each number is cheaper than listing /proc.
const fewNumbers = 300

// candidates lists processes that can be the leader's: numbers grow, so they are
// above its own, unless the kernel has begun again from below.
func (k treeKiller) candidates() []int {
	var pids []int
	last := lastPID()
	if last >= k.leader && last-k.leader <= fewNumbers {
		for pid := k.leader + 1; pid <= last; pid++ {
			pids = append(pids, pid)
		}
		return pids
	}
	lowest := k.leader
	if last < k.leader {
		lowest = 2
	}
	self := os.Getpid()
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid >= lowest && pid != self {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// lastPID is the number given last, or 0 when it cannot be read.
func lastPID() int {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 5 {
		return 0
	}
	pid, err := strconv.Atoi(fields[4])
	if err != nil {
		return 0
	}
	return pid
}

// owns reports whether a living process belongs to the command: it is in the
// leader's session, its parent does, or it carries the marker.
func (k treeKiller) owns(pid int, tree map[int]bool) bool {
	// In the middle of an exec a process has no environment for a moment; on a
	// busy machine the moment can last. It has as long as a killed one.
	end := time.Now().Add(killWait)
	for looks := 1; looks <= 100 || time.Now().Before(end); looks++ {
		fields := statOf(pid)
		if !lives(fields) {
			return false
		}
		parent, _ := strconv.Atoi(fields[fieldParent])
		session, _ := strconv.Atoi(fields[fieldSession])
		switch {
		case tree[parent] || !k.foreground && session == k.leader:
			return true
		case parent == 0 || parent == kernelThreads:
			return false
		}
		environ, err := environOf(pid, fields)
		if err != nil || len(environ) > 0 || fields[fieldState] == "Z" {
			return bytes.HasPrefix(environ, k.marker) || bytes.Contains(environ, append([]byte{0}, k.marker...))
		}
		after := statOf(pid)
		if len(after) > fieldEnvEnd && after[fieldEnvEnd] != "0" && after[fieldEnvEnd] == fields[fieldEnvEnd] {
			return false // no exec in between: it really is empty
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// Fields of /proc/PID/stat after the name: proc_pid_stat(5) counts from 1, and
// the first two are the number and the name.
const (
	fieldState   = 0
	fieldParent  = 1
	fieldSession = 3
	fieldThreads = 17
	fieldEnvEnd  = 48
	// kernelThreads is the parent of those.
	kernelThreads = 2
)

// lives reports whether a process has a thread that runs: the first may have ended
// before others.
func lives(fields []string) bool {
	if len(fields) <= fieldEnvEnd || fields[fieldState] == "X" {
		return false
	}
	threads, err := strconv.Atoi(fields[fieldThreads])
	return fields[fieldState] != "Z" || err == nil && threads > 1
}

// environOf is the environment of a process with these fields, which a first thread
// that has ended does not know any more.
func environOf(pid int, fields []string) ([]byte, error) {
	at := "/proc/" + strconv.Itoa(pid)
	if fields[fieldState] != "Z" {
		return os.ReadFile(at + "/environ")
	}
	tasks, err := os.ReadDir(at + "/task")
	for _, task := range tasks {
		if environ, err := os.ReadFile(at + "/task/" + task.Name() + "/environ"); err == nil && len(environ) > 0 {
			return environ, nil
		}
	}
	return nil, err
}

// statOf returns the fields of a process that follow its name, which may hold
// anything, brackets and spaces too.
func statOf(pid int) []string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}
