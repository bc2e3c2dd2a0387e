//go:build linux

package broker

import (
	"os"
	"slices"
	"strconv"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A file that is made has the mode that the umask of its maker leaves. The
// broker's umask is that of all threads of codeagent, and giving a thread its own
// is refused in containers. Mostly it is the caller's too. Where it is not, the
// file is made with no more than the caller would leave, and then given the rest.
//
// Whose umask is which stands in /proc, and to read it there takes longer than to
// make the file. But a umask is inherited or comes from umask(2), about which the
// broker is asked before it happens. So all that threads of the command can have
// are the first one and those that were asked for; and where each of them leaves
// the same of a mode, nobody need know which is the caller's.

// masks are those umasks.
type masks struct {
	own uint32   // codeagent's
	all []uint32 // of the command, nil: not known yet
}

// newMode is the mode of a file to be made.
type newMode struct {
	mode uint32
	// rest: the broker's umask takes away what the caller's does not.
	rest bool
}

// modeFor is what the caller of n, which still waits, makes of mode.
func (k *masks) modeFor(n *notify.Notification, mode uint32) (newMode, error) {
	// What would make a program run with other rights is left out.
	mode &= 0o1777
	err := k.knowMasks(n)
	left, same := k.leave(mode)
	if err == nil && !same {
		var mask int
		mask, err = maskOf(int(n.TID))
		left = mode &^ uint32(mask)
	}
	if err != nil || !n.Waits() {
		return newMode{}, unix.ESRCH
	}
	if left == mode&^k.own {
		return newMode{mode: mode}, nil
	}
	return newMode{mode: left, rest: left&k.own != 0}, nil
}

// umask takes note of an umask(2): what it will set counts from now on.
func (k *masks) umask(n *notify.Notification) unix.Errno {
	if k.knowMasks(n) != nil {
		return unix.ESRCH
	}
	if mask := uint32(n.Args[0]) & 0o777; !slices.Contains(k.all, mask) {
		k.all = append(k.all, mask)
	}
	return 0
}

// knowMasks reads the first umask of the command, which every thread of it has as
// long as nobody was asked for another one.
func (k *masks) knowMasks(n *notify.Notification) error {
	if k.all != nil {
		return nil
	}
	own, err := maskOf(os.Getpid())
	if err != nil {
		return err
	}
	first, err := maskOf(int(n.TID))
	if err == nil && !n.Waits() {
		err = unix.ESRCH // it may be that of a later owner of the number
	}
	if err == nil {
		*k = masks{own: uint32(own), all: []uint32{uint32(first)}}
	}
	return err
}

// leave is what is left of mode under every umask of the command, if it is the
// same.
func (k *masks) leave(mode uint32) (left uint32, same bool) {
	for i, mask := range k.all {
		if i > 0 && mode&^mask != left {
			return 0, false
		}
		left = mode &^ mask
	}
	return left, len(k.all) > 0
}

// maskOf is the file mode creation mask of a thread. It stands in the second line
// of the file, so no more of it is read.
func maskOf(tid int) (int, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var head [256]byte
	n, err := unix.Read(fd, head[:])
	if err != nil {
		return 0, err
	}
	mask, err := strconv.ParseInt(kernel.StatusField(head[:n], "Umask:"), 8, 32)
	return int(mask), err
}

// create makes a file and opens it.
func (k *masks) create(n *notify.Notification, dir int, last string, flags int, mode uint32) (int, error) {
	m, err := k.modeFor(n, mode)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Openat(dir, last, flags, m.mode)
	if err == nil && m.rest {
		err = unix.Fchmod(fd, m.mode)
		if err != nil {
			unix.Close(fd)
		}
	}
	return fd, err
}

// complete gives an entry that was just made its whole mode. A folder may have
// inherited the bit that hands its group on.
func (m newMode) complete(s pathwalk.Spot) error {
	if !m.rest {
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
	return kernel.ChmodOpen(fd, m.mode|st.Mode&unix.S_ISGID)
}
