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

// Whatever the policy and the kernel's layers both refuse, the broker answers
// itself, although the call could proceed into that refusal: so it is known what
// was refused, to whom, and whether it mattered. What is enforced is the same
// either way; TestReplicaOfLandlock holds the two answers together.

// reach is the pure replica of the ruleset that confines a command: the single
// files that it may write by itself, and folders of nothing but terminals.
type reach struct{ files []string }

// planReach reads the replica off the rules that a keeper enforces. roots are the
// write roots that are folders: the broker makes the changes in them.
func planReach(rules []spec.Rule, roots []string, mounts *spec.Mounts) reach {
	var r reach
	for _, rule := range rules {
		if rule.Access == spec.AccessDevice || rule.Access == spec.AccessWrite && !slices.Contains(roots, rule.Path) {
			r.files = append(r.files, rule.Path)
		}
	}
	if mounts != nil && mounts.Terminals {
		r.files = append(r.files, kernel.PtsDir, kernel.Ptmx)
	}
	return r
}

// file reports whether Landlock lets the file at path be written.
func (r *reach) file(path string) bool { return sandbox.CoveredBy(r.files, path) }

// whose says who decides about a change of files.
type whose int

const (
	// kernels: the call may proceed. It is let by Landlock, or refused unseen.
	kernels whose = iota
	// brokers: it lies in a brokered root (protect.go).
	brokers
	// nobodys: nothing lets it happen. The broker refuses it.
	nobodys
)

// whoseFile says who decides about the content of what t has found.
func (j *judge) whoseFile(t *pathwalk.Target) whose {
	switch {
	case t.FD < 0:
		return j.whoseEntry(t.Spot)
	case j.protection.brokered(t.Path):
		return brokers
	// A file without a name may be one that no folder ever held (memfd), which
	// Landlock leaves alone.
	case !strings.HasPrefix(t.Path, "/"), t.Stat.Nlink == 0, j.reach.file(t.Path), !j.log.sees():
		return kernels
	}
	return nobodys
}

// whoseEntry says who decides about making, removing or replacing an entry.
func (j *judge) whoseEntry(s pathwalk.Spot) whose {
	switch {
	case j.protection.brokered(s.Full()):
		return brokers
	case !strings.HasPrefix(s.Path, "/"), !j.log.sees():
		return kernels
	}
	return nobodys
}

// denial is the refusal of a change at path, which nothing lets happen.
func (j *judge) denial(path string) *sandbox.Denial {
	kind := sandbox.KindWrite
	if judged := j.policy.JudgeWrite(path); !judged.Allowed {
		kind = judged.Kind
	}
	return &sandbox.Denial{Kind: kind, Target: path}
}
