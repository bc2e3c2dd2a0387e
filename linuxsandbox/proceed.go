//go:build linux

package linuxsandbox

import "slices"

// A call proceeds only when a rule of the kernel holds it. The kernel reads its
// arguments anew: by then other threads of the command can have changed memory,
// names and descriptors, and other programs the files. So a rule must hold whatever
// the call names. The rules of a command are computed here, from what its keeper
// enforces, and nowhere else; a test walks the package for others
// (TestProceedIsJustified).
//
// No rule holds changes of metadata, for which Landlock has no right. What the
// broker could not look at never proceeds either: it gets an errno.

// kernelRule names what in the kernel holds a call. The zero value is no rule.
type kernelRule struct{ name string }

// kernelRules are the rules that hold for every call of one command.
type kernelRules struct {
	// files holds calls that open, make, move or remove files by name.
	files kernelRule
	// network holds messages, whomever they are for.
	network kernelRule
	// caller holds calls that change nothing but the calling process, or only tell
	// it of its own sockets.
	caller kernelRule
	// processes holds calls on a process that they name by a number in a register.
	processes kernelRule
}

// rulesOf computes the rules of a command from what its keeper enforces.
func rulesOf(s *Spec) kernelRules {
	r := kernelRules{caller: kernelRule{"it concerns the calling process alone"}}
	if landlockHolds(s) {
		r.files = kernelRule{"Landlock grants no folder for writing"}
	}
	// The filter lets no datagram socket of AF_UNIX be made, which could name a file.
	if s.HostNet != 0 && s.Network {
		r.network = kernelRule{"the network namespace has no way out"}
	}
	if s.Mounts != nil && !s.Mounts.HostProc {
		r.processes = kernelRule{"the PID namespace has no processes but the command's and the keeper"}
	}
	return r
}

// landlockHolds reports whether Landlock grants nothing for writing but single files
// and devices that the policy names. With Ask the keeper grants no folder (addRule),
// so nothing that is mounted in one inherits a right, but for the one of terminals.
func landlockHolds(s *Spec) bool {
	if s.Mounts == nil || !s.Mounts.Terminals {
		return s.Ask
	}
	inTerminals := slices.ContainsFunc(slices.Concat(s.Mounts.Writable, s.Mounts.Readable), func(path string) bool {
		return path != ptsDir && coveredBy([]string{ptsDir}, path)
	})
	return s.Ask && !inTerminals
}

// proceed lets the kernel do a call that the rule holds. Without a rule it fails.
func (r kernelRule) proceed() reply {
	if r == (kernelRule{}) {
		return failed(refusedBlind)
	}
	return reply{rule: r}
}
