//go:build linux

// Package terminal makes the terminals of a command, and sets their sizes. It opens no terminal by a
// name that the command gives, and lets no call proceed. Start with Terminals.
package terminal

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// With mounts a command has its own /dev/pts. Without them all terminals of the machine are in
// one folder, including the user's, and Landlock can open all of that folder or nothing. So the
// broker makes the terminals that the command asks for:
//
//	open("/dev/ptmx")   the broker opens it, keeps a reference to the terminal side
//	                    (TIOCGPTPEER), and gives the ptmx side to the caller
//	open("/dev/pts/3")  the broker opens the terminal side that it has under that
//	                    number, through the reference
//
// A name is never looked up. When the ptmx side is closed, the kernel removes the entry of the
// terminal side (devpts_pty_kill), and an open through the reference fails with EIO, even if
// the number was reused. So the command reaches no other terminal.

// maxTerminals bounds the terminals of one command: all users share the machine's supply.
const maxTerminals = 64

// made is the terminal side of a pair that the broker or codeagent made.
type made struct{ number, ref int }

// Terminals are the terminals of one command that has no /dev/pts of its own.
type Terminals struct {
	Options
	// ownSession: the controlling terminal is not one of the user's.
	ownSession bool
	list       []made
}

// Options are the inputs of New.
type Options struct {
	// OwnPTS: the command has a /dev/pts of its own. Mounted: it has mounts of its own.
	OwnPTS, Mounted bool
	Command         sandbox.Command
	Taking          sockets.Access
	// MayWrite: the policy opens the terminals' folder.
	MayWrite func(path string) bool
	Walk     interface {
		DeviceOf(c pathwalk.Caller, path string) (uint64, error)
	}
	Log interface {
		Record(n *notify.Notification, d sandbox.Denial)
	}
}

// New makes the terminals of one command: the one that codeagent made, or none.
func New(o Options) *Terminals {
	t := &Terminals{Options: o, ownSession: ownSession(&o.Command)}
	if o.Command.Terminal {
		t.add(o.Command.Stdin)
	}
	return t
}

// Close forgets all of them.
func (t *Terminals) Close() { t.drop(func(made) bool { return true }) }

// add adds the terminal that codeagent made for the command. If no reference to it can
// be opened, it is treated like any terminal.
func (t *Terminals) add(far *os.File) {
	if far == nil {
		return
	}
	conn, err := far.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		var st unix.Stat_t
		ref, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		if unix.Fstat(ref, &st) != nil {
			unix.Close(ref)
			return
		}
		t.list = append(t.list, made{int(unix.Minor(st.Rdev)), ref})
	})
}

// Open answers an open of a terminal for writing. done is false if the terminal is not
// one of the command's own.
func (t *Terminals) Open(n *notify.Notification, path string, flags uint64) (a notify.Reply, done bool) {
	const others = calls.Tmpfile | unix.O_EXCL | unix.O_DIRECTORY
	if t.Mounted || !strings.HasPrefix(path, kernel.DevDir+"/pt") || flags&others != 0 ||
		t.MayWrite(path) || !n.Waits() {
		return notify.Reply{}, false
	}
	if path == kernel.Ptmx || path == kernel.PtsDir+"/ptmx" {
		return t.make(n, flags), true
	}
	number, err := strconv.Atoi(strings.TrimPrefix(path, kernel.PtsDir+"/"))
	own := t.numbered(number)
	if err != nil || own == nil {
		return notify.Reply{}, false
	}
	fd, err := own.open(opens(flags))
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	defer unix.Close(fd)
	return n.Give(fd, uint32(flags&unix.O_CLOEXEC)), true
}

// make opens a new pair.
func (t *Terminals) make(n *notify.Notification, flags uint64) notify.Reply {
	t.drop(made.gone)
	if len(t.list) >= maxTerminals {
		return notify.Failed(unix.ENOSPC)
	}
	near, err := unix.Open(kernel.Ptmx, opens(flags), 0)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	defer unix.Close(near)
	number, err := unix.IoctlGetInt(near, unix.TIOCGPTN)
	if err != nil {
		return notify.Failed(unix.ENODEV) // not a terminal
	}
	ref, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(near), unix.TIOCGPTPEER, unix.O_PATH|unix.O_CLOEXEC)
	if errno != 0 {
		return notify.Failed(errno)
	}
	t.list = append(t.list, made{number, int(ref)})
	return n.Give(near, uint32(flags&unix.O_CLOEXEC))
}

// opens are the flags to open a terminal with. They include O_NOCTTY, so that no terminal becomes codeagent's controlling
// terminal. A command sets its own with TIOCSCTTY.
func opens(flags uint64) int {
	return int(flags&(unix.O_ACCMODE|unix.O_NONBLOCK)) | unix.O_NOCTTY | unix.O_CLOEXEC
}

// numbered returns the terminal with that number, or nil.
func (t *Terminals) numbered(number int) *made {
	i := slices.IndexFunc(t.list, func(t made) bool { return t.number == number && !t.gone() })
	if i < 0 {
		return nil
	}
	return &t.list[i]
}

func (t *made) open(flags int) (int, error) {
	return unix.Open("/proc/self/fd/"+strconv.Itoa(t.ref), flags, 0)
}

// gone reports whether the ptmx side was closed.
func (t made) gone() bool {
	var st unix.Stat_t
	return unix.Fstat(t.ref, &st) != nil || st.Nlink == 0
}

// drop forgets the chosen terminals.
func (t *Terminals) drop(meant func(made) bool) {
	t.list = slices.DeleteFunc(t.list, func(t made) bool {
		if meant(t) {
			unix.Close(t.ref)
			return true
		}
		return false
	})
}
