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

// With mounts a command has a /dev/pts of its own. Without them the terminals of the
// machine stand in one folder, the user's among them, and Landlock can open all of
// it or none. So the broker makes the terminals that the command asks for:
//
//	open("/dev/ptmx")   the broker opens it, keeps a reference to the far end
//	                    (TIOCGPTPEER) and hands the near end in
//	open("/dev/pts/3")  the far end that the broker has under that number, opened by
//	                    the reference
//
// A name is never looked up. When the near end is closed the kernel takes the far
// end's folder entry down (devpts_pty_kill), and an open by the reference fails with
// EIO, whoever has the number then. So no other terminal is reached.

// maxTerminals bounds the terminals of one command: all users share the machine's.
const maxTerminals = 64

// madeTerminal is the far end of a terminal that the broker, or codeagent, made.
type madeTerminal struct{ number, ref int }

// terminals are those of one command outside of a /dev/pts of its own.
type terminals struct {
	list []madeTerminal
	// ownPTS: the command has a /dev/pts of its own. ownSession: no terminal of the
	// user can be the controlling one.
	ownPTS, ownSession bool
	takes              sockets.Taking
	judge              *judge
	walk               *pathwalk.Walker
	log                *evidence
}

// addTerminal takes up the terminal that codeagent made for the command. Where there
// is no reference to be had it is treated as anybody's.
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

// openTerminal answers an open for writing of a terminal. done is false where it is
// none of the command's own.
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

// makeTerminal opens a new terminal.
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
		return notify.Failed(unix.ENODEV) // no terminal
	}
	ref, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(near), unix.TIOCGPTPEER, unix.O_PATH|unix.O_CLOEXEC)
	if errno != 0 {
		return notify.Failed(errno)
	}
	t.list = append(t.list, madeTerminal{number, int(ref)})
	return n.Give(near, o.cloexec())
}

// terminalFlags never make a terminal codeagent's own: a command makes it its own by
// TIOCSCTTY.
func (o *opening) terminalFlags() int {
	return int(o.flags&(unix.O_ACCMODE|unix.O_NONBLOCK)) | unix.O_NOCTTY | unix.O_CLOEXEC
}

// terminalNumbered is the one with that number, or nil.
func (t *terminals) terminalNumbered(number int) *madeTerminal {
	i := slices.IndexFunc(t.list, func(t madeTerminal) bool { return t.number == number && !t.gone() })
	if i < 0 {
		return nil
	}
	return &t.list[i]
}

// open opens the far end.
func (t *madeTerminal) open(flags int) (int, error) {
	return unix.Open("/proc/self/fd/"+strconv.Itoa(t.ref), flags, 0)
}

// gone reports whether the near end was closed.
func (t madeTerminal) gone() bool {
	var st unix.Stat_t
	return unix.Fstat(t.ref, &st) != nil || st.Nlink == 0
}

// dropTerminals forgets the terminals that are meant.
func (t *terminals) dropTerminals(meant func(madeTerminal) bool) {
	t.list = slices.DeleteFunc(t.list, func(t madeTerminal) bool {
		if meant(t) {
			unix.Close(t.ref)
			return true
		}
		return false
	})
}
