package exec

import (
	"bytes"
	"math"
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
	What: "A process that leaves its session and outlives its parent stays behind after the command.",
	Why:  "commands outside the sandbox are found by session and parent",
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
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return shieldEach("/proc/self/fd") // before Linux 5.11, and in containers that refuse the call
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

// killTree kills the command with what it started: the processes of its session, and those
// whose parents are known. The leader is not reaped yet. known are found already. Killing continues until a
// look finds no process, since a process may start another one while the look is under way.
func killTree(leader int, foreground bool, known []member) {
	deadline := time.Now().Add(killWait)
	for looks := 1; ; looks++ {
		// List them before the leader dies: orphans have no known parent.
		members := append(membersOf(leader, foreground), known...)
		known = nil
		if !foreground {
			_ = unix.Kill(-leader, unix.SIGKILL) // ESRCH: all have ended
		}
		_ = unix.Kill(leader, unix.SIGKILL)
		for _, m := range members {
			_ = unix.PidfdSendSignal(m.fd, unix.SIGKILL, nil, 0)
		}
		for _, m := range members {
			waitPidfd(m.fd)
			// A process that collects orphans (prctl(2), PR_SET_CHILD_SUBREAPER), as
			// codeagent does for its Linux sandbox, has to reap them too.
			_ = unix.Waitid(unix.P_PIDFD, m.fd, nil, unix.WEXITED|unix.WNOHANG, nil)
			unix.Close(m.fd)
		}
		if len(members) == 0 || looks >= leastLooks && time.Now().After(deadline) {
			return
		}
	}
}

// member is a process of the command, held by a pidfd.
type member struct{ fd int }

// membersOf opens a pidfd for each living process of the command except the leader. Parents usually have lower numbers
// than their children, so one pass in the order of the numbers finds grandchildren too. What it misses, the next look
// finds.
func membersOf(leader int, foreground bool) (found []member) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != leader && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	tree := map[int]bool{leader: true}
	owns := func(pid int) bool {
		parent, session, lives := familyOf(pid)
		return lives && (tree[parent] || !foreground && session == leader)
	}
	for _, pid := range pids {
		if !owns(pid) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		// Check again now that the pidfd holds the process: before, the number could have been
		// reused.
		if !owns(pid) {
			unix.Close(fd)
			continue
		}
		tree[pid] = true
		found = append(found, member{fd})
	}
	return found
}

// waitPidfd waits until the killed process is gone, but not longer than 200 ms: a process
// may be blocked in the kernel.
func waitPidfd(fd int) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 200)
}

// familyOf returns the parent and the session of a process (proc_pid_stat(5)). The name before them may contain
// anything, including brackets and spaces. A process lives while any thread of it runs: the first may have ended.
func familyOf(pid int) (parent, session int, lives bool) {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 18 {
		return 0, 0, false
	}
	parent, _ = strconv.Atoi(fields[1])
	session, _ = strconv.Atoi(fields[3])
	return parent, session, fields[0] != "X" && (fields[0] != "Z" || fields[17] != "1")
}
