//go:build linux

package broker

import (
	"slices"
	"strconv"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/filter"
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
	return h.refuseCall(n, sandbox.Denial{Kind: sandbox.KindSyscall, Operation: c.Name, Target: c.Name}, 0)
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
	return h.ownProcess(who)
}

// ownProcess reports whether a process, by its number outside a PID namespace, is one of the command.
func (h *command) ownProcess(pid int) bool {
	for c := callerOf(uint32(pid)); c.parent > 1; c = callerOf(uint32(c.parent)) {
		if c.parent == h.log.keeper {
			return true
		}
	}
	return false
}

// reservedPIDs are the first numbers of a system, which it gives once and to what it starts itself
// (RESERVED_PIDS of kernel/pid.c).
const reservedPIDs = 300

// noteSignal records a signal for a process that the user may signal and the command may not. In a PID
// namespace the kernel finds no process of that number. Numbers that the command has used up mean its own
// processes that have ended: about as many as it has now and has reported as ended, and reservedPIDs more,
// for threads use numbers too and an end is reported late.
func (h *command) noteSignal(n *notify.Notification, who int) {
	d := sandbox.Denial{Kind: sandbox.KindSignal, Operation: "kill", Target: "process " + strconv.Itoa(who), Errno: "EPERM"}
	if who <= 1 || !h.log.sees() || unix.Kill(who, 0) != nil {
		return
	}
	if h.rules.Has(notify.ByProcesses) {
		d.Errno = "ESRCH"
		_, used := kernel.InsideNumbers(int(n.TID))
		used += reservedPIDs + h.log.ended + len(kernel.Descendants(h.log.keeper)(kernel.Processes()))
		if _, err := h.walk.Lstat(n, kernel.ProcDir+"/"+strconv.Itoa(who)); who <= used || err != unix.ENOENT {
			return
		}
	} else if h.ownProcess(who) {
		return
	}
	if name := commOf(who); name != "" {
		d.Target += " (" + name + ")"
	}
	h.log.record(n, d)
}

// notePrivileges records that a program failed without the privileges that its file gives: no_new_privs is
// set, and what the program then lacks it meets in many ways, also in calls that nobody sees.
func (h *command) notePrivileges(n *notify.Notification) {
	if n.Args[0]&0xff == 0 || !h.log.sees() {
		return
	}
	fd, err := pathwalk.OpenProc(int(n.TID), "exe", 0)
	if err != nil {
		h.log.lost = h.log.lost || err == unix.EACCES || err == unix.EPERM // its file may not be read, as sudo's on some systems
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var at unix.Statfs_t
	if unix.Fstat(fd, &st) != nil || unix.Fstatfs(fd, &at) != nil || at.Flags&unix.ST_NOSUID != 0 {
		return
	}
	size, err := unix.Getxattr("/proc/self/fd/"+strconv.Itoa(fd), "security.capability", nil)
	user := st.Mode&unix.S_ISUID != 0 && (int(st.Uid) != unix.Geteuid() || h.rights.dropped != 0)
	group := st.Mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID|unix.S_IXGRP && !ownGroup(int(st.Gid))
	if user || group || err == nil && size > 0 {
		h.log.record(n, sandbox.Denial{Kind: sandbox.KindCapability, Operation: "execve", Target: h.walk.HostPath(fd)})
	}
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

// refuseSocket denies a socket, or a pair of them, that no policy opens. Where the session has no network of
// its own, it is one of the host's network, whose address is still unknown: connect(2) would have named it.
func (h *command) refuseSocket(n *notify.Notification, call string) notify.Reply {
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: call, Target: "raw"}
	family, kind := int(uint32(n.Args[0])), n.Args[1]&filter.SocketType
	switch {
	case family == unix.AF_UNIX:
		d.Kind, d.Target = sandbox.KindSocket, "unix datagram"
	case family == unix.AF_NETLINK:
		d.Target = "netlink"
	case !slices.Contains([]int{unix.AF_INET, unix.AF_INET6, unix.AF_PACKET}, family): // as on a kernel without it: programs fall back
		d.Target, d.Errno = "family "+strconv.Itoa(family), "EAFNOSUPPORT"
		h.log.record(n, d)
		return notify.Failed(unix.EAFNOSUPPORT)
	case family == unix.AF_PACKET, kind != unix.SOCK_STREAM && kind != unix.SOCK_DGRAM:
		return h.refuseCall(n, d, 1<<unix.CAP_NET_RAW)
	case kind == unix.SOCK_STREAM:
		d.Target = "tcp"
	default:
		d.Target = "udp"
	}
	return h.refuseCall(n, d, 0)
}

// refuseCall denies a call that is never allowed, and records it. Without a sandbox it needs any one of caps.
func (h *command) refuseCall(n *notify.Notification, d sandbox.Denial, caps uint64) notify.Reply {
	d.Errno = "EPERM"
	switch {
	case caps == 0:
	case caps&h.rights.dropped != 0:
		d.Kind = sandbox.KindCapability
	default:
		d.Moot, d.MootReason = true, sandbox.MootPermissions
	}
	h.log.record(n, d)
	return notify.Failed(unix.EPERM)
}
