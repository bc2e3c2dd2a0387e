//go:build linux

package attack

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// These requests of linux/kd.h are missing in x/sys.
const (
	kdGetKey  = 0x4b46 // KDGKBENT
	kdSetKey  = 0x4b47 // KDSKBENT
	kdGetText = 0x4b48 // KDGKBSENT
	kdSetText = 0x4b49 // KDSKBSENT
)

func terminals() []Attack {
	push := byte('x')
	shift := [2]byte{6}     // TIOCL_GETSHIFTSTATE: changes nothing
	discipline := int32(27) // N_NULL (linux/tty.h)
	typing := []Answer{{unix.EIO, "the sysctl dev.tty.legacy_tiocsti is 0"}, {unix.EPERM, "not this process's own terminal"}}
	noConsole := []Answer{{unix.ENOTTY, "there is no console here"}, {unix.EINVAL, "there is no console here"}, needsRoot}
	on := func(name string, in Stdin, bare []Answer, request uintptr, arg unsafe.Pointer) Attack {
		return Attack{Name: name, Escape: "E40", Want: unix.EPERM, Stdin: in, Bare: bare,
			Do: func() error { return call(unix.SYS_IOCTL, 0, request, uintptr(arg)) }}
	}
	// same sets the value that it has read, so the console does not change.
	same := func(name string, get, set uintptr) Attack {
		return Attack{Name: name, Escape: "E40", Want: unix.EPERM, Stdin: StdinConsole, Bare: noConsole, Do: func() error {
			var entry [520]byte
			_ = call(unix.SYS_IOCTL, 0, get, uintptr(unsafe.Pointer(&entry)))
			return call(unix.SYS_IOCTL, 0, set, uintptr(unsafe.Pointer(&entry)))
		}}
	}
	return []Attack{
		on("ioctl: TIOCSTI", StdinTerminal, typing, unix.TIOCSTI, unsafe.Pointer(&push)),
		on("ioctl: TIOCSTI + 2^32", StdinTerminal, typing, unix.TIOCSTI|1<<32, unsafe.Pointer(&push)),
		on("ioctl: TIOCSTI + 2^63", StdinTerminal, typing, unix.TIOCSTI|1<<63, unsafe.Pointer(&push)),
		on("ioctl: TIOCLINUX", StdinConsole, noConsole, unix.TIOCLINUX, unsafe.Pointer(&shift)),
		on("ioctl: TIOCLINUX + 2^32", StdinConsole, noConsole, unix.TIOCLINUX|1<<32, unsafe.Pointer(&shift)),
		on("ioctl: TIOCSETD", StdinTerminal, []Answer{{unix.EINVAL, "this kernel lacks that line discipline"}}, unix.TIOCSETD, unsafe.Pointer(&discipline)),
		{Name: "ioctl: TIOCCONS", Escape: "E40", Want: unix.EPERM,
			Bare: []Answer{{unix.ENOTTY, "asked on /dev/null: on a terminal it would take this machine's console"}},
			Do:   func() error { return call(unix.SYS_IOCTL, 0, unix.TIOCCONS, 0) }},
		same("ioctl: KDSKBENT", kdGetKey, kdSetKey),
		same("ioctl: KDSKBSENT", kdGetText, kdSetText),
	}
}
