//go:build linux

package linuxsandbox

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A file that is made has the mode that the umask of its maker leaves. The
// broker's umask is that of all threads of codeagent, and giving a thread its own
// is refused in containers. Mostly it is the caller's too. Where it is not, the
// file is made with no more than the caller would leave, and then given the rest.

// newMode is the mode of a file to be made.
type newMode struct {
	mode uint32
	// rest: the broker's umask takes away what the caller's does not.
	rest bool
}

// modeFor is what the caller of n, which still waits, makes of mode.
func (b *broker) modeFor(n *notification, mode uint32) (newMode, error) {
	mask, err := maskOf(int(n.tid))
	if err != nil || !n.valid(b.listener) {
		return newMode{}, unix.ESRCH
	}
	if b.umask < 0 {
		if b.umask, err = maskOf(os.Getpid()); err != nil {
			return newMode{}, unix.ESRCH
		}
	}
	// What would make a program run with other rights is left out.
	mode &= 0o1777
	if mask == b.umask {
		return newMode{mode: mode}, nil
	}
	mode &^= uint32(mask)
	return newMode{mode: mode, rest: mode&uint32(b.umask) != 0}, nil
}

// maskOf is the file mode creation mask of a thread. It stands in the second line
// of the file, so no more of it is read.
func maskOf(tid int) (int, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	var head [256]byte
	n, err := unix.Read(fd, head[:])
	if err != nil {
		return -1, err
	}
	mask, err := strconv.ParseInt(statusField(head[:n], "Umask:"), 8, 32)
	if err != nil {
		return -1, err
	}
	return int(mask), nil
}

// create makes a file and opens it.
func (b *broker) create(n *notification, dir int, last string, flags int, mode uint32) (int, error) {
	m, err := b.modeFor(n, mode)
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
func (m newMode) complete(s spot) error {
	if !m.rest {
		return nil
	}
	fd, err := openat2(s.dir, s.last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	return chmodOpen(fd, m.mode|st.Mode&unix.S_ISGID)
}
