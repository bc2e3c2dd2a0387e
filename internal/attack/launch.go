//go:build linux

package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// LauncherName is the argv[0] that makes a test binary a launcher. A launcher sets up the
// surroundings in its first argument, becomes the user in its second, and executes the rest.
const LauncherName = "setting-launcher"

// These are the surroundings in which a sandbox must work.
const (
	// SurroundPlain is the machine as it is.
	SurroundPlain = "plain"
	// SurroundNoNamespaces is a user namespace without capabilities that allows no further one. The
	// caller clones the launcher into it with NewUserNamespace.
	SurroundNoNamespaces = "no-namespaces"
	// SurroundContainer is like a container: a filter against namespaces and mounts, and the
	// default capabilities of container runtimes.
	SurroundContainer = "container"
	// SurroundDocker is a container with Docker's default filter, which refuses copies of descriptors too.
	SurroundDocker = "docker"
	// SurroundMaskedProc is a container that allows namespaces and mounts, and covers a part of
	// /proc.
	SurroundMaskedProc = "masked-proc"
	// SurroundNoLandlock is a kernel without Landlock. SurroundGVisor is one that has neither the mounts that codeagent
	// makes nor a listener.
	SurroundNoLandlock = "no-landlock"
	SurroundGVisor     = "gvisor"
	// SurroundOldFilter is a container whose filter does not know faccessat2(2), and refuses it with EPERM, on a
	// kernel without PIDFD_THREAD (before Linux 6.9). That of SurroundOlderFilter does not know close_range(2) either.
	SurroundOldFilter   = "old-filter"
	SurroundOlderFilter = "older-filter"
)

// envUserNamespace identifies the user namespace of the launcher's caller.
const envUserNamespace = "CODEAGENT_TEST_USERNS"

// NewUserNamespace returns how to start the launcher of SurroundNoNamespaces, and the variable for
// its environment. Every id up to 65535 maps to itself.
func NewUserNamespace() (*syscall.SysProcAttr, string, error) {
	outer, err := os.Readlink("/proc/self/ns/user")
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65536}}
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
	}, envUserNamespace + "=" + outer, err
}

// Launcher takes over the process if it was started as a launcher.
func Launcher() {
	if filepath.Base(os.Args[0]) != LauncherName {
		return
	}
	if err := launch(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "launcher:", err)
	}
	os.Exit(125)
}

// launch restricts only this thread: execve(2) ends all others.
func launch(args []string) error {
	if len(args) < 3 {
		return errors.New("want surroundings, uid and a program")
	}
	runtime.LockOSThread()
	uid, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	keep := allCapabilities
	switch args[0] {
	case SurroundPlain:
	case SurroundNoNamespaces:
		err, keep = forbidNamespaces(), 0
	case SurroundContainer:
		// Install it before the capabilities go: a filter without no_new_privs needs CAP_SYS_ADMIN.
		err, keep = installFilter(containerFilter()), containerCapabilities
	case SurroundDocker:
		copies := refusing(unix.EPERM, unix.SYS_PIDFD_GETFD)
		err, keep = installFilter(append(copies[:len(copies)-1], containerFilter()...)), containerCapabilities
	case SurroundNoLandlock:
		err = installFilter(refusing(unix.ENOSYS, unix.SYS_LANDLOCK_CREATE_RULESET))
	case SurroundGVisor:
		const asks = 2 // in SECCOMP_GET_ACTION_AVAIL and SECCOMP_GET_NOTIF_SIZES: gVisor only installs filters
		err = installFilter(slices.Concat(withoutFlag(unix.SYS_SECCOMP, 0, asks), withoutFlag(unix.SYS_SECCOMP, 1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER),
			refusing(unix.ENOSYS, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR)))
	case SurroundOldFilter:
		const pidfdThread = unix.O_EXCL
		err = installFilter(append(withoutFlag(unix.SYS_PIDFD_OPEN, 1, pidfdThread), refusing(unix.EPERM, unix.SYS_FACCESSAT2)...))
	case SurroundOlderFilter:
		err = installFilter(refusing(unix.EPERM, unix.SYS_CLOSE_RANGE, unix.SYS_FACCESSAT2))
	case SurroundMaskedProc:
		err = maskProc()
	default:
		err = fmt.Errorf("unknown surroundings %q", args[0])
	}
	if err != nil {
		return err
	}
	if err := dropBounding(keep); err != nil {
		return err
	}
	if err := become(uid); err != nil {
		return err
	}
	return os.NewSyscallError("execve", unix.Exec(args[2], args[2:], os.Environ()))
}

// maskProc covers a part of /proc in its own mount namespace. In a user namespace created there,
// the kernel then refuses to mount another /proc.
func maskProc() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("make mounts private", err)
	}
	return os.NewSyscallError("mount", unix.Mount(maskedPart, maskedPart, "", unix.MS_BIND, ""))
}

const maskedPart = "/proc/sys"

// masked reports whether maskProc has covered /proc here.
func masked() error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil && !strings.Contains(string(mounts), " "+maskedPart+" ") {
		err = errors.New(maskedPart + " is not covered")
	}
	return err
}

// forbidNamespaces sets the limit of this process's own user namespace, never that of the machine:
// sysctls under /proc/sys/user belong to the namespace of the process that opens them
// (user_namespaces(7), kernel/ucount.c).
func forbidNamespaces() error {
	outer := os.Getenv(envUserNamespace)
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return err
	}
	if outer == "" || own == outer {
		return errors.New("this is not a user namespace of its own: the machine's limit is left alone")
	}
	return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
}

const allCapabilities = ^uint64(0)

// containerCapabilities are the default capabilities of container runtimes: chown, dac_override,
// fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw, sys_chroot, mknod,
// audit_write, setfcap.
const containerCapabilities = uint64(1<<0 | 1<<1 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<13 | 1<<18 | 1<<27 | 1<<29 | 1<<31)

// dropBounding removes capabilities from the bounding set: at execve root then gets only the rest
// (capabilities(7)).
func dropBounding(keep uint64) error {
	for c := range uint(64) {
		if keep>>c&1 == 1 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EINVAL {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	return nil
}

// become changes the user of this thread with raw calls. Go's wrappers would change every thread,
// under filters that only this one has.
func become(uid int) error {
	if uid == 0 {
		return nil
	}
	id := uintptr(uid)
	if err := call(unix.SYS_SETGROUPS, 0, 0); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := call(unix.SYS_SETRESGID, id, id, id); err != nil {
		return os.NewSyscallError("setresgid", err)
	}
	return os.NewSyscallError("setresuid", call(unix.SYS_SETRESUID, id, id, id))
}

// containerRefused are the calls that container runtimes refuse with EPERM if the container has no
// CAP_SYS_ADMIN.
var containerRefused = []uint32{
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, sysOpenTreeAttr,
	unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
}

// containerFilter is the part of a container runtime's filter that concerns namespaces and mounts.
func containerFilter() []bpf.RawInstruction {
	const newNamespaces = 0x7e020000 // all CLONE_NEW* that clone(2) accepts
	answer := func(errno uint32) bpf.RawInstruction {
		return bpf.RawInstruction{Op: opReturn, K: unix.SECCOMP_RET_ERRNO | errno}
	}
	prog := []bpf.RawInstruction{
		{Op: opLoadWord, K: 0},
		{Op: opJumpEqual, Jf: 1, K: unix.SYS_CLONE3}, answer(uint32(unix.ENOSYS)),
		{Op: opJumpEqual, Jf: 4, K: unix.SYS_CLONE},
		{Op: opLoadWord, K: 16}, {Op: opJumpSet, Jf: 1, K: newNamespaces}, answer(uint32(unix.EPERM)),
		{Op: opReturn, K: unix.SECCOMP_RET_ALLOW},
	}
	for _, number := range containerRefused {
		prog = append(prog, bpf.RawInstruction{Op: opJumpEqual, Jf: 1, K: number}, answer(uint32(unix.EPERM)))
	}
	return append(prog, bpf.RawInstruction{Op: opReturn, K: unix.SECCOMP_RET_ALLOW})
}

// refusing returns a filter that answers these calls with errno.
func refusing(errno unix.Errno, numbers ...uint32) []bpf.RawInstruction {
	prog := []bpf.RawInstruction{{Op: opLoadWord, K: 0}}
	for _, number := range numbers {
		prog = append(prog, bpf.RawInstruction{Op: opJumpEqual, Jf: 1, K: number}, bpf.RawInstruction{Op: opReturn, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
	}
	return append(prog, bpf.RawInstruction{Op: opReturn, K: unix.SECCOMP_RET_ALLOW})
}

// withoutFlag begins a filter that does not know this flag in an argument of a call: 0 for the first.
func withoutFlag(number, argument, flag uint32) []bpf.RawInstruction {
	return []bpf.RawInstruction{
		{Op: opLoadWord, K: 0}, {Op: opJumpEqual, Jf: 3, K: number},
		{Op: opLoadWord, K: 16 + 8*argument}, {Op: opJumpSet, Jf: 1, K: flag},
		{Op: opReturn, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
	}
}

func installFilter(prog []bpf.RawInstruction) error {
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: (*unix.SockFilter)(unsafe.Pointer(&prog[0]))}
	const setModeFilter = 1
	err := call(unix.SYS_SECCOMP, setModeFilter, 0, uintptr(unsafe.Pointer(&fprog)))
	return os.NewSyscallError("seccomp", err)
}

// Surrounded returns an error unless the surroundings hold as seen from inside: no namespace can be
// created.
func Surrounded(surroundings string) error {
	if surroundings == SurroundMaskedProc {
		return masked()
	}
	err := forkAndCall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	switch {
	case surroundings == SurroundPlain:
		return nil
	case surroundings == SurroundNoLandlock, surroundings == SurroundGVisor:
		if errno := call(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1); errno != unix.ENOSYS {
			return fmt.Errorf("making a ruleset answers %v", errno)
		}
		return nil
	case err == nil:
		return fmt.Errorf("%s: a user namespace can be made", surroundings)
	case (surroundings == SurroundContainer || surroundings == SurroundDocker) && !errors.Is(err, unix.EPERM), surroundings == SurroundNoNamespaces && !errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%s: a user namespace is refused with %w", surroundings, err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || surroundings != SurroundNoNamespaces {
		return err
	}
	if !strings.Contains(string(status), "CapBnd:\t0000000000000000") {
		return errors.New("capabilities are left")
	}
	return nil
}
