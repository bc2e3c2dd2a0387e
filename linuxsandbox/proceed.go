//go:build linux

package linuxsandbox

import (
	"slices"

	"codeagent/sandbox"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A call proceeds only when a rule of the kernel holds it. The kernel reads its
// arguments anew: by then other threads of the command can have changed memory,
// names and descriptors, and other programs the files. So a rule must hold whatever
// the call names. The rules of a command are computed here, from what its keeper
// enforces, and nowhere else; a test walks the package for others
// (TestProceedIsJustified).
//
// No rule holds changes of metadata, for which Landlock has no right. What the
// broker could not look at never proceeds either: it gets an errno.

// kernelRule is a kind of rule in the kernel that holds calls.
type kernelRule int

const (
	noRule kernelRule = iota
	// byLandlock holds calls that open, make, move or remove files by name.
	byLandlock
	// byNetwork holds messages, whomever they are for.
	byNetwork
	// byCaller holds calls that change nothing but the calling process, or only
	// report its own sockets to it.
	byCaller
	// byProcesses holds calls on a process that they name by a number in a register.
	byProcesses
	ruleKinds
)

// kernelRules are the rules that hold for every call of one command, each with its
// reason. The zero value has none.
type kernelRules struct{ reasons [ruleKinds]string }

// reply is what becomes of a call.
type reply struct {
	// value is what it returns, when there is no errno.
	value int64
	errno unix.Errno
	// rule, when there is one, lets the kernel do the call as if nobody had asked.
	// This file alone writes it.
	rule kernelRule
	// given: the call has returned already, or waits.
	given bool
	// again: what the call wants was granted, so it is handled once more.
	again bool
}

// failed is the reply of a call that fails with errno, or 0: that succeeds.
func failed(errno unix.Errno) reply { return reply{errno: errno} }

// Proceeds reports whether the kernel is to do the call.
func (r reply) Proceeds() bool { return r.rule != noRule }

// refusedBlind is the errno of a call that the broker could not look at.
const refusedBlind = unix.EPERM

// rulesOf computes the rules of a command from what its keeper enforces.
func rulesOf(s *Spec) kernelRules {
	var r kernelRules
	r.reasons[byCaller] = "it concerns the calling process alone"
	if landlockHolds(s) {
		r.reasons[byLandlock] = "Landlock grants no folder for writing"
	}
	// The filter lets no datagram socket of AF_UNIX be made, which could name a file.
	if s.HostNet != 0 && s.Network {
		r.reasons[byNetwork] = "the network namespace has no way out"
	}
	if s.Mounts != nil && !s.Mounts.HostProc {
		r.reasons[byProcesses] = "the PID namespace has no processes but the command's and the keeper"
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
		return path != kernel.PtsDir && sandbox.CoveredBy([]string{kernel.PtsDir}, path)
	})
	return s.Ask && !inTerminals
}

// has reports whether the command has the rule.
func (r *kernelRules) has(rule kernelRule) bool {
	return rule > noRule && rule < ruleKinds && r.reasons[rule] != ""
}

// proceed lets the kernel do a call that the rule holds. Where the command does not
// have the rule, the call fails.
func (r *kernelRules) proceed(rule kernelRule) reply {
	if !r.has(rule) {
		return failed(refusedBlind)
	}
	return reply{rule: rule}
}
