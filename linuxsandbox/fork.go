//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// A keeper with namespaces is not started through package syscall. A process with more than one
// thread, such as codeagent, cannot join a user namespace (setns(2)). So a child joins it and
// starts the keeper as another child of codeagent (CLONE_PARENT):
//
//	codeagent ── vfork ──▶ joins the session's user and network namespaces
//	    ▲                     │ vfork, with mount, PID and IPC namespace
//	    └──── parent ───── keeper, PID 1, with capabilities over its own mounts
//
// Neither child copies memory or writes a uid map, which halves the time.

// keeperNamespaces are created for every command, together with a PID namespace where a /proc can
// be mounted for it.
const keeperNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWIPC

// keeperCaps are the capabilities that an ordinary user's keeper retains across its exec, in its
// own user namespace: it needs them to mount and then to empty its bounding set.
const keeperCaps = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SETPCAP

// nsPlan holds all that the two children need. It is complete before the fork.
type nsPlan struct {
	path        *byte
	argv, envv  []*byte
	root        *byte
	setsid      bool
	user, net   int // namespaces to join, or -1
	namespaces  uintptr
	files, high []int
	capHead     unix.CapUserHeader
	caps        [2]unix.CapUserData
	keeper      int32 // the keeper's pid, written by the kernel
	report      int
}

// These are the steps of the children, reported when one fails.
const (
	nsJoinUser = iota + 1
	nsJoinNet
	nsClone
	nsSession
	nsCaps
	nsFiles
	nsDir
	nsSignals
	nsExec
)

var nsSteps = [...]string{
	nsJoinUser: "join the user namespace", nsJoinNet: "join the network namespace", nsClone: "clone with new namespaces",
	nsSession: "session", nsCaps: "capabilities", nsFiles: "files", nsDir: "directory", nsSignals: "signals", nsExec: "exec",
}

// joined are the namespaces that a keeper joins.
type joined struct {
	user, net int // descriptors; -1: none
	// hostPIDs means that the keeper gets no PID namespace.
	hostPIDs bool
}

// joinedBy returns what a keeper with this Spec joins; nil if it has no namespaces.
func (b *Backend) joinedBy(s *spec.Spec) *joined {
	if s.Mounts == nil {
		return nil
	}
	j := &joined{user: b.namespaces.User, net: b.namespaces.Net, hostPIDs: s.Mounts.HostProc}
	if s.HostNet == 0 {
		j.net = -1
	}
	return j
}

// forkInNamespaces starts the helper from the descriptor image as the first process of new
// namespaces. files become its descriptors from 0 on.
func forkInNamespaces(image int, join *joined, files []int, setsid bool) (int, error) {
	c := &nsPlan{setsid: setsid, user: join.user, net: join.net, namespaces: keeperNamespaces, files: files, high: make([]int, len(files))}
	if !join.hostPIDs {
		c.namespaces |= unix.CLONE_NEWPID
	}
	var err error
	if c.path, err = unix.BytePtrFromString("/proc/self/fd/" + strconv.Itoa(image)); err != nil {
		return 0, err
	}
	if c.argv, err = kernel.Pointers([]string{HelperName, spec.KeeperArg}); err != nil {
		return 0, err
	}
	if c.envv, err = kernel.Pointers(keeperEnv); err != nil {
		return 0, err
	}
	if c.root, err = unix.BytePtrFromString("/"); err != nil {
		return 0, err
	}
	c.capHead.Version = unix.LINUX_CAPABILITY_VERSION_3
	c.caps[0] = unix.CapUserData{Effective: keeperCaps, Permitted: keeperCaps, Inheritable: keeperCaps}
	var report [2]int
	// The pipe's number must be above the numbers that the keeper's files get.
	syscall.ForkLock.Lock()
	err = unix.Pipe2(report[:], unix.O_CLOEXEC)
	if err != nil {
		syscall.ForkLock.Unlock()
		return 0, err
	}
	c.report, err = kernel.DupAbove(report[1], kernel.LowestFD+len(files))
	unix.Close(report[1])
	if err != nil {
		syscall.ForkLock.Unlock()
		unix.Close(report[0])
		return 0, err
	}
	runtime.LockOSThread()
	all, old := ^uint64(0), uint64(0)
	kernel.Sigprocmask(&all, &old)
	joiner, errno := forkJoiner(c)
	kernel.Sigprocmask(&old, nil)
	runtime.UnlockOSThread()
	unix.Close(c.report)
	syscall.ForkLock.Unlock()
	defer unix.Close(report[0])
	if errno != 0 {
		return 0, os.NewSyscallError("vfork", errno)
	}
	runtime.KeepAlive(c)
	wait(joiner)
	var answer [8]byte
	if err := kernel.ReadFull(report[0], answer[:]); err == kernel.ErrClosed && c.keeper > 0 {
		return int(c.keeper), nil
	}
	if c.keeper > 0 {
		wait(int(c.keeper))
	}
	step, code := binary.NativeEndian.Uint32(answer[:4]), unix.Errno(binary.NativeEndian.Uint32(answer[4:]))
	if int(step) >= len(nsSteps) || step == 0 {
		return 0, fmt.Errorf("the child ended without a word")
	}
	return 0, os.NewSyscallError(nsSteps[step], code)
}

// wait collects one child.
func wait(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// forkJoiner follows the rules of the keeper's forkExec: it makes raw system calls only, and leaves
// no stack frame while another process runs on the same stack.
//
//go:noinline
//go:norace
func forkJoiner(c *nsPlan) (pid int, errno syscall.Errno) {
	r, failed := kernel.Vfork(unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|uintptr(unix.SIGCHLD), 0, 0)
	if failed != 0 || r != 0 {
		return int(r), syscall.Errno(failed)
	}
	var e syscall.Errno
	step := uint32(nsJoinUser)
	if c.user >= 0 {
		if _, _, e = syscall.RawSyscall(unix.SYS_SETNS, uintptr(c.user), unix.CLONE_NEWUSER, 0); e != 0 {
			goto failed
		}
	}
	step = nsJoinNet
	if c.net >= 0 {
		if _, _, e = syscall.RawSyscall(unix.SYS_SETNS, uintptr(c.net), unix.CLONE_NEWNET, 0); e != 0 {
			goto failed
		}
	}
	step = nsClone
	r, failed = kernel.Vfork(unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|unix.CLONE_PARENT|unix.CLONE_PARENT_SETTID|c.namespaces|uintptr(unix.SIGCHLD),
		0, uintptr(unsafe.Pointer(&c.keeper)))
	if failed == 0 && r != 0 {
		for {
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	e = syscall.Errno(failed)
	if e == 0 {
		step, e = execKeeper(c)
	}
failed:
	answer := [2]uint32{step, uint32(e)}
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(c.report), uintptr(unsafe.Pointer(&answer)), unsafe.Sizeof(answer))
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
	}
}

// execKeeper runs in the process that becomes the keeper. It returns only if a step failed.
//
//go:nosplit
//go:norace
func execKeeper(c *nsPlan) (step uint32, e syscall.Errno) {
	if c.setsid {
		if _, _, e = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); e != 0 {
			return nsSession, e
		}
	}
	if c.user >= 0 {
		// At exec, a user other than 0 loses all capabilities except the ambient ones.
		if _, _, e = syscall.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&c.capHead)), uintptr(unsafe.Pointer(&c.caps[0])), 0); e != 0 {
			return nsCaps, e
		}
		for bit := uintptr(0); bit < 32; bit++ {
			if keeperCaps&(1<<bit) == 0 {
				continue
			}
			if _, _, e = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, bit, 0, 0, 0); e != 0 {
				return nsCaps, e
			}
		}
	}
	if _, _, e = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(c.root)), 0, 0); e != 0 {
		return nsDir, e
	}
	// Move each file to a high number first: its number may be another file's target.
	for i := 0; i < len(c.files); i++ {
		r, _, e := syscall.RawSyscall(unix.SYS_FCNTL, uintptr(c.files[i]), unix.F_DUPFD_CLOEXEC, uintptr(len(c.files)))
		if e != 0 {
			return nsFiles, e
		}
		c.high[i] = int(r)
	}
	for i := 0; i < len(c.files); i++ {
		if _, _, e = syscall.RawSyscall(unix.SYS_DUP3, uintptr(c.high[i]), uintptr(i), 0); e != 0 {
			return nsFiles, e
		}
	}
	if e = kernel.DefaultSignals(); e != 0 {
		return nsSignals, e
	}
	_, _, e = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(c.path)),
		uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.envv[0])))
	return nsExec, e
}
