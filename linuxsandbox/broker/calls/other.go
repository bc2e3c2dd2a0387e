//go:build linux

package calls

import (
	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// This table has the calls, other than on files, that no policy permits. The filter alone would
// deny them. With a broker it asks, so that the denial is recorded. The table leaves out calls
// that ordinary programs try and do not need.

// RefusedCall is a call that is always denied.
type RefusedCall struct {
	NR   int
	Name string
	// caps are the capabilities, any one of which the call needs without a sandbox
	// too. 0: it needs none.
	caps uint64
}

const (
	capsAdmin  = 1 << unix.CAP_SYS_ADMIN
	capsModule = 1 << unix.CAP_SYS_MODULE
	capsBoot   = 1 << unix.CAP_SYS_BOOT
	capsTime   = 1 << unix.CAP_SYS_TIME
)

// RefusedCalls are the calls that are always denied.
var RefusedCalls = []RefusedCall{
	{unix.SYS_PTRACE, "ptrace", 0},
	{unix.SYS_PROCESS_VM_READV, "process_vm_readv", 0},
	{unix.SYS_PROCESS_VM_WRITEV, "process_vm_writev", 0},
	{unix.SYS_PIDFD_GETFD, "pidfd_getfd", 0},
	{unix.SYS_UNSHARE, "unshare", 0},
	{unix.SYS_CLONE, "clone", 0},
	{unix.SYS_SETNS, "setns", capsAdmin},
	{unix.SYS_MOUNT, "mount", capsAdmin},
	{unix.SYS_UMOUNT2, "umount2", capsAdmin},
	{unix.SYS_PIVOT_ROOT, "pivot_root", capsAdmin},
	{unix.SYS_CHROOT, "chroot", 1 << unix.CAP_SYS_CHROOT},
	{unix.SYS_OPEN_TREE, "open_tree", capsAdmin},
	{unix.SYS_MOVE_MOUNT, "move_mount", capsAdmin},
	{unix.SYS_FSOPEN, "fsopen", capsAdmin},
	{unix.SYS_FSMOUNT, "fsmount", capsAdmin},
	{unix.SYS_MOUNT_SETATTR, "mount_setattr", capsAdmin},
	{unix.SYS_OPEN_BY_HANDLE_AT, "open_by_handle_at", 1 << unix.CAP_DAC_READ_SEARCH},
	{unix.SYS_BPF, "bpf", 1<<unix.CAP_BPF | capsAdmin},
	{unix.SYS_PERF_EVENT_OPEN, "perf_event_open", 0},
	{unix.SYS_USERFAULTFD, "userfaultfd", 0},
	{unix.SYS_KEYCTL, "keyctl", 0},
	{unix.SYS_ADD_KEY, "add_key", 0},
	{unix.SYS_REQUEST_KEY, "request_key", 0},
	{unix.SYS_SHMGET, "shmget", 0},
	{unix.SYS_SEMGET, "semget", 0},
	{unix.SYS_MSGGET, "msgget", 0},
	{unix.SYS_MQ_OPEN, "mq_open", 0},
	{unix.SYS_INIT_MODULE, "init_module", capsModule},
	{unix.SYS_FINIT_MODULE, "finit_module", capsModule},
	{unix.SYS_DELETE_MODULE, "delete_module", capsModule},
	{unix.SYS_REBOOT, "reboot", capsBoot},
	{unix.SYS_SWAPON, "swapon", capsAdmin},
	{unix.SYS_SWAPOFF, "swapoff", capsAdmin},
	{unix.SYS_SETHOSTNAME, "sethostname", capsAdmin},
	{unix.SYS_SETTIMEOFDAY, "settimeofday", capsTime},
	{unix.SYS_CLOCK_SETTIME, "clock_settime", capsTime},
	{unix.SYS_SYSLOG, "syslog", 1<<unix.CAP_SYSLOG | capsAdmin},
}

// RefusedOf returns the call with that number, or nil.
func RefusedOf(nr int32) *RefusedCall {
	return find(RefusedCalls, func(c *RefusedCall) bool { return c.NR == int(nr) })
}

// Needs returns the capabilities, any one of which this call needs without a sandbox too. 0: it
// needs none.
func (c *RefusedCall) Needs(n *notify.Notification) uint64 {
	if (c.NR == unix.SYS_UNSHARE || c.NR == unix.SYS_CLONE) && n.Args[0]&unix.CLONE_NEWUSER == 0 {
		return capsAdmin // for namespaces of another kind, unless a user namespace is made too
	}
	const size = 10 // SYSLOG_ACTION_SIZE_BUFFER
	if c.NR == unix.SYS_SYSLOG {
		if _, err := unix.Klogctl(size, nil); err == nil {
			return 0 // everybody may read the log (sysctl kernel.dmesg_restrict)
		}
	}
	return c.caps
}

// Process is a call on a process by its number. Number is the argument with that number.
type Process struct {
	nr     int
	Name   string
	Number int
}

// Processes are the calls on a process by its number.
var Processes = []Process{
	{unix.SYS_SETPRIORITY, "setpriority", 1},
	{unix.SYS_IOPRIO_SET, "ioprio_set", 1},
	{unix.SYS_PRLIMIT64, "prlimit64", 0},
	{unix.SYS_SCHED_SETPARAM, "sched_setparam", 0},
	{unix.SYS_SCHED_SETSCHEDULER, "sched_setscheduler", 0},
	{unix.SYS_SCHED_SETATTR, "sched_setattr", 0},
	{unix.SYS_SCHED_SETAFFINITY, "sched_setaffinity", 0},
}

// ProcessOf returns the call with that number, or nil.
func ProcessOf(nr int32) *Process {
	return find(Processes, func(c *Process) bool { return c.nr == int(nr) })
}
