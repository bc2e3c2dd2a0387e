//go:build linux

package attack

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel returns the calls by which exploits attack the kernel, or learn about other processes.
func kernel() []Attack {
	perf := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	// This is union bpf_attr for BPF_MAP_CREATE: an array with one element, and keys and values of
	// 4 bytes.
	array := [18]uint32{2, 4, 4, 1}
	return []Attack{
		{Name: "bpf", Escape: "-", Want: unix.EPERM, Bare: []Answer{needsRoot}, Do: func() error {
			return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&array)), unsafe.Sizeof(array))
		}},
		{Name: "perf_event_open", Escape: "-", Want: unix.EPERM, Bare: []Answer{{unix.EACCES, "the sysctl perf_event_paranoid is above 2"}, notBuiltIn, {unix.ENOENT, "no such counter here"}}, Do: func() error {
			return call(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&perf)), 0, ^uintptr(0), ^uintptr(0), 0)
		}},
		{Name: "userfaultfd", Escape: "E58", Want: unix.EPERM, Bare: []Answer{notBuiltIn}, Do: func() error {
			const userModeOnly = 1
			return call(unix.SYS_USERFAULTFD, userModeOnly)
		}},
		{Name: "userfaultfd by its device", Escape: "E58", Want: unix.EPERM,
			Bare: []Answer{{unix.EBADF, "the device is root's"}}, Do: func() error {
				fd, err := unix.Open("/dev/userfaultfd", unix.O_RDWR|unix.O_CLOEXEC, 0)
				if err != nil {
					fd = -1
				}
				return call(unix.SYS_IOCTL, uintptr(fd), 0xaa00, 0)
			}},
		{Name: "personality: ADDR_NO_RANDOMIZE", Escape: "-", Want: unix.EPERM, Do: func() error {
			return call(unix.SYS_PERSONALITY, 0x0040000)
		}},
		{Name: "personality: READ_IMPLIES_EXEC + 2^32", Escape: "-", Want: unix.EPERM, Do: func() error {
			return call(unix.SYS_PERSONALITY, 0x0400000|1<<32)
		}},
	}
}

// keys uses the session keyring, which the shell that started codeagent shares. It unlinks what it
// adds.
func keys() []Attack {
	const sessionKeyring = ^uintptr(2) // KEY_SPEC_SESSION_KEYRING, -3
	kind, text := uintptr(unsafe.Pointer(cstring("user"))), uintptr(unsafe.Pointer(cstring("codeagent:attack")))
	add := func() (uintptr, error) {
		return value(unix.SYS_ADD_KEY, kind, text, text, 4, sessionKeyring)
	}
	unlink := func(key uintptr) { _ = call(unix.SYS_KEYCTL, unix.KEYCTL_UNLINK, key, sessionKeyring) }
	none := []Answer{notBuiltIn}
	return []Attack{
		{Name: "keyctl: session keyring", Escape: "E58", Want: unix.EPERM, Bare: none, Do: func() error {
			return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, sessionKeyring, 0)
		}},
		{Name: "add_key", Escape: "E58", Want: unix.EPERM, Bare: none, Do: func() error {
			key, err := add()
			if err == nil {
				unlink(key)
			}
			return err
		}},
		{Name: "request_key", Escape: "E58", Want: unix.EPERM, Bare: none, Do: func() error {
			key, err := add()
			if err == nil {
				defer unlink(key)
			}
			return call(unix.SYS_REQUEST_KEY, kind, text, 0, 0)
		}},
	}
}

func sharedMemory() []Attack {
	const private, remove = 0, 0 // IPC_PRIVATE, IPC_RMID
	made := func(make, control uintptr, args ...uintptr) func() error {
		return func() error {
			id, err := value(make, append([]uintptr{private}, args...)...)
			if err == nil && control == unix.SYS_SEMCTL {
				_ = call(control, id, 0, remove, 0)
			} else if err == nil {
				_ = call(control, id, remove, 0)
			}
			return err
		}
	}
	none := []Answer{notBuiltIn}
	guessed := append(none, Answer{unix.EINVAL, "asked with an id that nobody has"})
	name := uintptr(unsafe.Pointer(cstring("codeagent-attack")))
	const mode, create = 0o600, unix.O_RDWR | unix.O_CREAT
	return []Attack{
		{Name: "shmget", Escape: "-", Want: unix.EPERM, Own: "mountns", Bare: none, Do: made(unix.SYS_SHMGET, unix.SYS_SHMCTL, 4096, mode)},
		{Name: "semget", Escape: "-", Want: unix.EPERM, Own: "mountns", Bare: none, Do: made(unix.SYS_SEMGET, unix.SYS_SEMCTL, 1, mode)},
		{Name: "msgget", Escape: "-", Want: unix.EPERM, Own: "mountns", Bare: none, Do: made(unix.SYS_MSGGET, unix.SYS_MSGCTL, mode)},
		{Name: "shmat of a guessed segment", Escape: "-", Want: unix.EPERM, Own: "mountns", Bare: guessed, Do: func() error {
			id, err := value(unix.SYS_SHMGET, private, 4096, mode)
			if err != nil {
				id = 1<<31 - 1
			}
			defer call(unix.SYS_SHMCTL, id, remove, 0)
			return call(unix.SYS_SHMAT, id, 0, 0)
		}},
		{Name: "semop on a guessed set", Escape: "-", Want: unix.EPERM, Own: "mountns", Bare: guessed, Do: func() error {
			op := [3]int16{0, 1, unix.IPC_NOWAIT}
			return call(unix.SYS_SEMOP, 1<<31-1, uintptr(unsafe.Pointer(&op)), 1)
		}},
		{Name: "msgrcv from a guessed queue", Escape: "-", Want: unix.EPERM, Own: "mountns", Bare: guessed, Do: func() error {
			var buf [32]byte
			return call(unix.SYS_MSGRCV, 1<<31-1, uintptr(unsafe.Pointer(&buf)), 8, 0, unix.IPC_NOWAIT)
		}},
		{Name: "mq_open", Escape: "-", Want: unix.EPERM, Bare: none, Do: func() error {
			err := call(unix.SYS_MQ_OPEN, name, create, mode, 0)
			_ = call(unix.SYS_MQ_UNLINK, name)
			return err
		}},
	}
}

// wholeMachine returns the calls that change the machine for everybody. Each has an argument with which
// a successful call would change nothing.
func wholeMachine() []Attack {
	root := []Answer{needsRoot}
	empty := uintptr(unsafe.Pointer(cstring("")))
	missing := uintptr(unsafe.Pointer(cstring("/nonexistent/file")))
	attacks := []Attack{
		{Name: "settimeofday", Do: func() error { return call(unix.SYS_SETTIMEOFDAY, 0, 0) }},
		{Name: "clock_settime", Bare: []Answer{{unix.EINVAL, "asked for an invalid time"}}, Do: func() error {
			none := unix.Timespec{Nsec: -1}
			return call(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&none)))
		}},
		{Name: "adjtimex", Do: func() error {
			var t unix.Timex
			return call(unix.SYS_ADJTIMEX, uintptr(unsafe.Pointer(&t)))
		}},
		{Name: "clock_adjtime", Do: func() error {
			var t unix.Timex
			return call(unix.SYS_CLOCK_ADJTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&t)))
		}},
		{Name: "syslog", Do: func() error { return call(unix.SYS_SYSLOG, 10, 0, 0) }},
		{Name: "acct", Bare: []Answer{{unix.ENOENT, "asked with a file that is not there"}, notBuiltIn}, Do: func() error { return call(unix.SYS_ACCT, missing) }},
		{Name: "swapon", Bare: []Answer{{unix.ENOENT, "asked with a file that is not there"}, notBuiltIn}, Do: func() error { return call(unix.SYS_SWAPON, missing, 0) }},
		{Name: "swapoff", Bare: []Answer{{unix.ENOENT, "asked with a file that is not there"}, notBuiltIn}, Do: func() error { return call(unix.SYS_SWAPOFF, missing) }},
		{Name: "reboot", Bare: []Answer{{unix.EINVAL, "asked without the magic numbers"}}, Do: func() error { return call(unix.SYS_REBOOT, 0, 0, 0, 0) }},
		{Name: "sethostname", Bare: []Answer{{unix.EINVAL, "asked with a length below zero"}}, Do: func() error { return call(unix.SYS_SETHOSTNAME, empty, ^uintptr(0)) }},
		{Name: "setdomainname", Bare: []Answer{{unix.EINVAL, "asked with a length below zero"}}, Do: func() error { return call(unix.SYS_SETDOMAINNAME, empty, ^uintptr(0)) }},
		{Name: "init_module", Bare: []Answer{notBuiltIn, {unix.ENOEXEC, "asked with no module"}}, Do: func() error { return call(unix.SYS_INIT_MODULE, empty, 0, empty) }},
		{Name: "finit_module", Bare: []Answer{notBuiltIn, {unix.EBADF, "asked with no module"}}, Do: func() error { return call(unix.SYS_FINIT_MODULE, ^uintptr(0), empty, 0) }},
		{Name: "delete_module", Bare: []Answer{notBuiltIn, {unix.ENOENT, "asked with no module"}}, Do: func() error { return call(unix.SYS_DELETE_MODULE, empty, 0) }},
		{Name: "kexec_load", Bare: []Answer{notBuiltIn, {unix.EINVAL, "asked with nothing to load"}}, Do: func() error { return call(unix.SYS_KEXEC_LOAD, 0, 1<<20, 0, 1<<30) }},
	}
	if runtime.GOARCH == "amd64" {
		const iopl, ioperm = 172, 173
		attacks = append(attacks,
			Attack{Name: "iopl", Bare: []Answer{notBuiltIn}, Do: func() error { return call(iopl, 3) }},
			Attack{Name: "ioperm", Bare: []Answer{notBuiltIn}, Do: func() error { return call(ioperm, 0x80, 1, 1) }})
	}
	for i := range attacks {
		attacks[i].Escape, attacks[i].Want = "-", unix.EPERM
		attacks[i].Bare = append(attacks[i].Bare, root...)
	}
	return attacks
}
