//go:build linux

package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

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
	if s.Probe {
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
