//go:build linux

package attack

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mark is what an attack looks for in the memory of a bystander. The bystander is a copy of this
// process, so mark has the same address there.
var mark = [8]byte{'m', 'a', 'r', 'k', 'm', 'a', 'r', 'k'}

// onBystander runs f on another process of the same user.
func onBystander(f func(pid uintptr) error) func() error {
	return func() error {
		pid, end, err := bystander()
		if err != nil {
			return err
		}
		defer end()
		return f(uintptr(pid))
	}
}

// onPidfd runs f on a bystander's pidfd.
func onPidfd(f func(fd uintptr) error) func() error {
	return onBystander(func(pid uintptr) error {
		fd, err := unix.PidfdOpen(int(pid), 0)
		if err != nil {
			return fmt.Errorf("open a pidfd: %v", err)
		}
		defer unix.Close(fd)
		return f(uintptr(fd))
	})
}

func processes() []Attack {
	vm := func(number uintptr) func() error {
		return onBystander(func(pid uintptr) error {
			buf := mark
			local := unix.Iovec{Base: &buf[0], Len: 8}
			remote := unix.Iovec{Base: &mark[0], Len: 8}
			return call(number, pid, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
		})
	}
	cold := unix.Iovec{Base: &mark[0], Len: 0}
	zero := make([]uint64, 128)
	p := func(v *uint64) uintptr { return uintptr(unsafe.Pointer(v)) }
	nice := []Answer{needsRoot}
	return []Attack{
		{Name: "ptrace: attach to another process", Escape: "-", Want: unix.EPERM, Own: "notify", Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, pid, 0, 0)
		})},
		{Name: "ptrace: seize another process", Escape: "-", Want: unix.EPERM, Own: "notify", Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, pid, 0, 0)
		})},
		// Run it in a copy of the process: a thread of the victim would survive the victim, because
		// its parent would trace it.
		{Name: "ptrace: be traced", Escape: "-", Want: unix.EPERM, Own: "notify", Do: func() error {
			return forkAndCall(unix.SYS_PTRACE, unix.PTRACE_TRACEME)
		}},
		{Name: "process_vm_readv", Escape: "-", Want: unix.EPERM, Own: "notify", Do: vm(unix.SYS_PROCESS_VM_READV)},
		{Name: "process_vm_writev", Escape: "-", Want: unix.EPERM, Own: "notify", Do: vm(unix.SYS_PROCESS_VM_WRITEV)},
		{Name: "process_madvise", Escape: "-", Want: unix.EPERM, Bare: nice, Do: onPidfd(func(fd uintptr) error {
			return call(unix.SYS_PROCESS_MADVISE, fd, uintptr(unsafe.Pointer(&cold)), 1, unix.MADV_COLD, 0)
		})},
		{Name: "process_mrelease", Escape: "-", Want: unix.EPERM, Bare: []Answer{{unix.EINVAL, "only of a process that is dying"}}, Do: onPidfd(func(fd uintptr) error {
			return call(unix.SYS_PROCESS_MRELEASE, fd, 0)
		})},
		{Name: "pidfd_getfd", Escape: "-", Want: unix.EPERM, Do: onPidfd(func(fd uintptr) error {
			return call(unix.SYS_PIDFD_GETFD, fd, 1, 0)
		})},
		{Name: "kcmp", Escape: "-", Want: unix.EPERM, Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_KCMP, uintptr(unix.Getpid()), pid, 0, 1, 1)
		})},
		{Name: "move_pages of another process", Escape: "-", Want: unix.EPERM, Bare: []Answer{notBuiltIn}, Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_MOVE_PAGES, pid, 0, 0, 0, 0, 0)
		})},
		{Name: "migrate_pages of another process", Escape: "-", Want: unix.EPERM, Bare: []Answer{notBuiltIn}, Do: onBystander(func(pid uintptr) error {
			zero[0] = 1
			return call(unix.SYS_MIGRATE_PAGES, pid, 64, p(&zero[0]), p(&zero[0]))
		})},
		{Name: "setpriority of another process", Escape: "-", Want: unix.EPERM, Own: "pidns", Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, pid, 19)
		})},
		{Name: "setpriority, pid + 2^32", Escape: "-", Want: unix.EPERM, Own: "pidns", Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, pid|1<<32, 19)
		})},
		{Name: "setpriority of every process of the user", Escape: "-", Want: unix.EPERM,
			Bare: []Answer{{unix.ESRCH, "asked for a user that runs nothing, to leave this machine's processes alone"}}, Do: func() error {
				return call(unix.SYS_SETPRIORITY, unix.PRIO_USER, 4294000000, 0)
			}},
		{Name: "ioprio_set of another process", Escape: "-", Want: unix.EPERM, Own: "pidns", Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_IOPRIO_SET, 1, pid, 2<<13|7)
		})},
		{Name: "sched_setaffinity of another process", Escape: "-", Want: unix.EPERM, Own: "pidns", Do: onBystander(func(pid uintptr) error {
			zero[8] = 1
			return call(unix.SYS_SCHED_SETAFFINITY, pid, 8, p(&zero[8]))
		})},
		{Name: "sched_setscheduler of another process", Escape: "-", Want: unix.EPERM, Own: "pidns", Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_SCHED_SETSCHEDULER, pid, 3, p(&zero[16]))
		})},
		{Name: "sched_setparam of another process", Escape: "-", Want: unix.EPERM, Own: "pidns", Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_SCHED_SETPARAM, pid, p(&zero[16]))
		})},
		{Name: "sched_setattr of another process", Escape: "-", Want: unix.EPERM, Own: "pidns", Do: onBystander(func(pid uintptr) error {
			zero[32], zero[34] = 48, 19 // struct sched_attr: its size, the normal policy, the highest nice value
			return call(unix.SYS_SCHED_SETATTR, pid, p(&zero[32]), 0)
		})},
		{Name: "prlimit64 of another process", Escape: "-", Want: unix.EPERM, Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_PRLIMIT64, pid, unix.RLIMIT_CORE, p(&zero[64]), 0)
		})},
		{Name: "prlimit64, pid + 2^32", Escape: "-", Want: unix.EPERM, Do: onBystander(func(pid uintptr) error {
			return call(unix.SYS_PRLIMIT64, pid|1<<32, unix.RLIMIT_CORE, p(&zero[64]), 0)
		})},
	}
}
