//go:build linux

package linuxsandbox

import (
	"bytes"
	"strconv"

	"codeagent/sandbox"
)

// maxChain bounds how many ancestors of a process are told.
const maxChain = 16

// programOf is a thread's name, which its program may have chosen.
func programOf(tid int) string {
	comm, err := readSmall("/proc/" + strconv.Itoa(tid) + "/comm")
	if err != nil {
		return ""
	}
	return programName(bytes.TrimSuffix(comm, []byte("\n")))
}

func programName(comm []byte) string { return string(bytes.ToValidUTF8(comm, []byte("?"))) }

// chainOf are the ancestors of a process, from its parent to the child of keeper.
func chainOf(pid, keeper int) []sandbox.Ancestor {
	var chain []sandbox.Ancestor
	_, parent := statOf(pid)
	for parent > 1 && parent != keeper && len(chain) < maxChain {
		program, next := statOf(parent)
		chain = append(chain, sandbox.Ancestor{Program: program, PID: parent})
		parent = next
	}
	return chain
}

// statOf is a process's name and its parent, 0 when it is gone.
func statOf(pid int) (program string, parent int) {
	stat, err := readSmall("/proc/" + strconv.Itoa(pid) + "/stat")
	// A name may hold anything, brackets and blanks too.
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if err != nil || begin < 0 || end < begin {
		return "", 0
	}
	if fields := bytes.Fields(stat[end+1:]); len(fields) > 1 {
		parent, _ = strconv.Atoi(string(fields[1]))
	}
	return programName(stat[begin+1 : end]), parent
}
