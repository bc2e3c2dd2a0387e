//go:build linux

package evidence

import (
	"bytes"
	"cmp"
	"path"
	"strconv"
	"strings"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// maxChain bounds the recorded ancestors of a process.
const maxChain = 16

// calling is the process of a thread.
type calling struct {
	// comm is its name, which a process may choose itself (prctl(2), PR_SET_NAME).
	comm        string
	pid, parent int
}

// callerOf looks up the process of a thread. pid is 0 if the thread is gone.
func callerOf(tid uint32) (c calling) {
	status, err := kernel.ReadSmall("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return c
	}
	c.pid, _ = strconv.Atoi(kernel.StatusField(status, "Tgid:"))
	c.parent, _ = strconv.Atoi(kernel.StatusField(status, "PPid:"))
	// A thread may have a name of its own, which says little about the process.
	c.comm = CommOf(c.pid)
	return c
}

// CommOf returns the name of a process or thread. The process may have chosen it.
func CommOf(pid int) string {
	comm, err := kernel.ReadSmall("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return string(bytes.ToValidUTF8(bytes.TrimSuffix(comm, []byte("\n")), []byte("?")))
}

// ParentOf returns the parent of a process, 0 if it is gone.
func ParentOf(pid int) int { return callerOf(uint32(pid)).parent }

// processorTime is what all threads of a process have used, 0 if it is gone.
func processorTime(pid int) time.Duration {
	var used unix.Timespec
	const sched = 2 // CPUCLOCK_SCHED of linux/posix-timers_types.h
	if unix.ClockGettime(^int32(pid)<<3|sched, &used) != nil {
		return 0
	}
	return time.Duration(used.Nano())
}

// chainOf lists the ancestors of a process, from its parent to the child of the keeper.
func (e *Log) chainOf(c calling, seen bool) []sandbox.Ancestor {
	var chain []sandbox.Ancestor
	for c.parent > 1 && c.parent != e.keeper && len(chain) < maxChain {
		c = callerOf(uint32(c.parent))
		a := sandbox.Ancestor{PID: c.pid}
		a.Executable, a.Program, a.Comm = e.program(c, seen)
		chain = append(chain, a)
	}
	return chain
}

// callerCache holds the latest caller: a program with one denied call often has more.
type callerCache struct {
	tid        uint32
	comm, file string // of the thread, as in /proc
	last       calling
	// what is what Program returned for it, nil before.
	what *[2]string
}

// of is callerOf with the cache. A thread that has executed another program, or a new thread
// with the same number, has another file or at least another name.
func (k *callerCache) of(tid uint32) calling {
	comm, file := CommOf(int(tid)), kernel.LinkOf("/proc/"+strconv.Itoa(int(tid))+"/exe")
	if tid != k.tid || comm != k.comm || file != k.file || comm == "" {
		*k = callerCache{tid: tid, comm: comm, file: file, last: callerOf(tid)}
	}
	return k.last
}

// Threat: a process lies about which program it is. It chooses its name (comm) and its
// arguments freely. Its executable is the file that execve(2) opened. PR_SET_MM_EXE_FILE
// could change that link, but needs CAP_SYS_RESOURCE or CAP_CHECKPOINT_RESTORE, which no
// command has.

// Program returns what the caller of n runs: the file's path on the host, and its name. Without a file it is the
// name that the process has.
func (e *Log) Program(n *notify.Notification) (executable, name string) {
	if c := e.callers.of(n.TID); e.callers.what == nil {
		executable, name, comm := e.program(c, e.walk.Look(n) == nil)
		e.callers.what = &[2]string{executable, cmp.Or(name, comm)}
	}
	return e.callers.what[0], e.callers.what[1]
}

// program returns what c runs: the file's path on the host, its base name, and the comm of c
// if it differs. The path is "" if the kernel does not show it: c is gone, or c is not
// dumpable because its user may not read the file that it runs (proc_pid_exe(5)).
func (e *Log) program(c calling, seen bool) (executable, base, comm string) {
	comm = strings.ToValidUTF8(c.comm, "?")
	if !seen {
		return "", "", comm
	}
	fd, err := pathwalk.OpenProc(c.pid, "exe", 0)
	if err != nil {
		return "", "", comm
	}
	defer unix.Close(fd)
	executable = e.walk.HostPath(fd)
	if name, ok := inMemory(executable); ok {
		executable, base = "memfd:"+name, name
	} else {
		base = path.Base(strings.TrimSuffix(executable, deleted))
	}
	if comm == sandbox.CommOf(base) {
		comm = ""
	}
	return executable, base, comm
}

// deleted is what the kernel appends to the path of a file without a name.
const deleted = " (deleted)"

// inMemory returns the name of a memfd_create(2) file, which is in no folder.
func inMemory(name string) (string, bool) {
	name, ok := strings.CutPrefix(name, "/memfd:")
	return strings.TrimSuffix(name, deleted), ok && strings.HasSuffix(name, deleted)
}
