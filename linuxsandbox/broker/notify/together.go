//go:build linux

package notify

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A caller that is given a descriptor takes it itself: it wakes up, does so, and
// wakes the broker. For these two wake-ups alone the kernel does not keep both on
// one processor (wakeTogether). Where another one idles they go there and back,
// which takes ten times as long as all that the broker does for an open, most of
// all in a virtual machine. So both are held on this processor meanwhile. The
// caller waits in the kernel all that time, and has its own set of processors
// back before its call returns.

// together is a caller, and the broker's thread, on one processor.
type together struct {
	tid         int // 0: they were left where they are
	caller, own unix.CPUSet
}

// keepHere does that. It is only about time: where it cannot be done it is not.
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
	// Should the caller be killed right now, and its number go to another process of
	// the user, that one gets the processors of the caller in the end.
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
