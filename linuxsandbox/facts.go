//go:build linux

package linuxsandbox

import (
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/spec"
)

// facts are what this machine can enforce: what the keeper found and what codeagent
// tried.
type facts struct {
	spec.Facts

	// Namespaces: keepers get mount and IPC namespaces, and as an ordinary user a
	// user namespace.
	Namespaces bool
	// NamespacesWhy says why not.
	NamespacesWhy string
	// NoPIDs says why they get no PID namespace besides, "" when they do.
	NoPIDs string
	// HostNet is the cookie of codeagent's own network namespace where commands
	// can be given another one.
	HostNet uint64

	// Sockets is how the broker gets at sockets.
	Sockets sockets.Taking
	// NoSockets says why it does not.
	NoSockets string
	// Groups are set where the policy has a limit that a control group can hold.
	Groups groupFacts
	// Globs is what matches the policy's deny-read globs, where it can be
	// mounted over.
	Globs globMatches
}
