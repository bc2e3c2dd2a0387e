//go:build linux

package notify

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A caller that receives a descriptor installs it itself: it wakes up, does so, and wakes
// the broker. For these two wake-ups the kernel does not keep both threads on one processor
// (WakeTogether). While another processor idles, they move there and back, which takes ten
// times as long as all of the broker's work for an open, most of all in a virtual machine.
// So both threads are pinned to this processor meanwhile. The caller waits in the kernel
// all that time, and gets its own affinity back before its call returns.

// together is the affinity of a caller and of the broker's thread before they were pinned.
type together struct {
	tid         int // 0: nothing was pinned
	caller, own unix.CPUSet
}

// keepHere pins both threads to this processor. Where that fails, only time is lost.
func (n *Notification) keepHere() (h together) {
	tid := int(n.TID)
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return h
	}
	if unix.SchedGetaffinity(tid, &h.caller) != nil || unix.SchedGetaffinity(0, &h.own) != nil || !h.caller.IsSet(int(cpu)) {
		return h
	}
	if h.caller.Count() == 1 {
		return h
	}
	var this unix.CPUSet
	this.Set(int(cpu))
	// If the caller is killed right now and its number passes to another process of the user,
	// that process ends up with the caller's affinity.
	if !n.Waits() || unix.SchedSetaffinity(tid, &this) != nil {
		return h
	}
	h.tid = tid
	_ = unix.SchedSetaffinity(0, &this)
	return h
}

// release undoes keepHere.
func (h *together) release() {
	if h.tid != 0 {
		_ = unix.SchedSetaffinity(h.tid, &h.caller)
		_ = unix.SchedSetaffinity(0, &h.own)
	}
}
