//go:build linux

package linuxsandbox

import (
	"codeagent/sandbox"
)

// groupLayer is the layer of control groups; nil if no policy asks for one.
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

// limitWeaknesses reports which limits of l do not hold for the command as a whole.
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
