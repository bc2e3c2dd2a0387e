//go:build linux

package notify

import (
	"slices"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A call proceeds only if a kernel rule confines it. Threat: when a call proceeds, the
// kernel reads its arguments again. By then other threads of the command can have changed
// memory, names and descriptors, and other programs the files. So a rule must confine the
// call whatever it names. This file computes the rules of a command from what its keeper
// enforces. No other file can make one, and a test checks all rooms for attempts
// (TestProceedIsJustified).
//
// No rule confines changes of metadata, since Landlock has no right for them. A call that
// the broker could not examine never proceeds either: it fails.
//
// Landlock confines the calls of ByLandlock that empty a file without opening it for writing only
// since ABI 3 (Linux 6.2). Below it they do not proceed. Without Landlock only those proceed that read:
// mounts confine these, whatever they name. A read-only mount stops no write to a pipe or a device.

// Rule is a kind of kernel rule that confines calls.
type Rule int

const (
	noRule Rule = iota
	// ByLandlock confines calls that open, make, move or remove files by name.
	ByLandlock
	// ByCaller is for calls that change only the calling process, or that only report
	// to it: on its own sockets, which stay in its network, or whether it might write a file.
	ByCaller
	// ByProcesses confines calls that name a process by a number in a register.
	ByProcesses
	// ByDomain confines calls that begin to trace a process.
	ByDomain
	// BySignals confines signals, whatever process they are for.
	BySignals
	ruleKinds
)

// Effect is the most that a call on files can do in the kernel, whatever lies at its name by then.
type Effect int

const (
	Reads Effect = iota
	// Changes: it opens for writing, makes, moves or removes.
	Changes
	// Empties: it may also empty a file that it does not open for writing.
	Empties
)

// Rules are the rules for every call of one command, each with its reason. The zero value has
// none.
type Rules struct {
	reasons [ruleKinds]string
	// most is what ByLandlock confines. Without Landlock it stands for the mounts.
	most Effect
}

// Reply is the answer to a call.
type Reply struct {
	// value is the return value if there is no errno.
	value int64
	Errno unix.Errno
	// rule, if set, lets the kernel execute the call as if there were no filter. Only
	// this file writes it.
	rule Rule
	// Given: the call was answered already, or is held.
	Given bool
	// Again: something was granted, reported or looked through. Handle the call again.
	Again bool
}

// Failed is the reply that makes a call fail with errno, or with 0 succeed.
func Failed(errno unix.Errno) Reply { return Reply{Errno: errno} }

// Proceeds reports whether the kernel executes the call.
func (r Reply) Proceeds() bool { return r.rule != noRule }

// Rule returns the rule by which the call proceeds, 0 if it does not.
func (r Reply) Rule() Rule { return r.rule }

// RefusedBlind is the errno of a call that the broker could not examine.
const RefusedBlind = unix.EPERM

// RulesOf computes the rules of a command from what its keeper enforces.
func RulesOf(s *spec.Spec) Rules {
	var r Rules
	r.reasons[ByCaller] = "it concerns the calling process alone"
	switch {
	case s.LandlockABI >= spec.TruncateABI:
		r.most = Empties
	case s.LandlockABI > 0:
		r.most = Changes
	}
	if own := s.Mounts != nil && !s.Mounts.HostProc; s.Ask && own && s.LandlockABI == 0 {
		r.reasons[ByDomain] = "the PID namespace has no processes but the command's and the keeper, whose memory is closed"
	} else if s.Ask && s.LandlockABI > 0 {
		r.reasons[ByDomain] = "Landlock lets a process trace only those of its own domain"
	}
	if s.Signals {
		r.reasons[BySignals] = "the PID namespace or Landlock's scope keeps signals inside"
	}
	if landlockHolds(s) {
		r.reasons[ByLandlock] = "Landlock grants no folder for writing"
	}
	if s.Mounts != nil && !s.Mounts.HostProc {
		r.reasons[ByProcesses] = "the PID namespace has no processes but the command's and the keeper"
	}
	return r
}

// landlockHolds reports whether Landlock grants writing only to single files and devices
// that the policy names. With Ask the keeper grants no folder (addRule), so nothing mounted
// in a folder inherits a right. The exception is the folder of terminals.
func landlockHolds(s *spec.Spec) bool {
	if s.Mounts == nil || !s.Mounts.Terminals {
		return s.Ask
	}
	inTerminals := slices.ContainsFunc(slices.Concat(s.Mounts.Writable, s.Mounts.Readable), func(path string) bool {
		return path != kernel.PtsDir && sandbox.Covers(kernel.PtsDir, path)
	})
	return s.Ask && !inTerminals
}

// Confine is the reply a to a call on files, unless the call would proceed and no rule confines its effect. Then it fails.
func (r *Rules) Confine(a Reply, e Effect) Reply {
	if a.rule == ByLandlock && !r.Confines(e) {
		return Failed(RefusedBlind)
	}
	return a
}

// Confines reports whether calls with that effect may proceed.
func (r *Rules) Confines(e Effect) bool { return e <= r.most }

// Has reports whether the command has the rule.
func (r *Rules) Has(rule Rule) bool {
	return rule > noRule && rule < ruleKinds && r.reasons[rule] != ""
}

// Proceed is the reply that lets the kernel execute a call that rule confines. If the
// command does not have the rule, the call fails.
func (r *Rules) Proceed(rule Rule) Reply {
	if !r.Has(rule) {
		return Failed(RefusedBlind)
	}
	return Reply{rule: rule}
}
