//go:build linux

package broker

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/kernel"

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

// madeTerminal is the terminal side of a pair that the broker or codeagent made.
type madeTerminal struct{ number, ref int }

// terminals are the terminals of one command that has no /dev/pts of its own.
type terminals struct {
	list []madeTerminal
	// ownPTS: the command has a /dev/pts of its own. ownSession: the controlling terminal is
	// not one of the user's.
	ownPTS, ownSession bool
	takes              sockets.Taking
	judge              *judge
	walk               *pathwalk.Walker
	log                *evidence
}

// addTerminal adds the terminal that codeagent made for the command. If no reference to it can
// be opened, it is treated like any terminal.
func (t *terminals) addTerminal(far *os.File) {
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
		t.list = append(t.list, madeTerminal{int(unix.Minor(st.Rdev)), ref})
	})
}

// openTerminal answers an open of a terminal for writing. done is false if the terminal is not
// one of the command's own.
func (t *terminals) openTerminal(n *notify.Notification, o *opening) (a notify.Reply, done bool) {
	path := o.name.Path
	const others = openTmpfile | unix.O_EXCL | unix.O_DIRECTORY
	if t.walk.Mounts != nil || !strings.HasPrefix(path, kernel.DevDir+"/pt") || o.flags&others != 0 || o.resolve != 0 ||
		t.judge.policy.JudgeWrite(path).Allowed || !n.Waits() {
		return notify.Reply{}, false
	}
	if path == kernel.Ptmx || path == kernel.PtsDir+"/ptmx" {
		return t.makeTerminal(n, o), true
	}
	number, err := strconv.Atoi(strings.TrimPrefix(path, kernel.PtsDir+"/"))
	own := t.terminalNumbered(number)
	if err != nil || own == nil {
		return notify.Reply{}, false
	}
	fd, err := own.open(o.terminalFlags())
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	defer unix.Close(fd)
	return n.Give(fd, o.cloexec()), true
}

// makeTerminal opens a new pair.
func (t *terminals) makeTerminal(n *notify.Notification, o *opening) notify.Reply {
	t.dropTerminals(madeTerminal.gone)
	if len(t.list) >= maxTerminals {
		return notify.Failed(unix.ENOSPC)
	}
	near, err := unix.Open(kernel.Ptmx, o.terminalFlags(), 0)
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
	t.list = append(t.list, madeTerminal{number, int(ref)})
	return n.Give(near, o.cloexec())
}

// terminalFlags include O_NOCTTY, so that no terminal becomes codeagent's controlling
// terminal. A command sets its own with TIOCSCTTY.
func (o *opening) terminalFlags() int {
	return int(o.flags&(unix.O_ACCMODE|unix.O_NONBLOCK)) | unix.O_NOCTTY | unix.O_CLOEXEC
}

// terminalNumbered returns the terminal with that number, or nil.
func (t *terminals) terminalNumbered(number int) *madeTerminal {
	i := slices.IndexFunc(t.list, func(t madeTerminal) bool { return t.number == number && !t.gone() })
	if i < 0 {
		return nil
	}
	return &t.list[i]
}

func (t *madeTerminal) open(flags int) (int, error) {
	return unix.Open("/proc/self/fd/"+strconv.Itoa(t.ref), flags, 0)
}

// gone reports whether the ptmx side was closed.
func (t madeTerminal) gone() bool {
	var st unix.Stat_t
	return unix.Fstat(t.ref, &st) != nil || st.Nlink == 0
}

// dropTerminals forgets the chosen terminals.
func (t *terminals) dropTerminals(meant func(madeTerminal) bool) {
	t.list = slices.DeleteFunc(t.list, func(t madeTerminal) bool {
		if meant(t) {
			unix.Close(t.ref)
			return true
		}
		return false
	})
}
