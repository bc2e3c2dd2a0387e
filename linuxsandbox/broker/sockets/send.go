//go:build linux

package sockets

import (
	"encoding/binary"
	"net/netip"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A message can name its receiver in memory, and a thread can put another socket under the number while
// the kernel reads. So where the command's sockets are in codeagent's own network (beside.go), the broker
// sends every message that could have an address: a copy of it, on a copy of the socket.

const (
	// maxSent bounds what one call sends of a stream; the program sends the rest with the next one.
	maxSent = 1 << 20
	// maxDatagram is the largest datagram of IP.
	maxDatagram = 1<<16 - 1
	// maxMessages bounds the messages of one sendmmsg; the program sends the rest with the next one.
	maxMessages = 64
	// maxPieces is the kernel's UIO_MAXIOV.
	maxPieces = 1024
	// maxControl bounds the ancillary data of a message. The kernel passes at most 253 descriptors.
	maxControl = 4096
)

// Sizes and offsets of struct msghdr and struct mmsghdr on 64-bit machines.
const (
	messageHeader = 56
	headerFlags   = 48
	messagesEach  = 64
)

// sentCall is a send that is being made.
type sentCall struct {
	n       notify.Notification
	name    string
	sock    int
	domain  int
	kind    int
	flags   int
	patient bool
	until   time.Time
	out     []outgoing
	// sent counts the messages that are sent, bytes what is sent of the present one.
	sent, bytes int
}

// outgoing is one message. rights are descriptors of codeagent's that go with it.
type outgoing struct {
	name, data []byte
	control    []byte
	rights     []int
	to         unix.Sockaddr
	// length is where sendmmsg reports the bytes that were sent; 0 for nowhere.
	length uint64
}

func (c *sentCall) close() {
	for _, m := range c.out {
		for _, fd := range m.rights {
			unix.Close(fd)
		}
	}
	unix.Close(c.sock)
}

// SendBeside makes sendto, sendmsg and sendmmsg.
func (s *Sockets) SendBeside(n *notify.Notification) notify.Reply {
	c := &sentCall{n: *n, name: sendNames[n.NR], flags: int(int32(n.Args[3]))}
	if n.NR == unix.SYS_SENDMSG {
		c.flags = int(int32(n.Args[2]))
	}
	var err error
	if c.sock, err = TakeFD(n.Thread(), int32(n.Args[0])); err != nil {
		return notify.Failed(s.Unread(n, c.name, sandbox.KindNetwork, err))
	}
	a, waits := s.send(c)
	if !waits {
		c.close()
		return a
	}
	return s.inTurn(n, func() { s.finishSending(c) }, c.close)
}

// send examines the call and tries it. waits: the command's own call would block.
func (s *Sockets) send(c *sentCall) (a notify.Reply, waits bool) {
	var err error
	if c.domain, err = unix.GetsockoptInt(c.sock, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), false
	}
	if c.kind, err = unix.GetsockoptInt(c.sock, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), false
	}
	if c.out, err = s.messages(c); err != nil {
		return notify.Failed(s.Unread(&c.n, c.name, sandbox.KindNetwork, err)), false
	}
	if !c.n.Waits() {
		return notify.Failed(unix.ESRCH), false
	}
	if c.flags&unix.MSG_FASTOPEN != 0 {
		return notify.Failed(unix.EOPNOTSUPP), false
	}
	for i := range c.out {
		to, r := s.receiver(c, &c.out[i])
		switch {
		case r.errno == 0:
			continue
		case i > 0:
			c.out = c.out[:i] // the program sends it again as the first
		case r.denied:
			return s.denyHost(&c.n, c.name, to, r.errno), false
		default:
			return notify.Failed(r.errno), false
		}
		break
	}
	flags, err := unix.FcntlInt(uintptr(c.sock), unix.F_GETFL, 0)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), false
	}
	c.patient = flags&unix.O_NONBLOCK == 0 && c.flags&unix.MSG_DONTWAIT == 0
	c.until = sendLimit(c.sock)
	return c.try()
}

// receiver judges the receiver of a message, and sets it.
func (s *Sockets) receiver(c *sentCall, m *outgoing) (to netip.AddrPort, r route) {
	switch {
	case c.domain == unix.AF_NETLINK:
		if len(m.name) > 0 && !toKernel(m.name) {
			return to, route{errno: unix.EPERM}
		}
		m.to = &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
		return to, r
	case c.domain == unix.AF_UNIX && c.kind == unix.SOCK_DGRAM:
		return to, route{errno: unix.EPERM} // each message could have an address of its own
	case c.domain == unix.AF_UNIX, c.kind == unix.SOCK_STREAM, len(m.name) == 0:
		return to, r // it goes where the socket is connected
	case c.domain != unix.AF_INET && c.domain != unix.AF_INET6:
		return to, route{errno: unix.EPERM}
	}
	to, parsed := netns.ParseAddress(m.name)
	if !parsed || c.domain == unix.AF_INET && to.Addr().Is6() {
		return to, route{errno: unix.EAFNOSUPPORT}
	}
	is, known := netns.SocketOf(c.sock, c.domain)
	if !known {
		return to, route{errno: unix.ENOPROTOOPT}
	}
	if r = s.routeTo(&c.n, is, to); r.errno == 0 {
		m.to = netns.Sockaddr(r.to, c.domain)
	}
	return to, r
}

// try sends what it can without blocking.
func (c *sentCall) try() (a notify.Reply, waits bool) {
	for c.sent < len(c.out) {
		m := &c.out[c.sent]
		control := m.control
		if len(m.rights) > 0 && c.bytes == 0 {
			control = unix.UnixRights(m.rights...)
		}
		n, err := unix.SendmsgN(c.sock, m.data[c.bytes:], control, m.to, c.flags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN && c.patient {
			return a, true
		}
		if err != nil {
			if c.sent == 0 && c.bytes == 0 {
				return notify.Failed(kernel.ErrnoOf(err)), false
			}
			return c.done(), false
		}
		if c.bytes += n; c.bytes < len(m.data) && c.patient && c.kind == unix.SOCK_STREAM {
			continue // a blocking call sends all of it
		}
		if errno := c.report(m); errno != 0 {
			return notify.Failed(errno), false
		}
		c.sent++
		if c.n.NR == unix.SYS_SENDMMSG {
			c.bytes = 0
		}
	}
	return c.done(), false
}

// report writes the number of bytes for sendmmsg.
func (c *sentCall) report(m *outgoing) unix.Errno {
	if m.length == 0 {
		return 0
	}
	return writeMemory(&c.n, m.length, binary.NativeEndian.AppendUint32(nil, uint32(c.bytes)))
}

// done is the reply: the bytes that were sent, or the messages.
func (c *sentCall) done() notify.Reply {
	if c.n.NR == unix.SYS_SENDMMSG {
		return notify.Returned(c.sent)
	}
	return notify.Returned(c.bytes)
}

// finishSending waits until the socket takes more, has failed, or the caller is gone, and answers.
func (s *Sockets) finishSending(c *sentCall) {
	for {
		ended, ready := s.poll(c.sock, moment)
		if ended || !c.n.Waits() {
			return
		}
		if ready {
			if a, waits := c.try(); !waits {
				_ = c.n.Answer(a)
				return
			}
		}
		switch {
		case c.sent > 0 || c.bytes > 0:
			if late(c.until) || signalled(c.n.Thread()) {
				_ = c.n.Answer(c.done())
				return
			}
		case late(c.until):
			answer(&c.n, unix.EAGAIN)
			return
		case signalled(c.n.Thread()):
			answer(&c.n, unix.EINTR)
			return
		}
	}
}

func late(until time.Time) bool { return !until.IsZero() && time.Now().After(until) }

// messages reads what the call sends.
func (s *Sockets) messages(c *sentCall) ([]outgoing, error) {
	n, tid := &c.n, c.n.Thread()
	if n.NR == unix.SYS_SENDTO {
		m := outgoing{}
		size := int32(n.Args[5])
		if size < 0 || size > maxAddress {
			return nil, unix.EINVAL
		}
		var err error
		if m.name, err = notify.ReadMemory(tid, n.Args[4], int(size)); err == nil {
			m.data, err = c.data([]piece{{n.Args[1], n.Args[2]}})
		}
		return []outgoing{m}, err
	}
	at, count, step := n.Args[1], 1, uint64(0)
	if n.NR == unix.SYS_SENDMMSG {
		count, step = int(min(uint32(n.Args[2]), maxMessages)), messagesEach
	}
	var out []outgoing
	for ; count > 0; count-- {
		m, err := c.message(at)
		if err != nil {
			if len(out) > 0 {
				break
			}
			return nil, err
		}
		if step > 0 {
			m.length = at + messageHeader
		}
		out = append(out, m)
		at += step
	}
	return out, nil
}

// piece is a struct iovec.
type piece struct{ at, size uint64 }

// message reads one struct msghdr.
func (c *sentCall) message(at uint64) (m outgoing, err error) {
	h, err := readHeader(c.n.Thread(), at)
	if err != nil {
		return m, err
	}
	if h.nameSize > maxAddress || h.controlSize > maxControl {
		return m, unix.EINVAL
	}
	if h.name != 0 {
		if m.name, err = notify.ReadMemory(c.n.Thread(), h.name, int(h.nameSize)); err != nil {
			return m, err
		}
	}
	if m.data, err = c.data(h.pieces); err != nil || h.control == 0 || h.controlSize == 0 {
		return m, err
	}
	control, err := notify.ReadMemory(c.n.Thread(), h.control, int(h.controlSize))
	if err == nil {
		err = c.ancillary(&m, control)
	}
	return m, err
}

// header is a struct msghdr.
type header struct {
	name, control         uint64
	nameSize, controlSize uint64
	pieces                []piece
}

func readHeader(tid int, at uint64) (h header, err error) {
	b, err := notify.ReadMemory(tid, at, messageHeader)
	if err != nil {
		return h, err
	}
	u := binary.NativeEndian.Uint64
	h = header{name: u(b), nameSize: uint64(binary.NativeEndian.Uint32(b[8:])), control: u(b[32:]), controlSize: u(b[40:])}
	count := u(b[24:])
	if count > maxPieces {
		return h, unix.EMSGSIZE
	}
	list, err := notify.ReadMemory(tid, u(b[16:]), int(count)*16)
	for ; err == nil && len(list) > 0; list = list[16:] {
		h.pieces = append(h.pieces, piece{u(list), u(list[8:])})
	}
	return h, err
}

// data reads the bytes of a message, of a stream as much as one call sends.
func (c *sentCall) data(pieces []piece) (out []byte, err error) {
	most := uint64(maxSent)
	if c.kind == unix.SOCK_DGRAM || c.kind == unix.SOCK_RAW {
		most = maxDatagram
	}
	for _, p := range pieces {
		left := most - uint64(len(out))
		if p.size > left && c.kind != unix.SOCK_STREAM {
			return nil, unix.EMSGSIZE
		}
		part, err := notify.ReadMemory(c.n.Thread(), p.at, int(min(p.size, left)))
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// ancillary takes from control what goes with the message: descriptors, and how a packet is made. What
// else there is says where a packet leaves, which the route does.
func (c *sentCall) ancillary(m *outgoing, control []byte) error {
	all, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return err
	}
	for _, one := range all {
		level, kind := one.Header.Level, one.Header.Type
		switch {
		case c.domain == unix.AF_UNIX && level == unix.SOL_SOCKET && kind == unix.SCM_RIGHTS:
			fds, err := unix.ParseUnixRights(&one)
			if err != nil {
				return err
			}
			for _, fd := range fds {
				own, err := TakeFD(c.n.Thread(), int32(fd))
				if err != nil {
					return err
				}
				m.rights = append(m.rights, own)
			}
		case c.domain == unix.AF_UNIX:
			return unix.EPERM // the kernel would vouch for codeagent, not for the command
		case level == unix.IPPROTO_UDP && kind == unix.UDP_SEGMENT,
			level == unix.IPPROTO_IP && (kind == unix.IP_TOS || kind == unix.IP_TTL),
			level == unix.IPPROTO_IPV6 && (kind == unix.IPV6_TCLASS || kind == unix.IPV6_HOPLIMIT):
			m.control = append(m.control, encodeControl(one)...)
		}
	}
	return nil
}

// encodeControl is one control message as the kernel takes it.
func encodeControl(m unix.SocketControlMessage) []byte {
	out := make([]byte, unix.CmsgSpace(len(m.Data)))
	binary.NativeEndian.PutUint64(out, uint64(unix.CmsgLen(len(m.Data))))
	binary.NativeEndian.PutUint32(out[8:], uint32(m.Header.Level))
	binary.NativeEndian.PutUint32(out[12:], uint32(m.Header.Type))
	copy(out[unix.CmsgLen(0):], m.Data)
	return out
}
