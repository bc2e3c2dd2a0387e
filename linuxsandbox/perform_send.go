//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Datagrams name their receiver each, and from the session's own network none
// gets further than the loopback. The broker is asked to know who was meant, and
// lets them go on: whatever the kernel reads then, it stays inside.

// sendCall answers sendto, sendmsg and sendmmsg.
func (b *broker) sendCall(n *notification) reply {
	goOn := reply{proceed: true}
	to, ok := receiver(n)
	if !ok || !n.valid(b.listener) {
		return goOn
	}
	fd, err := takeFD(int(n.tid), int32(n.args[0]))
	if err != nil {
		return goOn
	}
	defer unix.Close(fd)
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_INET && domain != unix.AF_INET6 {
		return goOn
	}
	// A stream goes by whom it is connected to, but for its first words (TCP Fast
	// Open), which no broker could carry further.
	s, ok := inetSocketOf(fd, domain)
	if !ok || s.protocol == unix.IPPROTO_TCP && sendFlags(n)&unix.MSG_FASTOPEN == 0 {
		return goOn
	}
	d := b.unreached(to)
	d.Operation = sendCallName(n)
	switch {
	case b.toResolver(to):
		b.session.net.resolver.expect(b, n, s, to)
		return goOn
	case !to.Addr().IsLoopback():
		d.Errno = unix.ErrnoName(unix.ENETUNREACH)
	case !b.session.net.meantForHost(s.protocol, to):
		return goOn
	}
	b.record(n, d)
	return goOn
}

// receiver is the address in a call, if it has one of a network. Of several
// messages it is that of the first: what keeps a later one back keeps it back
// again when it is sent anew, as the first.
func receiver(n *notification) (netip.AddrPort, bool) {
	at, size := n.args[4], n.args[5]
	if n.nr != unix.SYS_SENDTO {
		// struct mmsghdr begins with a struct msghdr, and that with name and length.
		head, err := readMemory(int(n.tid), n.args[1], 12)
		if err != nil {
			return netip.AddrPort{}, false
		}
		at, size = binary.NativeEndian.Uint64(head), uint64(binary.NativeEndian.Uint32(head[8:]))
	}
	if at == 0 || size > maxAddress {
		return netip.AddrPort{}, false
	}
	addr, err := readMemory(int(n.tid), at, int(size))
	if err != nil {
		return netip.AddrPort{}, false
	}
	return inetAddress(addr)
}

// sendFlags are the flags of the call.
func sendFlags(n *notification) uint64 {
	if n.nr == unix.SYS_SENDMSG {
		return n.args[2]
	}
	return n.args[3]
}

func sendCallName(n *notification) string {
	switch n.nr {
	case unix.SYS_SENDMSG:
		return "sendmsg"
	case unix.SYS_SENDMMSG:
		return "sendmmsg"
	}
	return "sendto"
}
