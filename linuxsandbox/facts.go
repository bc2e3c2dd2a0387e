//go:build linux

package linuxsandbox

import (
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/spec"
)

// facts are what this machine can enforce, as the keeper found and codeagent tried.
type facts struct {
	spec.Facts

	// Namespaces reports that keepers get mount and IPC namespaces and, for an ordinary user, a
	// user namespace.
	Namespaces bool
	// NamespacesWhy is the reason if they do not.
	NamespacesWhy string
	// NoPIDs is the reason why keepers get no PID namespace; "" if they get one.
	NoPIDs string
	// HostNet is the cookie of codeagent's own network namespace. It is set only where commands can
	// get another one.
	HostNet uint64

	// Sockets is how the broker gets hold of a command's sockets.
	Sockets sockets.Taking
	// NoSockets is the reason if it cannot.
	NoSockets string
	// Groups is set if the policy has a limit that a control group can enforce.
	Groups groupFacts
	// Globs are the files that match the policy's deny-read globs. It is set only where mounts can
	// cover them.
	Globs globMatches
}
