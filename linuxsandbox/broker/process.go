//go:build linux

package broker

import (
	"slices"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Calls on the scheduling and the limits of a process take its number in a register, which no
// other thread can change while the call waits. So they may proceed where the number can only
// mean a process of the command:
//
//	the caller's process or thread   it lives until the call returns, so the number
//	                                 cannot pass to another process
//	any, in a PID namespace          the number means a process of the namespace, or
//	                                 none: one of the command, or the keeper
//
// A call on the keeper is denied. Without a PID namespace a call on a child is denied too: the
// child may end meanwhile, and its number may pass to any process of the user.

// process answers one of those calls.
func (h *command) process(n *notify.Notification, c *calls.Process) notify.Reply {
	who := int(int32(n.Args[c.Number]))
	if who < 0 {
		return notify.Failed(unix.ESRCH)
	}
	process, thread := kernel.InsideNumbers(int(n.TID))
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	switch {
	case who == process || who == thread:
		return h.rules.Proceed(notify.ByCaller)
	case h.rules.Has(notify.ByProcesses) && !h.isKeeper(who):
		return h.rules.Proceed(notify.ByProcesses)
	}
	h.log.record(n, sandbox.Denial{Kind: sandbox.KindSyscall, Operation: c.Name, Target: c.Name, Errno: "EPERM"})
	return notify.Failed(unix.EPERM)
}

// Landlock keeps each trace inside the domain of one command (hook_ptrace_access_check): it reaches
// no other command, no file worker, no program of the host and not the keeper, which is in no domain.
// The one exception is a child of the keeper that asks to be traced by its parent. The keeper waits
// for it and would take its stops for ends.

// traces reports whether the call begins a trace of a process of this command, or moves memory to or
// from one, for which the kernel asks the same of Landlock.
func (h *command) traces(n *notify.Notification) bool {
	who := int(int32(n.Args[0]))
	switch {
	case n.NR == unix.SYS_PTRACE && who == unix.PTRACE_TRACEME:
		parent := callerOf(n.TID).parent
		return parent > 1 && parent != h.log.keeper
	case n.NR == unix.SYS_PTRACE:
		who = int(int32(n.Args[1]))
	case n.NR != unix.SYS_PROCESS_VM_READV && n.NR != unix.SYS_PROCESS_VM_WRITEV:
		return false
	}
	switch {
	case who <= 0:
		return false
	case h.rules.Has(notify.ByProcesses) && n.NR != unix.SYS_PTRACE:
		return !h.isKeeper(who)
	case h.rules.Has(notify.ByProcesses):
		return slices.ContainsFunc(kernel.Descendants(h.log.keeper)(kernel.Processes()), func(p kernel.Process) bool {
			tids, _ := threadsOf(p.PID)
			return slices.ContainsFunc(tids, func(tid int) bool {
				_, inside := kernel.InsideNumbers(tid)
				return inside == who
			})
		})
	}
	for c := callerOf(uint32(who)); c.parent > 1; c = callerOf(uint32(c.parent)) {
		if c.parent == h.log.keeper {
			return true
		}
	}
	return false
}

// isKeeper reports whether number is the keeper or one of its threads in the command's PID
// namespace. It is true where that cannot be looked up.
func (h *command) isKeeper(number int) bool {
	tids, err := threadsOf(h.log.keeper)
	if err != nil {
		return true
	}
	for _, tid := range tids {
		if _, inside := kernel.InsideNumbers(tid); inside == number || inside == 0 {
			return true
		}
	}
	return false
}

// refuseCall denies a call that is never allowed, and records it.
func (h *command) refuseCall(n *notify.Notification, c *calls.Refused) notify.Reply {
	d := &sandbox.Denial{Kind: sandbox.KindSyscall, Operation: c.Name, Target: c.Name, Errno: "EPERM"}
	switch caps := c.Needs(n); {
	case caps == 0:
	case caps&h.rights.dropped != 0:
		d.Kind = sandbox.KindCapability
	default:
		d.Moot, d.MootReason = true, sandbox.MootPermissions
	}
	h.log.record(n, *d)
	return notify.Failed(unix.EPERM)
}
