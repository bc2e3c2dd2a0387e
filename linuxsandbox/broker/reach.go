//go:build linux

package broker

import (
	"slices"
	"strings"

	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
)

// The broker itself denies what both the policy and the kernel's layers deny, although such a
// call could proceed and fail in the kernel. So the denial is recorded, with its process and
// whether it mattered. What is enforced is the same either way; TestReplicaOfLandlock compares
// the two.

// reach derives a replica of the command's Landlock ruleset from the rules that the keeper
// enforces: the single files that the command may write without the broker, and the folders that
// contain only terminals. It leaves out the write roots that are folders: the broker makes the
// changes in them.
func (o *Options) reach() (files []string) {
	for _, rule := range o.Order.Rules {
		if rule.Access == spec.AccessDevice || rule.Access == spec.AccessWrite && !slices.Contains(o.Protection.roots, rule.Path) {
			files = append(files, rule.Path)
		}
	}
	if o.Order.Mounts != nil && o.Order.Mounts.Terminals {
		files = append(files, kernel.PtsDir, kernel.Ptmx)
	}
	if o.Command.Terminal {
		files = append(files, kernel.PathOf(int(o.Command.Stdin.Fd())))
	}
	return files
}

// whose is who decides about a change of files.
type whose int

const (
	// kernels: the call may proceed. Landlock allows it, or denies it without a record.
	kernels whose = iota
	// brokers: the broker decides, since the path is brokered (protect.go).
	brokers
	// nobodys: no layer allows the change. The broker denies it.
	nobodys
)

// whoseFile returns who decides about a change of the content of t.
func (j *judge) whoseFile(t *pathwalk.Target) whose {
	switch {
	case t.FD < 0:
		return j.whoseEntry(t.Spot)
	case j.protection.brokered(t.Path):
		return brokers
	// A file without a name may be a memfd, which Landlock does not restrict.
	case !strings.HasPrefix(t.Path, "/"), t.Stat.Nlink == 0, sandbox.CoveredBy(j.reach, t.Path), !j.log.Sees():
		return kernels
	}
	return nobodys
}

// whoseEntry returns who decides about making, removing or replacing the entry at s.
func (j *judge) whoseEntry(s pathwalk.Spot) whose {
	switch {
	case j.protection.brokered(s.Full()) && !s.Shown:
		return brokers
	case !strings.HasPrefix(s.Path, "/"), !j.log.Sees():
		return kernels
	}
	return nobodys
}

// denial returns the denial of a change at path that no layer allows.
func (j *judge) denial(path string) *sandbox.Denial {
	kind := sandbox.KindWrite
	if judged := j.policy.JudgeWrite(path); !judged.Allowed {
		kind = judged.Kind
	}
	return &sandbox.Denial{Kind: kind, Target: path, Why: spec.NeverWritable(path)}
}

// ofEntry adds to the denial of removing or replacing the entry at s that no grant would allow it.
func ofEntry(s pathwalk.Spot, d *sandbox.Denial) *sandbox.Denial {
	if s.Shown {
		d.Why = "the command is shown the host's entry there, and cannot remove or rename it"
	}
	return d
}
