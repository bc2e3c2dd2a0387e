//go:build linux

// Package processes answers calls that name a process, and denies what no policy opens and no file
// is named by. It looks at /proc and changes nothing.
package processes

import (
	"os"
	"slices"
	"strconv"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/evidence"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
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

// Calls answers calls that name a process.
type Calls struct {
	Forbidden
	rules  notify.Rules
	keeper int
	walk   Walk
}

// Walk finds files for it.
type Walk interface {
	Lstat(c pathwalk.Caller, path string) (unix.Stat_t, error)
	HostPath(fd int) string
}

// Log is the record of what it denies.
type Log interface {
	Record(n *notify.Notification, d sandbox.Denial)
	Sees() bool // calls are examined that fail without the broker
	Missed()    // something could not be seen
	Ends() int  // how many processes have ended
}

// New makes the calls of one command. dropped are capabilities that codeagent has and the command lacks,
// and keeper is the parent of its first process.
func New(rules notify.Rules, keeper int, dropped func() uint64, walk Walk, log Log) *Calls {
	return &Calls{Forbidden: Forbidden{dropped, log}, rules: rules, keeper: keeper, walk: walk}
}

// Limit answers a call on the scheduling or the limits of a process.
func (h *Calls) Limit(n *notify.Notification, c *calls.Process) notify.Reply {
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
	return h.Refuse(n, sandbox.Denial{Kind: sandbox.KindSyscall, Operation: c.Name, Target: c.Name}, 0)
}

// Landlock keeps each trace inside the domain of one command (hook_ptrace_access_check): it reaches
// no other command, no file worker, no program of the host and not the keeper, which is in no domain.
// The one exception is a child of the keeper that asks to be traced by its parent. The keeper waits
// for it and would take its stops for ends.

// Traces reports whether the call begins a trace of a process of this command, or moves memory to or
// from one, for which the kernel asks the same of Landlock.
func (h *Calls) Traces(n *notify.Notification) bool {
	who := int(int32(n.Args[0]))
	switch {
	case n.NR == unix.SYS_PTRACE && who == unix.PTRACE_TRACEME:
		parent := evidence.ParentOf(int(n.TID))
		return parent > 1 && parent != h.keeper
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
		return slices.ContainsFunc(kernel.Descendants(h.keeper)(kernel.Processes()), func(p kernel.Process) bool {
			tids, _ := ThreadsOf(p.PID)
			return slices.ContainsFunc(tids, func(tid int) bool {
				_, inside := kernel.InsideNumbers(tid)
				return inside == who
			})
		})
	}
	return h.ownProcess(who)
}

// ownProcess reports whether a process, by its number outside a PID namespace, is one of the command.
func (h *Calls) ownProcess(pid int) bool {
	for parent := evidence.ParentOf(pid); parent > 1; parent = evidence.ParentOf(parent) {
		if parent == h.keeper {
			return true
		}
	}
	return false
}

// reservedPIDs are the first numbers of a system, which it gives once and to what it starts itself
// (RESERVED_PIDS of kernel/pid.c).
const reservedPIDs = 300

// NoteSignal records a signal for a process that the user may signal and the command may not. In a PID
// namespace the kernel finds no process of that number. Numbers that the command has used up mean its own
// processes that have ended: about as many as it has now and has reported as ended, and reservedPIDs more,
// for threads use numbers too and an end is reported late.
func (h *Calls) NoteSignal(n *notify.Notification, who int) {
	d := sandbox.Denial{Kind: sandbox.KindSignal, Operation: "kill", Target: "process " + strconv.Itoa(who), Errno: "EPERM"}
	if who <= 1 || !h.log.Sees() || unix.Kill(who, 0) != nil {
		return
	}
	if h.rules.Has(notify.ByProcesses) {
		d.Errno = "ESRCH"
		_, used := kernel.InsideNumbers(int(n.TID))
		used += reservedPIDs + h.log.Ends() + len(kernel.Descendants(h.keeper)(kernel.Processes()))
		if _, err := h.walk.Lstat(n, kernel.ProcDir+"/"+strconv.Itoa(who)); who <= used || err != unix.ENOENT {
			return
		}
	} else if h.ownProcess(who) {
		return
	}
	if name := evidence.CommOf(who); name != "" {
		d.Target += " (" + name + ")"
	}
	h.log.Record(n, d)
}

// NotePrivileges records that a program failed without the privileges that its file gives: no_new_privs is
// set, and what the program then lacks it meets in many ways, also in calls that nobody sees.
func (h *Calls) NotePrivileges(n *notify.Notification) {
	if n.Args[0]&0xff == 0 || !h.log.Sees() {
		return
	}
	fd, err := pathwalk.OpenProc(int(n.TID), "exe", 0)
	if err != nil {
		if err == unix.EACCES || err == unix.EPERM {
			h.log.Missed() // its file may not be read, as sudo's on some systems
		}
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var at unix.Statfs_t
	if unix.Fstat(fd, &st) != nil || unix.Fstatfs(fd, &at) != nil || at.Flags&unix.ST_NOSUID != 0 {
		return
	}
	size, err := unix.Getxattr("/proc/self/fd/"+strconv.Itoa(fd), "security.capability", nil)
	user := st.Mode&unix.S_ISUID != 0 && (int(st.Uid) != unix.Geteuid() || h.dropped() != 0)
	group := st.Mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID|unix.S_IXGRP && !InGroup(int(st.Gid))
	if user || group || err == nil && size > 0 {
		h.log.Record(n, sandbox.Denial{Kind: sandbox.KindCapability, Operation: "execve", Target: h.walk.HostPath(fd)})
	}
}

// isKeeper reports whether number is the keeper or one of its threads in the command's PID
// namespace. It is true where that cannot be looked up.
func (h *Calls) isKeeper(number int) bool {
	tids, err := ThreadsOf(h.keeper)
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

// ThreadsOf lists the threads of a process.
func ThreadsOf(process int) (tids []int, err error) {
	entries, err := os.ReadDir(kernel.ProcDir + "/" + strconv.Itoa(process) + "/task")
	for _, entry := range entries {
		tid, bad := strconv.Atoi(entry.Name())
		if bad != nil {
			return nil, bad
		}
		tids = append(tids, tid)
	}
	return tids, err
}

// InGroup reports whether codeagent, and so the command, has the group.
func InGroup(gid int) bool {
	groups, _ := unix.Getgroups()
	return gid == unix.Getegid() || slices.Contains(groups, gid)
}
