//go:build linux

package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// The first keeper of a session sets up the network namespace that later ones join. It is cloned
// into the namespace, brings the loopback up, makes the sockets that codeagent needs there and hands
// them over. Then it waits for its Spec and continues like every keeper. codeagent starts it while
// it still reads the settings, so the command's files come with the Spec.

// openSession begins what body says, a spec.Session, before the mounts hide /proc/sys. The rest is done
// beside the mounts; opened waits for it. Nothing else is sent before that.
func openSession(out control.Socket, body []byte) (opened func() error) {
	allowPing()
	allowLowPorts()
	done := make(chan error, 1)
	go func() { done <- sendDoor(out, body) }()
	return func() error { return <-done }
}

// sendDoor sets up the network and hands over the sockets.
func sendDoor(out control.Socket, body []byte) error {
	var s spec.Session
	if err := spec.Decode(body, &s); err != nil {
		return err
	}
	door, err := openDoor(s.NameServers)
	if err == nil {
		err = out.SendDoor(door)
	}
	for _, d := range door {
		unix.Close(d.FD)
	}
	return err
}

// joinCommand gives the first keeper what each later one is forked with: the command's standard files, a
// session of its own unless the command is in the foreground, and the further descriptors that the
// Spec names by their numbers behind the control socket. A probe gets no files.
func joinCommand(order *spec.Spec, files []int) error {
	if !order.Command.Foreground {
		if _, err := unix.Setsid(); err != nil {
			return os.NewSyscallError("setsid", err)
		}
	}
	for fd := range min(len(files), 3) {
		if err := unix.Dup3(files[fd], fd, 0); err != nil {
			return os.NewSyscallError("dup3", err)
		}
		unix.Close(files[fd])
	}
	further := files[min(len(files), 3):]
	if order.Group == 0 {
		return nil
	}
	at := order.Group - spec.ControlFD - 1
	if at < 0 || at >= len(further) {
		return fmt.Errorf("bug: descriptor %d did not come with the Spec", order.Group)
	}
	order.Group = further[at]
	return nil
}

// relayAddresses are unlikely to collide with what commands serve.
var relayAddresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 255, 255, 254}), netip.IPv6Loopback()}

// openDoor sets up the namespace of the calling thread. It fails without the loopback or the first
// socket; the others are optional.
func openDoor(resolvers []string) ([]control.DoorSocket, error) {
	if err := loopbackUp(); err != nil {
		return nil, fmt.Errorf("bring the loopback up: %w", err)
	}
	diag, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	door := []control.DoorSocket{{Kind: control.DoorDiag, FD: diag}}
	for _, text := range resolvers {
		addr, err := netip.ParseAddr(text)
		if err != nil || slices.Contains(nowhere, addr) || addAddress(addr) != nil {
			continue
		}
		for _, d := range []struct {
			kind control.DoorKind
			how  int
		}{{control.DoorDatagrams, unix.SOCK_DGRAM}, {control.DoorStreams, unix.SOCK_STREAM}} {
			if fd, err := openAt(d.how, netip.AddrPortFrom(addr, control.NameServerPort)); err == nil {
				door = append(door, control.DoorSocket{Kind: d.kind, FD: fd})
			}
		}
	}
	for _, addr := range relayAddresses {
		_ = routeMarked(addr) // without it no datagrams are carried
		if fd, err := openAt(unix.SOCK_STREAM, netip.AddrPortFrom(addr, 1)); err == nil {
			door = append(door, control.DoorSocket{Kind: control.DoorRelay, FD: fd})
		}
	}
	return door, nil
}

// openAt makes a socket that receives what is sent to at.
func openAt(kind int, at netip.AddrPort) (int, error) {
	domain, own := kernelAddress(at)
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Bind(fd, own)
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// kernelAddress converts at to the kernel's form, with its address family.
func kernelAddress(at netip.AddrPort) (domain int, sa unix.Sockaddr) {
	if at.Addr().Is6() {
		return unix.AF_INET6, &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	}
	return unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
}

// allowLowPorts lets root's commands use ports below 1024, as on the host: they have no
// capabilities left, and the namespace belongs to the session.
func allowLowPorts() {
	const setting = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
	if asRoot() {
		_ = os.WriteFile(setting, []byte("0"), 0)
	}
}

// addAddress gives the loopback device one more address. The device already has all of 127.0.0.0/8
// and ::1.
func addAddress(addr netip.Addr) error {
	if addr.IsLoopback() {
		return nil
	}
	family, bits := byte(unix.AF_INET), byte(addr.BitLen())
	if addr.Is6() {
		family = unix.AF_INET6
	}
	raw := addr.AsSlice()
	body := append([]byte{family, bits, unix.IFA_F_NODAD, unix.RT_SCOPE_HOST}, number(loopbackIndex)...)
	return newRouteObject(unix.RTM_NEWADDR, append(body, attribute(unix.IFA_LOCAL, raw)...))
}

// loopbackIndex is that of the loopback device in every namespace.
const loopbackIndex = 1

// routeMarked gives sockets with CarriedMark a route to every address of a family, back into this namespace.
func routeMarked(addr netip.Addr) error {
	const table, toTable, fwmark = 100, 1, 10 // FR_ACT_TO_TBL and FRA_FWMARK (linux/fib_rules.h)
	family, local := byte(unix.AF_INET), netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if addr.Is6() {
		family, local = unix.AF_INET6, netip.IPv6Loopback()
	}
	route := append([]byte{family, 0, 0, 0, table, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}, attribute(unix.RTA_OIF, number(loopbackIndex))...)
	rule := append([]byte{family, 0, 0, 0, table, 0, 0, toTable, 0, 0, 0, 0}, attribute(fwmark, number(control.CarriedMark))...)
	return errors.Join(newRouteObject(unix.RTM_NEWROUTE, append(route, attribute(unix.RTA_PREFSRC, local.AsSlice())...)), newRouteObject(unix.RTM_NEWRULE, rule))
}

// attribute encodes an attribute of a network object, whose value takes a multiple of four bytes.
func attribute(kind uint16, value []byte) []byte {
	head := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(value)))
	return append(binary.NativeEndian.AppendUint16(head, kind), value...)
}

func number(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

// newRouteObject makes the kernel create a network object (rtnetlink(7)).
func newRouteObject(kind uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	head := unix.NlMsghdr{
		Len: uint32(unix.SizeofNlMsghdr + len(body)), Type: kind, Seq: 1,
		Flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE | unix.NLM_F_EXCL,
	}
	request := append(unsafe.Slice((*byte)(unsafe.Pointer(&head)), unix.SizeofNlMsghdr), body...)
	if _, err := unix.Write(fd, request); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, err := unix.Read(fd, answer)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return unix.EBADMSG
	}
	if errno := unix.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:]))); errno != 0 {
		return errno
	}
	return nil
}

// allowPing lets the command's group create the sockets of unprivileged ping(8): a new network
// namespace lets nobody create them. They reach only the loopback. If /proc/sys is not writable,
// only ping is lost.
func allowPing() {
	group := strconv.Itoa(os.Getegid())
	_ = os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte(group+" "+group), 0)
}

// loopbackUp does what `ip link set lo up` does (netdevice(7)).
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
