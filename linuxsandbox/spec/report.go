//go:build linux

package spec

import (
	"fmt"

	"codeagent/sandbox"
)

// Facts are what the keeper found while it restricted itself (FrameReady).
type Facts struct {
	LandlockABI int
	// SignalProof: it was shown that no signal leaves the Landlock domain.
	SignalProof bool
	// Root: the command runs as uid 0.
	Root bool
	// Broker: the filter has a listener.
	Broker bool
	// NoBroker says why not, in words; empty when it was not tried.
	NoBroker string
	// Thread is the confined thread, in a probe.
	Thread int
	// CoreHandler: the host hands a program that crashes to a handler of its own.
	CoreHandler bool
}

// MinLandlockABI is the first ABI that handles truncation (Linux 6.2). Below it a
// command could empty every file that it can read.
const MinLandlockABI = 3

// CheckLandlock is the error of a kernel whose Landlock cannot confine writes.
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

// Failure is what the keeper reports instead of running the command (FrameFailed).
type Failure struct {
	// Code is the exit status that goes with it.
	Code  int
	Stage string
	// Errno is 0 when no system call failed.
	Errno int
	Text  string
}

// Ended is how the command's main process ended (FrameExited).
type Ended struct {
	Exit   int
	Signal int
	// Limit is set when the keeper saw which limit ended it.
	Limit sandbox.Limit
}
