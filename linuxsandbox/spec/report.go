//go:build linux

package spec

import "codeagent/sandbox"

// Facts are what the keeper found out while it restricted itself (FrameReady).
type Facts struct {
	LandlockABI int
	// SignalProof means that the self-test showed that no signal leaves the Landlock domain.
	SignalProof bool
	// Root means that the command runs as uid 0.
	Root bool
	// Broker means that the filter has a listener.
	Broker bool
	// NoBroker is the reason if it has none; empty if it was not tried.
	NoBroker string
	// Thread is the confined thread.
	Thread int
	// CoreHandler means that the host pipes the memory of a crashed program to a handler.
	CoreHandler bool
}

// TruncateABI is the first ABI that handles truncation (Linux 6.2). Below it Landlock lets a command
// empty every file that it can name, unless the call opens the file for writing.
const TruncateABI = 3

// StageNetwork is the stage of a Failure in the namespaces of a session.
const StageNetwork = "network"

// Failure is what the keeper reports instead of running the command (FrameFailed).
type Failure struct {
	// Code is the exit status for this failure.
	Code  int
	Stage string
	// Errno is 0 if no system call failed.
	Errno int
	Text  string
}

// Exit is how the command's main process ended (FrameExited).
type Exit struct {
	Exit   int
	Signal int
	// Limit is set if the keeper saw which limit ended it.
	Limit sandbox.Limit
}
