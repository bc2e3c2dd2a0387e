//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Unless the policy grants the host's network, the commands of a session live in
// a network namespace of the session's own (nssession.go), with a loopback in it
// and nothing else. INET sockets need not be refused there: whatever they are
// used for (MPTCP, Fast Open, datagrams) stays inside. What a command lacks to
// change that is a capability over the namespace, which it is not left with.
// Hosts that the policy allows are reached through codeagent (relay.go), which
// also answers for the machine's name servers (resolver.go).
//
// A socket belongs to the namespace it was made in. A command that is started
// with one of the host's therefore gets no socket calls (looseSocket); another
// way to come by one is a service that the user granted, which acts outside.

// notHostNet is the network namespace that commands under p must not be in, 0
// when they are to be in codeagent's own: because p says so, or because there
// is no other one.
func notHostNet(p sandbox.Policy, f facts) uint64 {
	if p.Network.Mode == sandbox.NetworkFull {
		return 0
	}
	return f.HostNet
}

// netCookie is the number of the network namespace that a socket belongs to. No
// two have the same until the machine is started anew, and unlike a namespace's
// inode it is told by the socket itself (Linux 5.14).
func netCookie(socket int) (uint64, error) {
	cookie, err := unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return cookie, os.NewSyscallError("getsockopt SO_NETNS_COOKIE", err)
}

// inNetwork reports whether a socket belongs to the namespace of that cookie, or
// does not tell; 0 is no namespace.
func inNetwork(socket int, cookie uint64) bool {
	if cookie == 0 {
		return false
	}
	its, err := netCookie(socket)
	return err != nil || its == cookie
}

// Addresses that are routed nowhere (RFC 5737, RFC 3849). Connecting a datagram
// socket looks for a way there and sends nothing.
var nowhere = []unix.Sockaddr{
	&unix.SockaddrInet4{Port: 9, Addr: [4]byte{192, 0, 2, 1}},
	&unix.SockaddrInet6{Port: 9, Addr: [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}},
}

// testNetwork is a part of the self-test: the thread is not in codeagent's network
// namespace, and no way leads out of the one it is in.
func testNetwork(s *Spec) error {
	if s.HostNet == 0 {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	unix.Close(pair[1])
	cookie, err := netCookie(pair[0])
	unix.Close(pair[0])
	if err != nil {
		return err
	}
	if cookie == s.HostNet {
		return errors.New("the network namespace is codeagent's own")
	}
	if !s.Network {
		return nil // the filter refuses every socket that could look further
	}
	for i, family := range []int{unix.AF_INET, unix.AF_INET6} {
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == unix.EAFNOSUPPORT {
			continue // a kernel without IPv6
		}
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		err = unix.Connect(fd, nowhere[i])
		unix.Close(fd)
		if err == nil {
			return fmt.Errorf("the network namespace has a way out, by a socket of family %d", family)
		}
	}
	if s.Probe {
		return onlyLoopback() // once a session: no command can make a device
	}
	return nil
}

// onlyLoopback: no device but the loopback is up. Where tunnels are built into
// the kernel every namespace has their devices, which are down.
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
			return fmt.Errorf("network device %d is up and no loopback", index)
		}
	}
	return nil
}
