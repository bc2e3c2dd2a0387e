//go:build linux

package linuxsandbox

import (
	"path"
	"strings"

	"codeagent/sandbox"

	"codeagent/linuxsandbox/broker/pathwalk"

	"golang.org/x/sys/unix"
)

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
