//go:build linux

package broker

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// maxChain bounds how many ancestors of a process are recorded.
const maxChain = 16

// calling is the process that a thread belongs to.
type calling struct {
	// comm is its name, which a process may choose (prctl(2), PR_SET_NAME).
	comm        string
	pid, parent int
}

// callerOf looks a thread up; pid is 0 when it is gone.
func callerOf(tid uint32) (c calling) {
	status, err := kernel.ReadSmall("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return c
	}
	c.pid, _ = strconv.Atoi(kernel.StatusField(status, "Tgid:"))
	c.parent, _ = strconv.Atoi(kernel.StatusField(status, "PPid:"))
	// A thread may have a name of its own, which says little.
	c.comm = commOf(c.pid)
	return c
}

// commOf is the name of a process or thread, which it may have chosen.
func commOf(pid int) string {
	comm, err := kernel.ReadSmall("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return string(bytes.ToValidUTF8(bytes.TrimSuffix(comm, []byte("\n")), []byte("?")))
}

// chainOf are the ancestors of a process, from its parent to the child of the keeper.
func (e *evidence) chainOf(c calling, seen bool) []sandbox.Ancestor {
	var chain []sandbox.Ancestor
	for c.parent > 1 && c.parent != e.keeper && len(chain) < maxChain {
		c = callerOf(uint32(c.parent))
		a := sandbox.Ancestor{PID: c.pid}
		a.Executable, a.Program, a.Comm = e.program(c, seen)
		chain = append(chain, a)
	}
	return chain
}

// callerCache is the latest caller: a program that is refused something is often
// refused more.
type callerCache struct {
	tid        uint32
	comm, file string // of the thread, as /proc has them
	last       calling
}

// of is callerOf. A thread that has become another program, or another one with
// its number, has another file or at least another name.
func (k *callerCache) of(tid uint32) calling {
	comm, file := commOf(int(tid)), kernel.LinkOf("/proc/"+strconv.Itoa(int(tid))+"/exe")
	if tid != k.tid || comm != k.comm || file != k.file || comm == "" {
		*k = callerCache{tid: tid, comm: comm, file: file, last: callerOf(tid)}
	}
	return k.last
}

// Who asks is a fact only as the kernel has it. A process chooses its name (comm)
// with one call, and its arguments; its executable is the file that execve(2)
// opened. PR_SET_MM could change that link, but takes CAP_SYS_RESOURCE or
// CAP_CHECKPOINT_RESTORE, which no command has.

// program is what c runs: the file's path on the host, its base name, and what c
// calls itself where that is another name. The path is "" when the kernel does not
// show it: c is gone, or runs from a file that its user may not read and is
// therefore not dumpable (proc_pid_exe(5)).
func (e *evidence) program(c calling, seen bool) (executable, base, comm string) {
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

// deleted is what the kernel adds to the name of a file that has lost it.
const deleted = " (deleted)"

// inMemory knows the name of a file of memfd_create(2), which no folder has.
func inMemory(name string) (string, bool) {
	name, ok := strings.CutPrefix(name, "/memfd:")
	return strings.TrimSuffix(name, deleted), ok && strings.HasSuffix(name, deleted)
}
