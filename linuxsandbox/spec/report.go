//go:build linux

package spec

import (
	"fmt"

	"codeagent/sandbox"
)

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

// MinLandlockABI is the first ABI that handles truncation (Linux 6.2). Below it a command could
// empty every file that it can read.
const MinLandlockABI = 3

// CheckLandlock returns an error if the kernel's Landlock cannot confine writes.
func (f Facts) CheckLandlock() error {
	if f.LandlockABI < 1 {
		return fmt.Errorf("this kernel has no Landlock: it cannot confine writes (Linux 6.2 or newer with Landlock enabled is needed)")
	}
	if f.LandlockABI < MinLandlockABI {
		return fmt.Errorf("the kernel's Landlock ABI %d does not handle truncation: it cannot confine writes (ABI %d, Linux 6.2 or newer, is needed)",
			f.LandlockABI, MinLandlockABI)
	}
	return nil
}

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
