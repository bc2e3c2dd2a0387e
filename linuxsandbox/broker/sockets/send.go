//go:build linux

package sockets

import (
	"encoding/binary"
	"os"
	"slices"
	"time"
	"unsafe"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A message can name its receiver in memory, and a thread can put another socket under the number while
// the kernel reads. So the broker sends every message that could have an address: a copy of it, on a copy of
// the socket. That is why a command can have datagram sockets of AF_UNIX, each message of which reaches
// any socket with a path.

const (
	// maxSent bounds what one call sends of a stream; the program sends the rest with the next one.
	maxSent = 1 << 20
	// maxDatagram is the largest datagram of IP.
	maxDatagram = 1<<16 - 1
	// maxMessages bounds the messages of one sendmmsg; the program sends the rest with the next one.
	maxMessages = 64
	// maxPieces is the kernel's UIO_MAXIOV.
	maxPieces = 1024
	// maxControl bounds the ancillary data of a message, and maxRights its descriptors (SCM_MAX_FD).
	maxControl = 4096
	maxRights  = 253
)

// Sizes and offsets of struct msghdr and struct mmsghdr on 64-bit machines.
const (
	messageHeader = 56
	headerFlags   = 48
	messagesEach  = 64
)

// sentCall is a send that is being made. While it waits it holds the socket, and reads the command's memory
// anew when it can go on: thousands of threads may wait.
type sentCall struct {
	n    notify.Notification
	name string
	sock int
	// held are descriptors that the addresses in out refer to.
	held    []int
	domain  int
	kind    int
	flags   int
	patient bool
	until   time.Time
	out     []outgoing
	// began is the number of revocations when the receivers were judged.
	began int64
	// sent counts the messages that are sent, bytes what is sent of the present one.
	sent, bytes int
}

// outgoing is one message, by where its struct msghdr is in memory; 0 for that of a sendto. to is where it
// goes, encoded; nil for where the socket is connected.
type outgoing struct {
	at   uint64
	to   []byte
	lost bool
}

func (c *sentCall) close() {
	for _, fd := range append(c.held, c.sock) {
		unix.Close(fd)
	}
}

var sendNames = map[int32]string{unix.SYS_SENDTO: "sendto", unix.SYS_SENDMSG: "sendmsg", unix.SYS_SENDMMSG: "sendmmsg"}

// Send makes sendto, sendmsg and sendmmsg.
func (s *Sockets) Send(n *notify.Notification) notify.Reply {
	c := &sentCall{began: s.revocations.Load(), n: *n, name: sendNames[n.NR], flags: int(int32(n.Args[3]))}
	if n.NR == unix.SYS_SENDMSG {
		c.flags = int(int32(n.Args[2]))
	}
	c.flags &= passed
	var err error
	if c.sock, err = TakeFD(n.Thread(), int32(n.Args[0])); err != nil {
		return notify.Failed(s.Unread(n, c.name, sandbox.KindNetwork, err))
	}
	a, waits := s.send(c)
	if !waits {
		c.close()
		return a
	}
	return s.later(func() { s.finishSending(c) }, c.close)
}

// passed are the flags of a send that mean the same for a copy of the message. Threat: with MSG_ZEROCOPY the
// kernel would go on to read codeagent's memory after the call.
const passed = unix.MSG_OOB | unix.MSG_DONTROUTE | unix.MSG_DONTWAIT | unix.MSG_EOR | unix.MSG_CONFIRM | unix.MSG_MORE | unix.MSG_NOSIGNAL | unix.MSG_FASTOPEN

// send examines the call and tries it. waits: the command's own call would block.
func (s *Sockets) send(c *sentCall) (a notify.Reply, waits bool) {
	if c.flags&unix.MSG_FASTOPEN != 0 && s.AskInet {
		return notify.Failed(unix.EOPNOTSUPP), false
	}
	for _, option := range []struct {
		number int
		value  *int
	}{{unix.SO_DOMAIN, &c.domain}, {unix.SO_TYPE, &c.kind}} {
		var err error
		if *option.value, err = unix.GetsockoptInt(c.sock, unix.SOL_SOCKET, option.number); err != nil {
			return notify.Failed(kernel.ErrnoOf(err)), false
		}
	}
	flags, err := unix.FcntlInt(uintptr(c.sock), unix.F_GETFL, 0)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), false
	}
	if c.domain == unix.AF_NETLINK {
		c.flags |= unix.MSG_DONTWAIT // the kernel judges it by the rights of the thread that sends
	}
	if c.kind == unix.SOCK_DGRAM {
		c.flags &^= unix.MSG_MORE // it would leave later, when its receiver may have been revoked
	}
	c.patient = flags&unix.O_NONBLOCK == 0 && c.flags&unix.MSG_DONTWAIT == 0
	c.until = sendLimit(c.sock)
	if a, ok := s.judge(c); !ok {
		return a, false
	}
	return c.try()
}

// judge finds the receiver of each message. It is false if the first one goes nowhere.
func (s *Sockets) judge(c *sentCall) (a notify.Reply, ok bool) {
	at, count := uint64(0), 1
	if c.n.NR != unix.SYS_SENDTO {
		at = c.n.Args[1]
	}
	if c.n.NR == unix.SYS_SENDMMSG {
		count = int(min(uint32(c.n.Args[2]), maxMessages))
	}
	for range count {
		m := outgoing{at: at}
		name, err := c.receiverName(at)
		if err == nil && !c.n.Waits() {
			err = unix.ESRCH
		}
		deny := func() notify.Reply { return notify.Failed(s.Unread(&c.n, c.name, sandbox.KindNetwork, err)) }
		if err == nil {
			deny = s.receiver(c, &m, name)
		}
		switch {
		case deny != nil && len(c.out) > 0:
			return a, true // the program sends this one again as the first
		case deny != nil:
			return deny(), false
		}
		c.out = append(c.out, m)
		at += messagesEach
	}
	return a, true
}

// receiverName reads the address that a message names; none for where the socket is connected.
func (c *sentCall) receiverName(at uint64) ([]byte, error) {
	from, size := c.n.Args[4], uint64(uint32(c.n.Args[5]))
	if at != 0 {
		h, err := readHeader(c.n.Thread(), at)
		if err != nil {
			return nil, err
		}
		from, size = h.name, h.nameSize
	}
	if from == 0 || size == 0 {
		return nil, nil
	}
	if size > maxAddress {
		return nil, unix.EINVAL
	}
	return notify.ReadMemory(c.n.Thread(), from, int(size))
}

// receiver judges the receiver of a message, and sets it. If it may not get the message, deny answers the call.
func (s *Sockets) receiver(c *sentCall, m *outgoing, name []byte) (deny func() notify.Reply) {
	fails := func(errno unix.Errno) func() notify.Reply {
		return func() notify.Reply { return notify.Failed(errno) }
	}
	switch {
	case c.domain == unix.AF_UNIX && c.kind == unix.SOCK_DGRAM && len(name) > 0:
		return s.unixReceiver(c, m, name)
	case c.domain == unix.AF_UNIX:
		return nil // it goes where the socket is connected
	case inNetwork(c.sock, s.HostNet):
		return fails(unix.EPERM) // a granted service passed it to the command
	case c.domain == unix.AF_NETLINK && (len(name) == 0 || toKernel(name)):
		// Threat: to a message with an address the kernel lends the rights of codeagent alone, which made the
		// network. Without one the command needs them too.
		return nil
	case c.domain != unix.AF_INET && c.domain != unix.AF_INET6:
		return fails(unix.EPERM)
	case len(name) == 0, c.kind == unix.SOCK_STREAM && c.flags&unix.MSG_FASTOPEN == 0:
		return nil
	}
	to, parsed := netns.ParseAddress(name)
	if !parsed || c.domain == unix.AF_INET && to.Addr().Is6() {
		return fails(unix.EAFNOSUPPORT)
	}
	is, known := netns.SocketOf(c.sock, c.domain)
	if !known {
		return fails(unix.ENOPROTOOPT)
	}
	r := route{to: to}
	if s.AskInet {
		r = s.routeTo(&c.n, is, to)
	} else {
		r.errno, r.denied = s.sendInside(c, is, to)
	}
	switch {
	case r.denied:
		return func() notify.Reply { return s.denyHost(&c.n, c.name, to, r.errno) }
	case r.errno == unix.ECONNREFUSED:
		m.lost = true // nobody is there; only a connected socket learns that, and later
		return nil
	case r.errno != 0:
		return fails(r.errno)
	}
	m.to = netns.SocketAddress(r.to, c.domain)
	return nil
}

// unixReceiver judges the receiver of a datagram of AF_UNIX.
func (s *Sockets) unixReceiver(c *sentCall, m *outgoing, name []byte) (deny func() notify.Reply) {
	path, abstract, errno := unixName(name)
	switch {
	case errno != 0:
		return func() notify.Reply { return notify.Failed(errno) }
	case abstract && s.sharesNames(c.sock):
		return func() notify.Reply { return s.refuseSocket(&c.n, c.name, sandbox.KindSocket, shownName(path)) }
	case abstract:
		m.to = name
		return nil
	}
	file, _, deny := s.reach(&c.n, c.name, path)
	c.held = append(c.held, file)
	m.to = unixAddress(descriptorPath(file))
	return deny
}

// try sends what it can without blocking.
func (c *sentCall) try() (a notify.Reply, waits bool) {
	for c.sent < len(c.out) {
		m := &c.out[c.sent]
		n, whole, err := c.sendOne(m)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && c.patient:
			return a, true
		case err != nil && c.sent == 0 && c.bytes == 0:
			return notify.Failed(kernel.ErrnoOf(err)), false
		case err != nil:
			return c.done(), false
		}
		if c.bytes += n; c.bytes < whole && c.patient && c.kind == unix.SOCK_STREAM {
			continue // a blocking call sends all of it
		}
		c.sent++
		if c.n.NR == unix.SYS_SENDMMSG {
			if errno := writeMemory(&c.n, m.at+messageHeader, binary.NativeEndian.AppendUint32(nil, uint32(c.bytes))); errno != 0 {
				return notify.Failed(errno), false
			}
			c.bytes = 0
		}
	}
	return c.done(), false
}

// sendOne sends what is left of a message. n is what the socket took of it, and whole the bytes of the message.
func (c *sentCall) sendOne(m *outgoing) (n, whole int, err error) {
	h := header{pieces: []piece{{c.n.Args[1], c.n.Args[2]}}}
	if m.at != 0 {
		if h, err = readHeader(c.n.Thread(), m.at); err != nil {
			return 0, 0, err
		}
	}
	data, err := c.data(h.pieces)
	if err != nil {
		return 0, 0, err
	}
	var control []byte
	if h.control != 0 && h.controlSize != 0 && c.bytes == 0 {
		if h.controlSize > maxControl {
			return 0, 0, unix.EINVAL
		}
		text, err := notify.ReadMemory(c.n.Thread(), h.control, int(h.controlSize))
		if err != nil {
			return 0, 0, err
		}
		var rights []int
		control, rights, err = c.ancillary(text)
		defer func() {
			for _, fd := range rights {
				unix.Close(fd)
			}
		}()
		if err != nil {
			return 0, 0, err
		}
	}
	if !c.n.Waits() { // memory and descriptors may be another process's by now
		return 0, 0, unix.ESRCH
	}
	if m.lost {
		return len(data), len(data), nil
	}
	left, flags := data[min(c.bytes, len(data)):], c.flags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL
	message := &unix.Msghdr{Name: unsafe.SliceData(m.to), Namelen: uint32(len(m.to)), Control: unsafe.SliceData(control), Iov: &unix.Iovec{Base: unsafe.SliceData(left)}}
	message.Iov.SetLen(len(left))
	message.SetIovlen(1)
	message.SetControllen(len(control))
	sent, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(c.sock), uintptr(unsafe.Pointer(message)), uintptr(flags))
	if errno != 0 {
		return 0, len(data), errno
	}
	return int(sent), len(data), nil
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
	try := func() (notify.Reply, bool) {
		if s.revocations.Load() != c.began && slices.ContainsFunc(c.out, func(m outgoing) bool { return m.to != nil }) {
			return notify.Failed(unix.ECONNREFUSED), false // a new attempt of the program is judged anew
		}
		if !polled(c.sock, unix.POLLOUT) { // to read the message again would cost more
			return notify.Reply{}, true
		}
		return c.try()
	}
	s.again(&c.n, c.sock, unix.EPOLLOUT, c.until, try, func(errno unix.Errno) notify.Reply {
		if c.sent > 0 || c.bytes > 0 {
			return c.done()
		}
		return notify.Failed(errno)
	})
}

// polled reports whether one of the events is there, or nothing more will happen.
func polled(sock int, events int16) bool {
	fds := []unix.PollFd{{Fd: int32(sock), Events: events}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(events|unix.POLLHUP) != 0
}

// maxLater bounds the messages of a command that wait to be sent or received. Each waits in a goroutine, and
// none of them holds a thread.
const maxLater = 256

// later runs do in a goroutine. If too many wait already, the call fails.
func (s *Sockets) later(do, drop func()) notify.Reply {
	if s.waiting.Add(1) > maxLater {
		s.waiting.Add(-1)
		drop()
		return notify.Failed(unix.ENOBUFS)
	}
	s.waits.Go(func() {
		defer drop()
		defer s.waiting.Add(-1)
		do()
	})
	return notify.Reply{Given: true}
}

// again tries when the socket reports one of the events and, since the full queue of a receiver that the socket is
// not connected to reports nothing, from time to time. It does so until the call need not wait any more, its time
// is over, or a signal is for the caller, which ends it with what otherwise says.
func (s *Sockets) again(n *notify.Notification, sock int, events uint32, until time.Time, try func() (notify.Reply, bool), otherwise func(unix.Errno) notify.Reply) {
	ready, stop := readiness(sock, events)
	defer stop()
	for pause := time.Millisecond; ; pause = min(2*pause, moment/2*time.Millisecond) {
		select {
		case <-s.ending:
			return
		case <-ready:
		case <-time.After(pause):
		}
		if !n.Waits() {
			return
		}
		a, waits := try()
		switch {
		case !waits:
		case late(until):
			a = otherwise(unix.EAGAIN)
		case signalled(n.Thread()):
			a = otherwise(unix.EINTR)
		default:
			continue
		}
		_ = n.Answer(a)
		return
	}
}

// readiness receives when one of the events comes, until stop. It holds no thread: Go waits for an epoll(7).
func readiness(sock int, events uint32) (ready <-chan struct{}, stop func()) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, func() {}
	}
	_ = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, sock, &unix.EpollEvent{Events: events | unix.EPOLLET})
	_ = unix.SetNonblock(epoll, true)
	f := os.NewFile(uintptr(epoll), "epoll")
	conn, _ := f.SyscallConn() // fails only without a file
	came := make(chan struct{}, 1)
	go func() {
		var event [1]unix.EpollEvent
		for conn.Read(func(fd uintptr) bool { n, _ := unix.EpollWait(int(fd), event[:], 0); return n > 0 }) == nil {
			select {
			case came <- struct{}{}:
			default:
			}
		}
	}()
	return came, func() { f.Close() }
}

func late(until time.Time) bool { return !until.IsZero() && time.Now().After(until) }

// piece is a struct iovec.
type piece struct{ at, size uint64 }

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
	if c.domain != unix.AF_UNIX && c.kind != unix.SOCK_STREAM {
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
// else there is says where a packet leaves, which the route does. The caller closes rights, the copies of
// the descriptors, also after an error.
func (c *sentCall) ancillary(control []byte) (out []byte, rights []int, err error) {
	all, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range all {
		level, kind := one.Header.Level, one.Header.Type
		switch {
		case c.domain == unix.AF_UNIX && level == unix.SOL_SOCKET && kind == unix.SCM_RIGHTS:
			fds := one.Data[:len(one.Data)&^3] // as the kernel rounds
			if len(rights)+len(fds)/4 > maxRights {
				return nil, rights, unix.EINVAL
			}
			for ; len(fds) > 0; fds = fds[4:] {
				own, err := TakeFD(c.n.Thread(), int32(binary.NativeEndian.Uint32(fds)))
				if err != nil {
					return nil, rights, err
				}
				rights = append(rights, own)
			}
		case c.domain == unix.AF_UNIX:
			return nil, rights, unix.EPERM // the kernel would vouch for codeagent, not for the command
		case level == unix.IPPROTO_UDP && kind == unix.UDP_SEGMENT,
			level == unix.IPPROTO_IP && (kind == unix.IP_TOS || kind == unix.IP_TTL),
			level == unix.IPPROTO_IPV6 && (kind == unix.IPV6_TCLASS || kind == unix.IPV6_HOPLIMIT):
			out = append(out, encodeControl(one)...)
		}
	}
	if len(rights) > 0 {
		out = append(out, unix.UnixRights(rights...)...)
	}
	return out, rights, nil
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
