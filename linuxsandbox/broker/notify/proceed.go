//go:build linux

package notify

import (
	"slices"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A call proceeds only when a rule of the kernel holds it. The kernel reads its
// arguments anew: by then other threads of the command can have changed memory,
// names and descriptors, and other programs the files. So a rule must hold whatever
// the call names. The rules of a command are computed here, from what its keeper
// enforces, and nowhere else: no other room can make one, and a test walks all rooms
// for attempts (TestProceedIsJustified).
//
// No rule holds changes of metadata, for which Landlock has no right. What the
// broker could not look at never proceeds either: it gets an errno.

// Rule is a kind of rule in the kernel that holds calls.
type Rule int

const (
	noRule Rule = iota
	// ByLandlock holds calls that open, make, move or remove files by name.
	ByLandlock
	// ByNetwork holds messages, whomever they are for.
	ByNetwork
	// ByCaller holds calls that change nothing but the calling process, or only
	// report its own sockets to it.
	ByCaller
	// ByProcesses holds calls on a process that they name by a number in a register.
	ByProcesses
	ruleKinds
)

// Rules are the rules that hold for every call of one command, each with its
// reason. The zero value has none.
type Rules struct{ reasons [ruleKinds]string }

// Reply is what becomes of a call.
type Reply struct {
	// value is what it returns, when there is no errno.
	value int64
	Errno unix.Errno
	// rule, when there is one, lets the kernel do the call as if nobody had asked.
	// This file alone writes it.
	rule Rule
	// Given: the call has returned already, or waits.
	Given bool
	// Again: what the call wants was granted, so it is handled once more.
	Again bool
}

// Failed is the reply of a call that fails with errno, or 0: that succeeds.
func Failed(errno unix.Errno) Reply { return Reply{Errno: errno} }

// Proceeds reports whether the kernel is to do the call.
func (r Reply) Proceeds() bool { return r.rule != noRule }

// Rule is the rule by which a call proceeds, 0 where it does not.
func (r Reply) Rule() Rule { return r.rule }

// RefusedBlind is the errno of a call that the broker could not look at.
const RefusedBlind = unix.EPERM

// RulesOf computes the rules of a command from what its keeper enforces.
func RulesOf(s *spec.Spec) Rules {
	var r Rules
	r.reasons[ByCaller] = "it concerns the calling process alone"
	if landlockHolds(s) {
		r.reasons[ByLandlock] = "Landlock grants no folder for writing"
	}
	// The filter lets no datagram socket of AF_UNIX be made, which could name a file.
	if s.HostNet != 0 && s.Network {
		r.reasons[ByNetwork] = "the network namespace has no way out"
	}
	if s.Mounts != nil && !s.Mounts.HostProc {
		r.reasons[ByProcesses] = "the PID namespace has no processes but the command's and the keeper"
	}
	return r
}

// landlockHolds reports whether Landlock grants nothing for writing but single files
// and devices that the policy names. With Ask the keeper grants no folder (addRule),
// so nothing that is mounted in one inherits a right, but for the one of terminals.
func landlockHolds(s *spec.Spec) bool {
	if s.Mounts == nil || !s.Mounts.Terminals {
		return s.Ask
	}
	inTerminals := slices.ContainsFunc(slices.Concat(s.Mounts.Writable, s.Mounts.Readable), func(path string) bool {
		return path != kernel.PtsDir && sandbox.Covers(kernel.PtsDir, path)
	})
	return s.Ask && !inTerminals
}

// Has reports whether the command has the rule.
func (r *Rules) Has(rule Rule) bool {
	return rule > noRule && rule < ruleKinds && r.reasons[rule] != ""
}

// Proceed lets the kernel do a call that the rule holds. Where the command does not
// have the rule, the call fails.
func (r *Rules) Proceed(rule Rule) Reply {
	if !r.Has(rule) {
		return Failed(RefusedBlind)
	}
	return Reply{rule: rule}
}
