//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"net/netip"

	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// Datagrams name their receiver each, and from the session's own network none
// gets further than the loopback. The broker is asked to know who was meant, and
// lets them proceed: whatever the kernel reads then, it stays inside.

// sendCall answers sendto, sendmsg and sendmmsg.
func (b *broker) sendCall(n *notify.Notification) notify.Reply {
	addr, err := receiver(n)
	if err != nil {
		return notify.Failed(b.deny.unread(n, sendCallName(n), sandbox.KindNetwork, err))
	}
	to, ok := netns.ParseAddress(addr)
	if !ok {
		return b.rules.Proceed(notify.ByNetwork)
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	fd, err := takeFD(int(n.TID), int32(n.Args[0]))
	if err != nil {
		return notify.Failed(b.deny.unread(n, sendCallName(n), sandbox.KindNetwork, err))
	}
	defer unix.Close(fd)
	b.noteReceiver(n, fd, to)
	return b.rules.Proceed(notify.ByNetwork)
}

// noteReceiver writes down whom a message is for, if it will not get there.
func (b *broker) noteReceiver(n *notify.Notification, fd int, to netip.AddrPort) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_INET && domain != unix.AF_INET6 {
		return
	}
	// A stream goes by whom it is connected to, but for its first words (TCP Fast
	// Open), which no broker could carry further.
	s, ok := netns.SocketOf(fd, domain)
	if !ok || s.Protocol == unix.IPPROTO_TCP && sendFlags(n)&unix.MSG_FASTOPEN == 0 {
		return
	}
	d := b.session.net.Unreached(&b.judge.policy, to)
	d.Operation = sendCallName(n)
	switch {
	case b.session.net.NameServer(to):
		b.expectQuestions(n, s, to)
		return
	case !to.Addr().IsLoopback():
		d.Errno = unix.ErrnoName(unix.ENETUNREACH)
	case !b.session.net.ServedByHost(s.Protocol, to):
		return
	}
	b.log.record(n, d)
}

// receiver is the address in a call, empty where it has none. Of several messages it
// is that of the first: what keeps a later one back keeps it back again when it is
// sent anew, as the first.
func receiver(n *notify.Notification) ([]byte, error) {
	at, size := n.Args[4], int32(n.Args[5])
	switch {
	case n.NR == unix.SYS_SENDMMSG && uint32(n.Args[2]) == 0:
		return nil, nil
	case n.NR != unix.SYS_SENDTO:
		// struct mmsghdr begins with a struct msghdr, and that with name and length.
		head, err := notify.ReadMemory(int(n.TID), n.Args[1], 12)
		if err != nil {
			return nil, err
		}
		at, size = binary.NativeEndian.Uint64(head), min(int32(binary.NativeEndian.Uint32(head[8:])), maxAddress)
	}
	switch {
	case at == 0 || size == 0:
		return nil, nil
	case size < 0 || size > maxAddress:
		return nil, unix.EINVAL
	}
	return notify.ReadMemory(int(n.TID), at, int(size))
}

// sendFlags are the flags of the call.
func sendFlags(n *notify.Notification) uint64 {
	if n.NR == unix.SYS_SENDMSG {
		return n.Args[2]
	}
	return n.Args[3]
}

func sendCallName(n *notify.Notification) string {
	switch n.NR {
	case unix.SYS_SENDMSG:
		return "sendmsg"
	case unix.SYS_SENDMMSG:
		return "sendmmsg"
	}
	return "sendto"
}
