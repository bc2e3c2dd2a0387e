//go:build linux

package linuxsandbox

import (
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// groupLayer is the layer of control groups, where a policy asks for one.
func groupLayer(f groupFacts) []sandbox.Layer {
	if !f.Tried {
		return nil
	}
	l := sandbox.Layer{Name: "cgroup", State: sandbox.LayerActive, Reason: "tried: a group was made and took its limits"}
	switch {
	case !f.Memory && !f.Processes && !f.CPU:
		l.State, l.Reason = sandbox.LayerAbsent, f.Why
	case f.Why != "":
		l.State, l.Reason = sandbox.LayerDegraded, f.Why
	}
	return []sandbox.Layer{l}
}

// limitWeaknesses says which limits of l hold for less than the command as a whole.
func limitWeaknesses(l sandbox.Limits, f facts) []sandbox.Weakness {
	var out []sandbox.Weakness
	add := func(id, what, why string) {
		out = append(out, sandbox.Weakness{ID: id, What: what, Why: why, Remedy: groupRemedy})
	}
	none := "no control group can be had: " + f.Groups.Why
	if l.Memory > 0 && !f.Groups.Memory {
		add("memory-limit", "the memory limit holds for the address space of each process, not for all of them together", none)
	}
	if l.CPUPercent > 0 && !f.Groups.CPU {
		add("cpu-share", "a command can use more than its share of processor time", none)
	}
	switch {
	case l.Processes == 0 || f.Groups.Processes:
	case f.Root:
		add("process-limit", "the process limit is not enforced", "the kernel exempts root from it, and "+none)
	default:
		add("process-limit", "the process limit counts all processes of the user, not only the command's", none)
	}
	if l.CPUSeconds > 0 {
		out = append(out, sandbox.Weakness{
			ID: "cpu-limit", What: "the CPU time limit holds for each process, not for all of them together",
			Why: "the kernel has no such limit for several processes; the wall limit ends them all",
		})
	}
	return out
}

// limitOf says which limit of l the signal that ended a process stands for.
// setrlimit(2): past the soft CPU limit comes SIGXCPU, past the hard one, a
// second later, SIGKILL, for whoever ignored it. The kernel keeps the limit by a
// clock that counts ticks, and on a busy machine that one is well ahead of the
// usage it reports: more than the soft limit is what can be asked for.
func limitOf(l sandbox.Limits, signal unix.Signal, used *unix.Rusage) sandbox.Limit {
	switch {
	case signal == unix.SIGXCPU && l.CPUSeconds > 0:
		return sandbox.LimitCPU
	case signal == unix.SIGKILL && l.CPUSeconds > 0 && cpuMillis(used) >= l.CPUSeconds*1000:
		return sandbox.LimitCPU
	case signal == unix.SIGXFSZ && l.FileSize > 0:
		return sandbox.LimitFileSize
	}
	return ""
}

func cpuMillis(u *unix.Rusage) int64 {
	return u.Utime.Sec*1000 + int64(u.Utime.Usec)/1000 + u.Stime.Sec*1000 + int64(u.Stime.Usec)/1000
}
