//go:build linux

package kernel

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// DropCaps removes every capability from this thread, and so from what it starts: effective,
// permitted, inheritable, ambient and, where the thread may, the bounding set. keep is a bit mask
// of capabilities to retain. A thread without CAP_SETPCAP cannot change its bounding set; with
// no_new_privs no program can gain a capability from it.
func DropCaps(keep uint64) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient set: %w", err)
	}
	for c := uintptr(0); c < 64; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL || err == unix.EPERM {
			break // past the last capability, or without CAP_SETPCAP
		}
		if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	return KeepCaps(keep)
}

// Caps are the capabilities of this thread.
func Caps() (have [2]unix.CapUserData, err error) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	err = unix.Capget(&head, &have[0])
	return have, err
}

// HeldCaps are the effective capabilities of this thread; 0 on an error.
func HeldCaps() uint64 {
	have, err := Caps()
	if err != nil {
		return 0
	}
	return uint64(have[0].Effective) | uint64(have[1].Effective)<<32
}

// KeepCaps is DropCaps for a thread that never executes a program. It leaves the bounding set,
// which matters only to execve(2), and so saves forty calls.
func KeepCaps(keep uint64) error {
	have, err := Caps()
	if err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var want [2]unix.CapUserData
	for i := range want {
		want[i].Permitted = have[i].Permitted & uint32(keep>>(32*i))
		want[i].Effective = want[i].Permitted
	}
	if err := unix.Capset(&head, &want[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}
