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

// maxPipe is the default of /proc/sys/fs/pipe-max-size, the largest pipe of an
// unprivileged user.
const maxPipe = 1 << 20

// enlarge makes a pipe as large as one read, for fewer context switches. If the kernel
// refuses, the default size does.
func enlarge(pipe *os.File) {
	_ = control(pipe, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, copyBytes)
		return err
	})
}

func plainAttr(foreground bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: !foreground, Pdeathsig: syscall.SIGKILL}
}

// shieldDescriptors sets close-on-exec on all our descriptors above 2.
func shieldDescriptors() error {
	return os.NewSyscallError("close_range", unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC))
}

// newMarker returns the environment variable that identifies processes of one command.
func newMarker() string {
	return fmt.Sprintf("CODEAGENT_COMMAND=%d-%016x", os.Getpid(), rand.Uint64())
}

// waitExit returns when the child has ended, and leaves it unreaped.
func waitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// leastLooks is how many looks are made even after the deadline: a loaded machine may
// pause for as long as the whole deadline.
const leastLooks = 5

// killTree kills the command with everything it started. The leader is not
// reaped yet. Killing continues until a look finds no process, since a process may start
// another one while the look is under way.
func killTree(leader int, foreground bool, marker string) {
	k := treeKiller{leader: leader, foreground: foreground, marker: []byte(marker)}
	deadline := time.Now().Add(killWait)
	for looks := 1; ; looks++ {
		// List them before the leader dies: orphans are harder to recognise.
		members := k.members()
		if !foreground {
			_ = unix.Kill(-leader, unix.SIGKILL) // ESRCH: all have ended
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

// member is a process of the command, held by a pidfd.
type member struct{ pid, fd int }

type treeKiller struct {
	leader     int
	foreground bool
	marker     []byte
}

// members opens a pidfd for each living process of the command except the
// leader. Parents usually have lower numbers than their children, and the list is sorted,
// so one pass finds grandchildren too. What it misses after the numbers have wrapped, the
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
		// Check again now that the pidfd holds the process: before, the number could have been
		// reused.
		if !k.owns(pid, tree) {
			unix.Close(fd)
			continue
		}
		tree[pid] = true
		found = append(found, member{pid, fd})
	}
	return found
}

// waitPidfd waits until the killed process is gone, but not longer than 200 ms: a process
// may be blocked in the kernel.
func waitPidfd(fd int) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 200)
}

// fewNumbers is the range up to which probing each number is cheaper than listing /proc.
const fewNumbers = 300

// candidates lists the processes that may belong to the leader. Their numbers are above
// the leader's, unless the numbers have wrapped.
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
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid >= lowest && pid != self {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// lastPID returns the last number the kernel gave, or 0 when it cannot be read.
func lastPID() int {
	data, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(data))
	if len(fields) < 5 {
		return 0
	}
	pid, _ := strconv.Atoi(fields[4])
	return pid
}

// owns reports whether a living process belongs to the command: it is in the leader's
// session, its parent belongs to the command, or it carries the marker.
func (k treeKiller) owns(pid int, tree map[int]bool) bool {
	// During an exec a process has no environment for a moment, on a busy machine for longer.
	// The wait is bounded by killWait, as for a killed process.
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
			return false // no exec under way: the environment is empty
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// Fields of /proc/PID/stat after the name. proc_pid_stat(5) counts from 1, and the first
// two are the number and the name.
const (
	fieldState   = 0
	fieldParent  = 1
	fieldSession = 3
	fieldThreads = 17
	fieldEnvEnd  = 48
	// kernelThreads is the number of kthreadd, the parent of all kernel threads.
	kernelThreads = 2
)

// lives reports whether any thread of a process runs: the first thread may have ended
// before the others.
func lives(fields []string) bool {
	if len(fields) <= fieldEnvEnd || fields[fieldState] == "X" {
		return false
	}
	threads, err := strconv.Atoi(fields[fieldThreads])
	return fields[fieldState] != "Z" || err == nil && threads > 1
}

// environOf returns the environment of a process with these fields. If its first thread
// has ended, another thread's environ is read.
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

// statOf returns the fields after the process's name. The name may contain anything,
// including brackets and spaces.
func statOf(pid int) []string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}
