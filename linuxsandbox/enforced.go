//go:build linux

package linuxsandbox

import (
	"slices"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
)

// rulesOf are the rules that hold the calls of a command (proceed.go).
func rulesOf(s *spec.Spec) notify.Rules {
	return notify.RulesOf(notify.Enforced{Files: landlockHolds(s), NoWayOut: s.HostNet != 0 && s.Network, OwnProcesses: s.Mounts != nil && !s.Mounts.HostProc})
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
