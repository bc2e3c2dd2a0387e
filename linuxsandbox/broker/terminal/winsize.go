//go:build linux

package terminal

import (
	"encoding/binary"
	"os"
	"slices"
	"strconv"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A command may set the window size of its own terminals, as script, tmux and expect do,
// but not of the user's: only the terminal's program knows the right size, and it may
// change the size at any time. So the broker sets the size through a copy of the caller's
// descriptor, if that is one of
//
//	a terminal in the command's own /dev/pts     it has the device number of that mount;
//	                                             the user's is in another mount
//	a terminal of codeagent's or the broker's    the broker has a reference to its
//	making                                       terminal side
//	/dev/tty, in a session of the command's own  a session cannot get a terminal that
//	                                             controls another session (TIOCSCTTY)
//
// Both sides of a pair have the same size. The ptmx side is judged by its terminal side.

const (
	ttyDevice  = 5 << 8   // /dev/tty
	ptmxDevice = 5<<8 | 2 // the ptmx side of any pair
)

// Resize answers ioctl(TIOCSWINSZ).
func (t *Terminals) Resize(n *notify.Notification) notify.Reply {
	if uint32(n.Args[1]) != unix.TIOCSWINSZ { // the filter asks about no other request
		return notify.Failed(unix.EPERM)
	}
	fd, err := t.take(n)
	if err == unix.EACCES || err == unix.EPERM {
		return t.refuseResize(n)
	}
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	defer unix.Close(fd)
	raw, err := notify.ReadMemory(int(n.TID), n.Args[2], 8)
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	own, isTerminal := t.owns(n, fd)
	switch {
	case isTerminal != nil:
		return notify.Failed(kernel.ErrnoOf(isTerminal))
	case !own:
		return t.refuseResize(n)
	case err != nil:
		return notify.Failed(kernel.ErrnoOf(err))
	}
	size := unix.Winsize{
		Row: binary.NativeEndian.Uint16(raw), Col: binary.NativeEndian.Uint16(raw[2:]),
		Xpixel: binary.NativeEndian.Uint16(raw[4:]), Ypixel: binary.NativeEndian.Uint16(raw[6:]),
	}
	return notify.Failed(kernel.ErrnoOf(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size)))
}

func (t *Terminals) refuseResize(n *notify.Notification) notify.Reply {
	t.Log.Record(n, sandbox.Denial{Kind: sandbox.KindSyscall, Operation: "ioctl", Target: "ioctl(TIOCSWINSZ)", Errno: "EPERM"})
	return notify.Failed(unix.EPERM)
}

// owns reports whether fd is one of the command's own terminals. It fails if fd is
// not a terminal.
func (t *Terminals) owns(n *notify.Notification, fd int) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false, unix.ENOTTY // an ioctl on a FUSE file would run code of its server
	}
	if _, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err != nil {
		return false, err
	}
	switch st.Rdev {
	case ttyDevice:
		return t.ownSession, nil
	case ptmxDevice:
		far, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_PATH|unix.O_CLOEXEC)
		if errno != 0 {
			return false, nil
		}
		defer unix.Close(int(far))
		if unix.Fstat(int(far), &st) != nil {
			return false, nil
		}
	}
	return t.inOwn(n, st.Dev) || t.like(&st) != nil, nil
}

// inOwn reports whether device is the device number of the command's own /dev/pts.
func (t *Terminals) inOwn(n *notify.Notification, device uint64) bool {
	if !t.OwnPTS {
		return false
	}
	own, err := t.Walk.DeviceOf(n, kernel.PtsDir)
	return err == nil && own == device
}

// like returns the made terminal whose terminal side is far, or nil.
func (t *Terminals) like(far *unix.Stat_t) *made {
	i := slices.IndexFunc(t.list, func(t made) bool {
		var st unix.Stat_t
		return unix.Fstat(t.ref, &st) == nil && st.Nlink > 0 && st.Dev == far.Dev && st.Ino == far.Ino
	})
	if i < 0 {
		return nil
	}
	return &t.list[i]
}

// take opens the terminal that a call names. Where a container denies copies of
// descriptors, it opens the terminal side through the broker's reference, for the terminal that
// the caller's descriptor means now.
func (t *Terminals) take(n *notify.Notification) (int, error) {
	fd, err := sockets.TakeFD(int(n.TID), int32(n.Args[0]))
	if err != unix.EPERM && err != unix.ENOSYS || t.Taking != sockets.TakesStandIns {
		return fd, err
	}
	number := strconv.Itoa(int(int32(n.Args[0])))
	thread := "/proc/" + strconv.Itoa(int(n.TID))
	var st unix.Stat_t
	if err := unix.Stat(thread+"/fd/"+number, &st); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return -1, unix.ENOTTY
	}
	own := t.like(&st)
	if st.Rdev == ptmxDevice {
		info, err := kernel.ReadSmall(thread + "/fdinfo/" + number)
		index, bad := strconv.Atoi(kernel.StatusField(info, "tty-index:"))
		if err != nil || bad != nil {
			return -1, unix.EPERM
		}
		own = t.numbered(index)
	}
	if own == nil {
		return -1, unix.EPERM
	}
	return own.open(unix.O_RDWR | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC)
}

// ownSession reports whether none of the user's terminals can become the controlling
// terminal of a command: the command has a session of its own and gets no terminal but its
// own.
func ownSession(cmd *sandbox.Command) bool {
	return !cmd.Foreground && (cmd.Terminal || !slices.ContainsFunc([]*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr}, isTerminal))
}

// isTerminal reports whether f, which may be nil, is a terminal or may be one.
func isTerminal(f *os.File) bool {
	if f == nil {
		return false
	}
	conn, err := f.SyscallConn()
	is := true
	if err == nil {
		err = conn.Control(func(fd uintptr) {
			_, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
			is = err != unix.ENOTTY
		})
	}
	return err != nil || is
}
