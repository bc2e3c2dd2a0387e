//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Nobody can make a socket in a network namespace that he is not in, and
// codeagent cannot go into one. So who sets the session's up makes a few there
// and hands them over: one that asks who listens, and where names are looked up.
// What comes in by them is the commands' and trusted no further.

// doorKind says what a socket is for.
type doorKind byte

const (
	// doorDiag asks about the sockets of the namespace.
	doorDiag doorKind = 'd'
	// doorDatagrams and doorStreams stand where the machine's name servers do.
	doorDatagrams doorKind = 'u'
	doorStreams   doorKind = 't'
	// doorRelay and doorLost are where streams to allowed hosts go (relay.go).
	doorRelay doorKind = 'r'
	doorLost  doorKind = 'l'
)

// relayAddresses are out of the way of what commands serve.
var relayAddresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 255, 255, 254}), netip.IPv6Loopback()}

type doorSocket struct {
	kind doorKind
	fd   int
}

// openDoor sets the namespace of the calling thread up. Only the loopback and
// the first socket have to be there.
func openDoor(resolvers []string) ([]doorSocket, error) {
	if err := loopbackUp(); err != nil {
		return nil, err
	}
	allowPing()
	allowLowPorts()
	diag, err := newDiagSocket()
	if err != nil {
		return nil, err
	}
	door := []doorSocket{{doorDiag, diag}}
	for _, text := range resolvers {
		addr, err := netip.ParseAddr(text)
		if err != nil || leadsNowhere(addr) || addAddress(addr) != nil {
			continue
		}
		for _, d := range []struct {
			kind doorKind
			how  int
		}{{doorDatagrams, unix.SOCK_DGRAM}, {doorStreams, unix.SOCK_STREAM}} {
			if fd, err := openAt(d.how, netip.AddrPortFrom(addr, resolverPort)); err == nil {
				door = append(door, doorSocket{d.kind, fd})
			}
		}
	}
	for _, addr := range relayAddresses {
		if fd, err := openAt(unix.SOCK_STREAM, netip.AddrPortFrom(addr, 1)); err == nil {
			door = append(door, doorSocket{doorRelay, fd})
		}
		if fd, err := openLost(netip.AddrPortFrom(addr, 2)); err == nil {
			door = append(door, doorSocket{doorLost, fd})
		}
	}
	return door, nil
}

// leadsNowhere reports the addresses by which the self-test finds a way out.
func leadsNowhere(addr netip.Addr) bool {
	return slices.ContainsFunc(nowhere, func(sa unix.Sockaddr) bool { at, _ := addressOf(sa); return at.Addr() == addr })
}

// openLost makes a socket whose queue has one place, which is taken: who connects to
// it gets no answer.
func openLost(at netip.AddrPort) (int, error) {
	fd, err := openAt(unix.SOCK_STREAM, at)
	if err != nil {
		return -1, err
	}
	domain := domainOf(at.Addr())
	first, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(first)
		err = unix.Listen(fd, 0)
	}
	if err == nil {
		if errno := addressCall(unix.SYS_CONNECT, first, socketAddress(at, domain)); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openAt makes a socket that takes what is sent to at.
func openAt(kind int, at netip.AddrPort) (int, error) {
	domain := domainOf(at.Addr())
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if errno := addressCall(unix.SYS_BIND, fd, socketAddress(at, domain)); errno != 0 {
		unix.Close(fd)
		return -1, errno
	}
	if kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// allowLowPorts gives commands the ports that they may serve at on the host: root
// has no privilege left in here, and the namespace is the session's alone.
func allowLowPorts() {
	const setting = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
	if asRoot() {
		_ = os.WriteFile(setting, []byte("0"), 0)
	}
}

// addAddress gives the loopback device one more address. All of 127.0.0.0/8 are
// its already, and so is ::1.
func addAddress(addr netip.Addr) error {
	if addr.IsLoopback() {
		return nil
	}
	family, bits := byte(unix.AF_INET), byte(addr.BitLen())
	if addr.Is6() {
		family = unix.AF_INET6
	}
	raw := addr.AsSlice()
	body := []byte{family, bits, unix.IFA_F_NODAD, unix.RT_SCOPE_HOST, 0, 0, 0, 0}
	binary.NativeEndian.PutUint32(body[4:], loopbackIndex)
	attribute := make([]byte, unix.SizeofRtAttr, unix.SizeofRtAttr+len(raw))
	binary.NativeEndian.PutUint16(attribute, uint16(unix.SizeofRtAttr+len(raw)))
	binary.NativeEndian.PutUint16(attribute[2:], unix.IFA_LOCAL)
	return newRouteObject(unix.RTM_NEWADDR, append(body, append(attribute, raw...)...))
}

// newRouteObject asks the kernel to make something in its network (rtnetlink(7)).
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

// maxDoor bounds the sockets of one door.
const maxDoor = 64

// sendDoor hands the sockets over, or says what went wrong: four bytes with the
// errno, then a byte for each socket.
func sendDoor(to int, door []doorSocket, failed error) error {
	head := make([]byte, 4)
	binary.NativeEndian.PutUint32(head, uint32(errnoOf(failed)))
	var fds []int
	for _, d := range door[:min(len(door), maxDoor)] {
		head, fds = append(head, byte(d.kind)), append(fds, d.fd)
	}
	return unix.Sendmsg(to, head, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
}

// receiveDoor is codeagent's end of sendDoor.
func receiveDoor(from int) ([]doorSocket, error) {
	head, oob := make([]byte, 4+maxDoor), make([]byte, unix.CmsgSpace(4*maxDoor))
	n, oobn, _, _, err := unix.Recvmsg(from, head, oob, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, oobn, _, _, err = unix.Recvmsg(from, head, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil || n < 4 {
		return nil, errors.New("the helper could not be started in new namespaces")
	}
	if errno := unix.Errno(binary.NativeEndian.Uint32(head)); errno != 0 {
		return nil, fmt.Errorf("bring the loopback up: %w", errno)
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(messages) == 1 {
		fds, _ = unix.ParseUnixRights(&messages[0])
	}
	var door []doorSocket
	for i, fd := range fds {
		high, err := dupAbove(fd, lowestFD)
		unix.Close(fd)
		if err == nil && i+4 < n {
			door = append(door, doorSocket{doorKind(head[4+i]), high})
		}
	}
	if len(door) != n-4 {
		session{user: -1, net: -1, door: door}.close()
		return nil, errors.New("bug: the helper did not hand over what it said")
	}
	return door, nil
}

// resolverPort is where names are looked up.
const resolverPort = 53
