//go:build linux

package linuxsandbox

import (
	"bytes"
	"strconv"

	"codeagent/sandbox"
)

// maxChain bounds how many ancestors of a process are told.
const maxChain = 16

// caller is the process that a thread belongs to.
type caller struct {
	program     string
	pid, parent int
}

// callerOf looks a thread up; pid is 0 when it is gone.
func callerOf(tid uint32) (c caller) {
	status, err := readSmall("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return c
	}
	c.pid, _ = strconv.Atoi(statusField(status, "Tgid:"))
	c.parent, _ = strconv.Atoi(statusField(status, "PPid:"))
	// A thread may have a name of its own, which says little.
	c.program = programOf(c.pid)
	return c
}

// programOf is a process's name, which its program may have chosen.
func programOf(pid int) string {
	comm, err := readSmall("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return string(bytes.ToValidUTF8(bytes.TrimSuffix(comm, []byte("\n")), []byte("?")))
}

// chainOf are the ancestors of a process, from its parent to the child of keeper.
func chainOf(c caller, keeper int) []sandbox.Ancestor {
	var chain []sandbox.Ancestor
	for c.parent > 1 && c.parent != keeper && len(chain) < maxChain {
		c = callerOf(uint32(c.parent))
		chain = append(chain, sandbox.Ancestor{Program: c.program, PID: c.pid})
	}
	return chain
}

// callerCache is the latest caller: a program that is refused something is often
// refused more.
type callerCache struct {
	tid  uint32
	name string // of the thread
	last caller
}

// of is callerOf. A thread that has become another program, or another one with
// its number, has another name.
func (k *callerCache) of(tid uint32) caller {
	name := programOf(int(tid))
	if tid != k.tid || name != k.name || name == "" {
		*k = callerCache{tid: tid, name: name, last: callerOf(tid)}
	}
	return k.last
}
