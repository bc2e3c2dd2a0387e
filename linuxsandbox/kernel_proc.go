//go:build linux

package linuxsandbox

import (
	"strconv"
	"strings"

	"codeagent/linuxsandbox/kernel"
)

// processOf is the process that a thread belongs to, or 0.
func processOf(tid int) int {
	status, err := kernel.ReadSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(kernel.StatusField(status, "Tgid:"))
	return pid
}

// insideNumbers are what tid and its process are called in their PID namespace.
func insideNumbers(tid int) (process, thread int) {
	status, err := kernel.ReadSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, 0
	}
	return innermost(kernel.StatusField(status, "NStgid:")), innermost(kernel.StatusField(status, "NSpid:"))
}

// innermost is the last of the numbers that a process has, one per namespace.
func innermost(numbers string) int {
	list := strings.Fields(numbers)
	if len(list) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(list[len(list)-1])
	return n
}
