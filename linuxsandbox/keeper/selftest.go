//go:build linux

package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// The self-test attempts what must fail now. observe made each attempt before, while unconfined: a
// call that failed then too proves nothing.

// probeFile is the thread's own name. Without Landlock the thread can always write it, and no
// policy has a rule for it.
const probeFile = "/proc/self/comm"

// observe returns a process that this thread could signal before it was confined, or 0.
func observe(s *task) (parent int, err error) {
	if s.Walls != nil && !s.Walls.Shared {
		return 0, nil // whoever made them has made /proc read-only
	}
	fd, err := openProbe(s)
	if err != nil {
		return 0, fmt.Errorf("open %s before confinement: %w", probeFile, err)
	}
	unix.Close(fd)
	// 0 is a parent outside this PID namespace; kill(0) would signal the group.
	if ppid := unix.Getppid(); ppid > 0 && unix.Kill(ppid, 0) == nil {
		parent = ppid
	}
	return parent, nil
}

// openProbe opens probeFile for writing. If the command's /proc is mounted read-only, it opens the
// file in another mount of /proc, so that only Landlock can refuse it.
func openProbe(s *task) (int, error) {
	if s.Mounts == nil {
		return unix.Open(probeFile, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	}
	return unix.Openat(s.proc, strings.TrimPrefix(probeFile, kernel.ProcDir+"/"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
}

// testWrites shows that Landlock is on. Without Landlock it shows that mounts are read-only.
func testWrites(s *task, abi int) error {
	open := func() (int, error) { return openProbe(s) }
	if s.Walls != nil {
		if err := testWalls(s.Walls); err != nil || !s.Walls.Shared {
			return err
		}
	}
	if abi == 0 {
		if s.Mounts == nil {
			return nil // a probe: no command starts this way
		}
		open = func() (int, error) { return unix.Open(probeFile, unix.O_WRONLY|unix.O_CLOEXEC, 0) }
	}
	if fd, err := open(); err == nil {
		unix.Close(fd)
		return fmt.Errorf("%s could be opened from the sandbox", probeFile)
	}
	return nil
}

// testUnreadable shows that Landlock and the mounts keep shut what may not be read.
func testUnreadable(s *task) error {
	for _, path := range s.Unreadable {
		if err := refused(path); err != nil {
			return err
		}
	}
	return nil
}

// selfTest tests the filter and what the thread has left.
func selfTest(s *task, keep uint64) error {
	type probe struct {
		family, kind int
		open         bool
	}
	probes := []probe{{unix.AF_INET, unix.SOCK_STREAM, s.Network}, {unix.AF_UNIX, unix.SOCK_STREAM, s.PathSockets}}
	if s.Ask { // the other sockets go to the broker, which does not answer yet
		probes = []probe{{unix.AF_UNIX, unix.SOCK_RAW, false}}
	}
	for _, socket := range probes {
		fd, err := unix.Socket(socket.family, socket.kind|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		if err == nil && !socket.open {
			return fmt.Errorf("a socket of family %d could be made", socket.family)
		}
	}
	return checkStatus(keep)
}

// testSignals reports that no signal leaves the domain. parent is what observe returned.
func testSignals(parent, abi int) (signalProof bool, err error) {
	if abi < 6 || parent == 0 || unix.Getppid() != parent {
		return false, nil // no scope, or no process to prove it with
	}
	if err := unix.Kill(parent, 0); err != unix.EPERM {
		return false, fmt.Errorf("signalling codeagent from the sandbox: %v instead of EPERM", err)
	}
	return true, nil
}

// refused tries to open path, and returns an error if that succeeds. A path that does not exist
// counts as refused.
func refused(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if isMask(fd) {
		return nil // root with KeepFileCaps can open the mask, which is empty
	}
	return fmt.Errorf("%s could be opened from the sandbox", path)
}

// isMask recognizes the empty folder that the keeper mounts over a denied one, and the empty file or folder of a container.
func isMask(fd int) bool {
	var st unix.Stat_t
	var at unix.Statfs_t
	if unix.Fstat(fd, &st) != nil || unix.Fstatfs(fd, &at) != nil || at.Flags&unix.ST_RDONLY == 0 {
		return false
	}
	return st.Mode == unix.S_IFDIR && (at.Type == unix.TMPFS_MAGIC || isEmpty(fd)) || st.Mode == unix.S_IFREG && st.Size == 0
}

func isEmpty(folder int) bool {
	var list [1024]byte
	n, err := unix.ReadDirent(folder, list[:])
	_, names, _ := unix.ParseDirent(list[:max(n, 0)], -1, nil)
	return err == nil && names == 0
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
	have, err := kernel.Caps()
	if err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for i, h := range have {
		if left := (h.Effective | h.Permitted | h.Inheritable) &^ uint32(keep>>(32*i)); left != 0 {
			return fmt.Errorf("capabilities %#x of word %d are left", left, i)
		}
	}
	return nil
}

// nowhere are documentation addresses that are never routed (RFC 5737, RFC 3849). Connecting a
// datagram socket looks up a route and sends nothing.
var nowhere = []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, 1}), netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1})}

// testNetwork is part of the self-test: it shows that the thread is not in codeagent's network
// namespace, and that its own namespace has no route to the outside.
func testNetwork(s *task) error {
	if s.HostNet == 0 {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	unix.Close(pair[1])
	cookie, err := unix.GetsockoptUint64(pair[0], unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	unix.Close(pair[0])
	if err != nil {
		return os.NewSyscallError("getsockopt SO_NETNS_COOKIE", err)
	}
	if cookie == s.HostNet {
		return errors.New("the network namespace is codeagent's own")
	}
	if !s.Network {
		return nil // the filter refuses every socket that could test more
	}
	for _, addr := range nowhere {
		family, there := kernelAddress(netip.AddrPortFrom(addr, 9))
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == unix.EAFNOSUPPORT {
			continue // this kernel has no IPv6
		}
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		err = unix.Connect(fd, there)
		unix.Close(fd)
		if err == nil {
			return fmt.Errorf("the network namespace has a way out, by a socket of family %d", family)
		}
	}
	if s.First {
		return onlyLoopback() // once a session: no command can create a device
	}
	return nil
}

// onlyLoopback fails if a device other than the loopback is up. Where tunnels are built into the
// kernel, every namespace has their devices, but they are down.
func onlyLoopback() error {
	table, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		return os.NewSyscallError("list network devices", err)
	}
	messages, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		return os.NewSyscallError("list network devices", err)
	}
	for _, m := range messages {
		if m.Header.Type != unix.RTM_NEWLINK {
			continue
		}
		if len(m.Data) < unix.SizeofIfInfomsg {
			return errors.New("list network devices: a message is too short")
		}
		index, flags := binary.NativeEndian.Uint32(m.Data[4:]), binary.NativeEndian.Uint32(m.Data[8:])
		if flags&unix.IFF_UP != 0 && flags&unix.IFF_LOOPBACK == 0 {
			return fmt.Errorf("network device %d is up and is not the loopback", index)
		}
	}
	return nil
}
