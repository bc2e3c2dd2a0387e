// Package spec is what codeagent and the keeper send each other: the Spec that codeagent sends,
// what the keeper reports, and how both are encoded. It imports nothing of ours but sandbox and
// linuxsandbox/kernel, and performs no IO. Start with spec.go, whose first type is the complete
// order.
package spec

// The helper's first argument names its task.
const (
	// KeeperArg runs one command, with the control socket at ControlFD.
	KeeperArg = "--keeper"
	// FileWorkerArg runs package internal/fileworker on standard input and output.
	FileWorkerArg = "--file-worker"
	// ContainerArg makes the helper the first process of a container.
	ContainerArg = "--container"
)

// ControlFD is the descriptor of the control socket in the helper.
const ControlFD = 3
