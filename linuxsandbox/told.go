//go:build linux

package linuxsandbox

import (
	"codeagent/sandbox"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// Calls about other things than files that no policy permits. The filter refuses
// them by itself; with a broker it asks, so that they are known. Left out are
// those that ordinary programs try in passing and do well without.

// toldCall is one of them.
type toldCall struct {
	nr   int
	name string
	// caps are the capabilities of which one is needed without a sandbox too, 0:
	// none is.
	caps uint64
	// flags is the argument with the namespaces to be made, none when -1: without
	// a user namespace among them they take CAP_SYS_ADMIN.
	flags int
}

const (
	capsAdmin  = 1 << unix.CAP_SYS_ADMIN
	capsModule = 1 << unix.CAP_SYS_MODULE
	capsBoot   = 1 << unix.CAP_SYS_BOOT
	capsTime   = 1 << unix.CAP_SYS_TIME
)

var toldCalls = []toldCall{
	{unix.SYS_PTRACE, "ptrace", 0, none},
	{unix.SYS_PROCESS_VM_READV, "process_vm_readv", 0, none},
	{unix.SYS_PROCESS_VM_WRITEV, "process_vm_writev", 0, none},
	{unix.SYS_PIDFD_GETFD, "pidfd_getfd", 0, none},
	{unix.SYS_UNSHARE, "unshare", 0, 0},
	{unix.SYS_CLONE, "clone", 0, 0},
	{unix.SYS_SETNS, "setns", capsAdmin, none},
	{unix.SYS_MOUNT, "mount", capsAdmin, none},
	{unix.SYS_UMOUNT2, "umount2", capsAdmin, none},
	{unix.SYS_PIVOT_ROOT, "pivot_root", capsAdmin, none},
	{unix.SYS_CHROOT, "chroot", 1 << unix.CAP_SYS_CHROOT, none},
	{unix.SYS_OPEN_TREE, "open_tree", capsAdmin, none},
	{unix.SYS_MOVE_MOUNT, "move_mount", capsAdmin, none},
	{unix.SYS_FSOPEN, "fsopen", capsAdmin, none},
	{unix.SYS_FSMOUNT, "fsmount", capsAdmin, none},
	{unix.SYS_MOUNT_SETATTR, "mount_setattr", capsAdmin, none},
	{unix.SYS_OPEN_BY_HANDLE_AT, "open_by_handle_at", 1 << unix.CAP_DAC_READ_SEARCH, none},
	{unix.SYS_BPF, "bpf", 1<<unix.CAP_BPF | capsAdmin, none},
	{unix.SYS_PERF_EVENT_OPEN, "perf_event_open", 0, none},
	{unix.SYS_USERFAULTFD, "userfaultfd", 0, none},
	{unix.SYS_KEYCTL, "keyctl", 0, none},
	{unix.SYS_ADD_KEY, "add_key", 0, none},
	{unix.SYS_REQUEST_KEY, "request_key", 0, none},
	{unix.SYS_SHMGET, "shmget", 0, none},
	{unix.SYS_SEMGET, "semget", 0, none},
	{unix.SYS_MSGGET, "msgget", 0, none},
	{unix.SYS_MQ_OPEN, "mq_open", 0, none},
	{unix.SYS_INIT_MODULE, "init_module", capsModule, none},
	{unix.SYS_FINIT_MODULE, "finit_module", capsModule, none},
	{unix.SYS_DELETE_MODULE, "delete_module", capsModule, none},
	{unix.SYS_REBOOT, "reboot", capsBoot, none},
	{unix.SYS_SWAPON, "swapon", capsAdmin, none},
	{unix.SYS_SWAPOFF, "swapoff", capsAdmin, none},
	{unix.SYS_SETHOSTNAME, "sethostname", capsAdmin, none},
	{unix.SYS_SETTIMEOFDAY, "settimeofday", capsTime, none},
	{unix.SYS_CLOCK_SETTIME, "clock_settime", capsTime, none},
}

// toldCallOf is the call with that number, or nil.
func toldCallOf(nr int32) *toldCall {
	for i := range toldCalls {
		if toldCalls[i].nr == int(nr) {
			return &toldCalls[i]
		}
	}
	return nil
}

// refusedCalls answers them.
type refusedCalls struct {
	rights *rights
	log    *evidence
}

// refuse refuses a call and writes it down.
func (h *refusedCalls) refuse(n *notify.Notification, c *toldCall) notify.Reply {
	d := &sandbox.Denial{Kind: sandbox.KindSyscall, Operation: c.name, Target: c.name, Errno: "EPERM"}
	caps := c.caps
	if c.flags != none && n.Args[c.flags]&unix.CLONE_NEWUSER == 0 {
		caps = capsAdmin
	}
	switch {
	case caps == 0:
	case caps&h.rights.dropped != 0:
		d.Kind = sandbox.KindCapability
	default:
		d.Moot, d.MootReason = true, sandbox.MootPermissions
	}
	h.log.record(n, *d)
	return notify.Failed(unix.EPERM)
}
