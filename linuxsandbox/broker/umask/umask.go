//go:build linux

// Package umask applies a command's umask to the files that the broker makes for the command. It reads
// /proc, and makes files in the folder that it is given. Start with Masks.
package umask

import (
	"os"
	"slices"
	"strconv"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A new file gets the mode that its maker's umask leaves. The broker's umask is shared by
// all threads of codeagent, and containers deny the call that would give a thread its own
// (unshare(2), CLONE_FS). Usually it equals the caller's. If not, the broker makes the file
// with no more than the caller's umask leaves, and then adds the missing bits.
//
// /proc shows the umask of a thread, but reading it takes longer than making the file. A umask
// is inherited or comes from umask(2), and the filter asks the broker about umask(2) before it
// takes effect. So a thread of the command has either the first umask or one that was set
// later. If all of them leave the same bits of a mode, the broker need not know which is the
// caller's.

// Masks are the umasks that threads of a command may have.
type Masks struct {
	own uint32   // codeagent's
	all []uint32 // of the command; nil: not read yet
}

// Mode is the mode of a file to be made.
type Mode struct {
	Bits uint32
	// Rest: the broker's umask removes bits that the caller's leaves.
	Rest bool
}

// For applies the caller's umask to mode. It fails if the caller is gone.
func (k *Masks) For(n *notify.Notification, mode uint32) (Mode, error) {
	// The set-user-ID and set-group-ID bits are left out.
	mode &= 0o1777
	err := k.knowMasks(n)
	left, same := k.leave(mode)
	if err == nil && !same {
		var mask uint32
		mask, err = Of(int(n.TID))
		left = mode &^ mask
	}
	if err != nil || !n.Waits() {
		return Mode{}, unix.ESRCH
	}
	if left == mode&^k.own {
		return Mode{Bits: mode}, nil
	}
	return Mode{Bits: left, Rest: left&k.own != 0}, nil
}

// Add records a umask(2) before it takes effect.
func (k *Masks) Add(n *notify.Notification) unix.Errno {
	if k.knowMasks(n) != nil {
		return unix.ESRCH
	}
	if mask := uint32(n.Args[0]) & 0o777; !slices.Contains(k.all, mask) {
		k.all = append(k.all, mask)
	}
	return 0
}

// knowMasks reads the first umask of the command. Every thread has it until the first umask(2).
func (k *Masks) knowMasks(n *notify.Notification) error {
	if k.all != nil {
		return nil
	}
	own, err := Of(os.Getpid())
	if err != nil {
		return err
	}
	first, err := Of(int(n.TID))
	if err == nil && !n.Waits() {
		err = unix.ESRCH // the number may belong to a later thread
	}
	if err == nil {
		*k = Masks{own: own, all: []uint32{first}}
	}
	return err
}

// leave returns the bits of mode that every umask of the command leaves; same is false if they
// differ.
func (k *Masks) leave(mode uint32) (left uint32, same bool) {
	for i, mask := range k.all {
		if i > 0 && mode&^mask != left {
			return 0, false
		}
		left = mode &^ mask
	}
	return left, len(k.all) > 0
}

// Of reads the umask of a thread.
func Of(tid int) (uint32, error) {
	status, err := kernel.ReadSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, err
	}
	mask, err := strconv.ParseUint(kernel.StatusField(status, "Umask:"), 8, 32)
	return uint32(mask), err
}

// Create makes a file and opens it.
func (k *Masks) Create(n *notify.Notification, dir int, last string, flags int, mode uint32) (int, error) {
	m, err := k.For(n, mode)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Openat(dir, last, flags, m.Bits)
	if err == nil && m.Rest {
		err = unix.Fchmod(fd, m.Bits)
		if err != nil {
			unix.Close(fd)
		}
	}
	return fd, err
}

// Complete gives a new entry its whole mode. A folder may have inherited the set-group-ID bit,
// which is kept.
func (m Mode) Complete(s pathwalk.Spot) error {
	if !m.Rest {
		return nil
	}
	fd, err := kernel.Openat2(s.Dir, s.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	return kernel.ChmodOpen(fd, m.Bits|st.Mode&unix.S_ISGID)
}
