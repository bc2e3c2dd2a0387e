//go:build linux

package judge

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

// Reach derives a replica of the command's Landlock ruleset from the rules that the keeper
// enforces: the single files that the command may write without the broker, and the folders that
// contain only terminals. It leaves out the write roots that are folders: the broker makes the
// changes in them.
func (p *Protection) Reach(order *spec.Spec) (files []string) {
	for _, rule := range order.Rules {
		if rule.Access == spec.AccessDevice || rule.Access == spec.AccessWrite && !slices.Contains(p.roots, rule.Path) {
			files = append(files, rule.Path)
		}
	}
	if order.Mounts != nil && order.Mounts.Terminals {
		files = append(files, kernel.PtsDir, kernel.Ptmx)
	}
	return files
}

// Whose is who decides about a change of files.
type Whose int

const (
	// Kernels: the call may proceed. Landlock allows it, or denies it without a record.
	Kernels Whose = iota
	// Brokers: the broker decides, since the path is brokered (protect.go).
	Brokers
	// Nobodys: no layer allows the change. The broker denies it.
	Nobodys
)

// WhoseFile returns who decides about a change of the content of t.
func (j *Judge) WhoseFile(t *pathwalk.Target) Whose {
	switch {
	case t.FD < 0:
		return j.WhoseEntry(t.Spot)
	case j.protection.brokered(t.Path):
		return Brokers
	// A file without a name may be a memfd, which Landlock does not restrict.
	case !strings.HasPrefix(t.Path, "/"), t.Stat.Nlink == 0, j.Reaches(t.Path), !j.sees():
		return Kernels
	}
	return Nobodys
}

// Reaches reports whether the command may write the single file or device at path without the broker.
func (j *Judge) Reaches(path string) bool { return sandbox.CoveredBy(j.reach, path) }

// WhoseEntry returns who decides about making, removing or replacing the entry at s.
func (j *Judge) WhoseEntry(s pathwalk.Spot) Whose {
	switch {
	case j.protection.brokered(s.Full()) && !s.Shown:
		return Brokers
	case !strings.HasPrefix(s.Path, "/"), !j.sees():
		return Kernels
	}
	return Nobodys
}

// denial returns the denial of a change at path that no layer allows.
func (j *Judge) Denial(path string) *sandbox.Denial {
	kind := sandbox.KindWrite
	if judged := j.policy.JudgeWrite(path); !judged.Allowed {
		kind = judged.Kind
	}
	return &sandbox.Denial{Kind: kind, Target: path, Why: spec.NeverWritable(path)}
}
