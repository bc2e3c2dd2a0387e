//go:build linux

package keeper

import (
	"fmt"
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// The self-test attempts what must fail now. observe made each attempt before, while unconfined: a
// call that failed then too proves nothing.

// probeFile is the thread's own name. Without Landlock the thread can always write it, and no
// policy has a rule for it.
const probeFile = "/proc/self/comm"

// observed is what the thread could do before it was confined.
type observed struct {
	// parent is a process that this thread could signal, or 0.
	parent int
}

func observe(s *task) (observed, error) {
	fd, err := openProbe(s)
	if err != nil {
		return observed{}, fmt.Errorf("open %s before confinement: %w", probeFile, err)
	}
	unix.Close(fd)
	var o observed
	// 0 is a parent outside this PID namespace; kill(0) would signal the group.
	if ppid := unix.Getppid(); ppid > 0 && unix.Kill(ppid, 0) == nil {
		o.parent = ppid
	}
	return o, nil
}

// openProbe opens probeFile for writing. If the command's /proc is mounted read-only, it opens the
// file in another mount of /proc, so that only Landlock can refuse it.
func openProbe(s *task) (int, error) {
	if s.Mounts == nil {
		return unix.Open(probeFile, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	}
	return unix.Openat(s.proc, strings.TrimPrefix(probeFile, kernel.ProcDir+"/"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
}

// testLandlock shows that Landlock is on.
func testLandlock(s *task) error {
	if fd, err := openProbe(s); err == nil {
		unix.Close(fd)
		return fmt.Errorf("%s could be opened from the sandbox", probeFile)
	}
	return nil
}

// selfTest tests the confinement. signalProof reports that no signal leaves the domain.
func selfTest(s *task, before observed, abi int, keep uint64) (signalProof bool, err error) {
	for _, path := range s.Unreadable {
		if err := refused(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY); err != nil {
			return false, err
		}
	}
	inet, kind := unix.AF_INET, unix.SOCK_STREAM
	if s.Ask && !s.Network {
		// INET sockets go to the broker, which does not answer yet. The filter itself refuses a
		// netlink socket.
		inet, kind = unix.AF_NETLINK, unix.SOCK_RAW
	}
	for _, socket := range []struct {
		family, kind int
		open         bool
	}{{inet, kind, s.Network}, {unix.AF_UNIX, unix.SOCK_STREAM, s.PathSockets}} {
		fd, err := unix.Socket(socket.family, socket.kind|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		if err == nil && !socket.open {
			return false, fmt.Errorf("a socket of family %d could be made", socket.family)
		}
	}
	if err := checkStatus(keep); err != nil {
		return false, err
	}
	if abi < 6 {
		return false, nil
	}
	if before.parent == 0 || unix.Getppid() != before.parent {
		return false, nil // no process to prove it with
	}
	if err := unix.Kill(before.parent, 0); err != unix.EPERM {
		return false, fmt.Errorf("signalling codeagent from the sandbox: %v instead of EPERM", err)
	}
	return true, nil
}

// refused tries to open path, and returns an error if that succeeds. A path that does not exist
// counts as refused.
func refused(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if isMask(fd) {
		return nil // root with KeepFileCaps can open the mask, which is empty
	}
	return fmt.Errorf("%s could be opened from the sandbox", path)
}

// isMask recognizes the empty folder that the keeper mounts over a denied one.
func isMask(fd int) bool {
	var st unix.Stat_t
	var at unix.Statfs_t
	return unix.Fstat(fd, &st) == nil && st.Mode == unix.S_IFDIR &&
		unix.Fstatfs(fd, &at) == nil && at.Type == unix.TMPFS_MAGIC && at.Flags&unix.ST_RDONLY != 0
}

// checkStatus reads the thread's actual state back from the kernel. It uses system calls and not
// /proc: when the thread ends, the kernel removes each name that was looked up below
// /proc/PID/task/TID, under contention.
func checkStatus(keep uint64) error {
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || nnp != 1 {
		return fmt.Errorf("no_new_privs is %d instead of 1: %w", nnp, err)
	}
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil || mode != unix.SECCOMP_MODE_FILTER {
		return fmt.Errorf("the seccomp mode is %d instead of %d: %w", mode, unix.SECCOMP_MODE_FILTER, err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&head, &have[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for i, h := range have {
		if left := (h.Effective | h.Permitted | h.Inheritable) &^ uint32(keep>>(32*i)); left != 0 {
			return fmt.Errorf("capabilities %#x of word %d are left", left, i)
		}
	}
	return nil
}
