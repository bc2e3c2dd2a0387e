//go:build linux

package linuxsandbox

import (
	"bytes"
	"strconv"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
)

// maxChain bounds how many ancestors of a process are told.
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
