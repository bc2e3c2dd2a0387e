//go:build linux

package kernel

import (
	"strconv"
	"strings"
)

// ProcessOf is the pid of the process to which a thread belongs, or 0.
func ProcessOf(tid int) int {
	status, err := ReadSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(StatusField(status, "Tgid:"))
	return pid
}

// InsideNumbers are the pid and tid of the thread tid in its own PID namespace.
func InsideNumbers(tid int) (process, thread int) {
	status, err := ReadSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, 0
	}
	return innermost(StatusField(status, "NStgid:")), innermost(StatusField(status, "NSpid:"))
}

// innermost is the last of a process's numbers; it has one for each namespace.
func innermost(numbers string) int {
	list := strings.Fields(numbers)
	if len(list) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(list[len(list)-1])
	return n
}
