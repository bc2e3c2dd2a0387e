// Package spec is what codeagent and the keeper say to each other: the Spec that
// codeagent sends, what the keeper reports, and how both are encoded. It imports
// nothing of ours but sandbox and touches nothing. Start with spec.go, whose first type
// is the whole of the order.
package spec

// HelperName is the helper's file name, and the name under which codeagent starts
// itself where that file is missing.
const HelperName = "linux-sandbox-helper"

// What the helper is started for: its first argument.
const (
	// KeeperArg runs one command, with the control socket at ControlFD.
	KeeperArg = "--keeper"
	// SessionArg makes the namespaces that the commands of a session share. The other
	// arguments are the addresses of this machine's name servers.
	SessionArg = "--session"
	// FileWorkerArg serves package internal/fileworker on standard input and output.
	FileWorkerArg = "--file-worker"
)

// ControlFD is the control socket in the helper.
const ControlFD = 3
