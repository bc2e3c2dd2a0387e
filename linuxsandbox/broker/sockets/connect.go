//go:build linux

package sockets

import (
	"bytes"
	"context"
	"net/netip"
	"runtime"
	"strconv"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A connection may take minutes, and the broker has other calls to answer. So it starts each
// connection without blocking. If the connection is not ready at once, a goroutine finishes it.

// pendingConnection is a connection that is not ready yet.
type pendingConnection struct {
	n      notify.Notification
	sock   int
	addr   []byte
	domain int
	stand  *standIn
	// held are descriptors that addr refers to.
	held []int
	// pause is the time until the next try, in milliseconds.
	pause int
	// until is when the socket's send timeout ends, zero for never.
	until time.Time
	// began is the number of revocations when the connection was started.
	began int64
	// same, if set, reports whether what receives the connection is what was judged. hold keeps that open.
	hold func() (release func())
	same func() bool
	// log, if set, logs the connection.
	log func()
}

func (c *pendingConnection) close() {
	for _, fd := range append(c.held, c.sock) {
		unix.Close(fd)
	}
}

// connect connects the socket of the call, and takes ownership of held.
func (s *Sockets) connect(k *socketCall, addr []byte, held ...int) notify.Reply {
	c := &pendingConnection{n: *k.Notification, sock: k.sock, addr: addr, domain: k.domain, held: held, stand: k.stand, began: s.revocations.Load(), hold: k.hold, same: k.same, log: k.log}
	errno, wait := c.try()
	if wait {
		var err error
		if c.sock, err = kernel.DupAbove(k.sock, kernel.LowestFD); err == nil {
			return s.inTurn(&c.n, func() { s.finish(c) }, c.close)
		}
		errno = kernel.ErrnoOf(err)
	}
	for _, fd := range held {
		unix.Close(fd)
	}
	if c.log != nil && (errno == 0 || errno == unix.EINPROGRESS) {
		c.log()
	}
	return notify.Failed(errno)
}

// try connects without blocking. wait: the command's own call would block.
func (c *pendingConnection) try() (errno unix.Errno, wait bool) {
	if c.hold != nil {
		defer c.hold()()
	}
	errno, patient := netns.ConnectNow(c.sock, c.addr)
	if c.domain == unix.AF_UNIX {
		return errno, patient && errno == unix.EAGAIN // the listener's queue is full
	}
	if c.same != nil && (errno == 0 || errno == unix.EINPROGRESS) {
		return c.arrived(errno, patient)
	}
	return errno, patient && (errno == unix.EINPROGRESS || errno == unix.EALREADY)
}

// arrived judges a connection to a server of the session, which the loopback has delivered by now. If the
// server's queue is full, the connection is taken back: the kernel would try again later, and another server
// may be there then.
func (c *pendingConnection) arrived(errno unix.Errno, patient bool) (unix.Errno, bool) {
	waiting := (netns.Socket{FD: c.sock}).Connecting()
	if waiting {
		_ = netns.AddressCall(unix.SYS_CONNECT, c.sock, make([]byte, unix.SizeofSockaddrInet4))
	}
	switch {
	case !c.same():
		_ = unix.Shutdown(c.sock, unix.SHUT_RDWR)
		return unix.ECONNREFUSED, false
	case waiting && patient:
		return unix.EAGAIN, true
	case waiting:
		return unix.ECONNREFUSED, false
	case patient && errno == unix.EINPROGRESS:
		errno, _ = netns.ConnectNow(c.sock, c.addr) // it is there
	}
	return errno, patient && errno == unix.EINPROGRESS
}

// turnMoment is the time between two checks that a caller still waits.
const turnMoment = 100 * time.Millisecond

// inTurn runs do on a goroutine with the rights of the command, once it has its turn. drop
// closes what do uses. If do does not run, the caller is gone or gets EPERM.
func (s *Sockets) inTurn(n *notify.Notification, do, drop func()) notify.Reply {
	s.waits.Go(func() {
		defer drop()
		if !s.turn(n) {
			return
		}
		defer func() { <-s.turns }()
		if err := BecomeCommand(s.Caps); err != nil {
			answer(n, unix.EPERM)
			return
		}
		do()
	})
	return notify.Reply{Given: true}
}

// answer answers a call. It does nothing if the caller is gone.
func answer(n *notify.Notification, errno unix.Errno) { _ = n.Answer(notify.Failed(errno)) }

// turn waits for a turn, for as long as the caller waits.
func (s *Sockets) turn(n *notify.Notification) bool {
	for {
		select {
		case s.turns <- struct{}{}:
			return true
		case <-s.ending:
			return false
		case <-time.After(turnMoment):
			if !n.Waits() {
				return false
			}
		}
	}
}

// BecomeCommand gives the calling thread the rights of the command. The thread ends with its
// goroutine.
func BecomeCommand(caps uint64) error {
	runtime.LockOSThread()
	return kernel.KeepCaps(caps)
}

// finish waits until the connection is ready, has failed, or the caller is gone, and answers.
func (s *Sockets) finish(c *pendingConnection) {
	c.until = sendLimit(c.sock)
	for {
		ended, ready := s.waitFor(c)
		if ended || !c.n.Waits() {
			return
		}
		errno, wait := unix.EAGAIN, true
		if (c.domain == unix.AF_UNIX || s.AskInet) && s.revocations.Load() != c.began {
			answer(&c.n, unix.ECONNREFUSED) // a new attempt of the program is judged anew
			return
		}
		if ready {
			errno, wait = c.try()
		}
		switch {
		case !wait:
		case late(c.until):
			if c.domain != unix.AF_UNIX {
				errno = unix.EINPROGRESS
			}
		case signalled(c.n.Thread()):
			errno = unix.EINTR
		default:
			continue
		}
		if errno == 0 && s.AskInet && s.revocations.Load() != c.began {
			_ = unix.Shutdown(c.sock, unix.SHUT_RDWR) // it was cut before it was there
			errno = unix.ECONNREFUSED
		}
		if errno == 0 && c.stand != nil {
			errno = c.n.Place(c.sock, c.stand.number, c.stand.flags)
		}
		if errno == 0 && c.log != nil {
			c.log()
		}
		answer(&c.n, errno)
		return
	}
}

// sendLimit returns when the socket's send timeout ends, which also limits connect. Zero
// means no timeout.
func sendLimit(sock int) time.Time { return timeLimit(sock, unix.SO_SNDTIMEO) }

// timeLimit returns when a timeout of the socket ends that begins now. Zero means no timeout.
func timeLimit(sock, option int) time.Time {
	tv, err := unix.GetsockoptTimeval(sock, unix.SOL_SOCKET, option)
	if err != nil || tv.Nano() <= 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(tv.Nano()))
}

// moment is the longest single wait for a connection, in milliseconds.
const moment = 50

// waitFor blocks for a moment, or until the connection is ready. For AF_UNIX, and for a server of the session
// in codeagent's own network, nothing signals that a full queue has room, so it returns ready to try again.
func (s *Sockets) waitFor(c *pendingConnection) (ended, ready bool) {
	if c.domain == unix.AF_UNIX || c.same != nil {
		c.pause = min(2*c.pause+1, moment/2)
		ended, _ = s.poll(-1, c.pause)
		return ended, true
	}
	return s.poll(c.sock, moment)
}

// poll blocks for moment milliseconds, or until sock is connected or the command ends. sock
// may be -1.
func (s *Sockets) poll(sock, moment int) (ended, ready bool) {
	return s.pollFor(sock, unix.POLLOUT, moment)
}

func (s *Sockets) pollFor(sock int, events int16, moment int) (ended, ready bool) {
	fds := []unix.PollFd{{Fd: int32(s.Wake), Events: unix.POLLIN}, {Fd: int32(sock), Events: events}}
	if _, err := unix.Poll(fds, moment); err != nil && err != unix.EINTR {
		return true, false
	}
	return fds[0].Revents != 0, fds[1].Revents != 0
}

// signalled reports whether a signal with a handler is pending for the thread.
func signalled(tid int) bool {
	status, err := kernel.ReadSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return false
	}
	set := func(name string) uint64 {
		v, _ := strconv.ParseUint(kernel.StatusField(status, name), 16, 64)
		return v
	}
	return (set("SigPnd:")|set("ShdPnd:"))&set("SigCgt:")&^set("SigBlk:") != 0
}

// quickConnect is how long a connect with O_NONBLOCK is held, so that it returns the true
// result. The time allows for the loss of a first packet. A host that takes longer counts
// as unreachable.
const quickConnect = 3 * time.Second

// pendingDial is a connection to a host in progress.
type pendingDial struct {
	n    notify.Notification
	is   netns.Socket // a copy of the command's socket
	to   netip.AddrPort
	host int
	// door is where the command's socket connects inside, once that has begun and host is the relay's.
	door []byte
	// blocks: the command's own call would block, until the given time or forever.
	blocks bool
	until  time.Time
	// began is the number of revocations when the connection was allowed.
	began int64
	// tunnel is set if the host is reached through a proxy.
	tunnel *netns.Tunnel
	// about describes it for the log.
	about sandbox.Connection
}

// dial connects a socket of the command to a host that it may reach.
func (s *Sockets) dial(k *socketCall, is netns.Socket, to netip.AddrPort, tunnel *netns.Tunnel) notify.Reply {
	flags, err := unix.FcntlInt(uintptr(is.FD), unix.F_GETFL, 0)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	d := &pendingDial{tunnel: tunnel, n: *k.Notification, is: is, to: to, host: -1, blocks: flags&unix.O_NONBLOCK == 0, began: s.client.Revocations(), about: s.connection(k.Notification, is, to)}
	if d.blocks {
		d.until = sendLimit(is.FD)
	} else {
		d.until = time.Now().Add(quickConnect)
	}
	if d.is.FD, err = kernel.DupAbove(is.FD, kernel.LowestFD); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	// A near host is there at once, and while a far one answers, the thread starts that waits for it.
	if tunnel == nil && len(s.turns) < maxConnecting {
		if errno, over := s.advance(d, 0); over {
			d.close()
			return notify.Failed(errno)
		}
	}
	return s.inTurn(&d.n, func() { s.finishDialing(d) }, d.close)
}

func (d *pendingDial) close() {
	unix.Close(d.is.FD)
	if d.door == nil && d.host >= 0 {
		unix.Close(d.host)
	}
}

// finishDialing makes the connection to the host and the one inside, and answers.
func (s *Sockets) finishDialing(d *pendingDial) {
	for {
		errno, over := s.advance(d, moment)
		ended, outside := false, d.door == nil
		if !over {
			ended, _ = s.poll(-1, 0)
		}
		switch {
		case over:
			answer(&d.n, errno)
		case ended, !d.n.Waits():
		case outside && d.blocks && signalled(d.n.Thread()):
			answer(&d.n, unix.EINTR)
		case outside && late(d.until) && d.blocks:
			answer(&d.n, unix.EINPROGRESS) // as the kernel does after SO_SNDTIMEO
		case outside && late(d.until):
			answer(&d.n, unix.ETIMEDOUT)
		default:
			continue
		}
		return
	}
}

// begin makes the socket in the host's network and starts to connect it, to the host or to its proxy.
func (s *Sockets) begin(d *pendingDial) unix.Errno {
	to := d.to
	if d.tunnel != nil {
		ctx, cancel := context.WithTimeout(context.Background(), quickConnect)
		proxy, ok := s.Network.Resolve(ctx, d.tunnel)
		cancel()
		if !ok {
			return unix.EHOSTUNREACH
		}
		to = proxy
	}
	domain := unix.AF_INET
	if to.Addr().Is6() {
		domain = unix.AF_INET6
	}
	var err error
	if d.host, err = unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		d.host = -1
		return kernel.ErrnoOf(err)
	}
	return netns.AddressCall(unix.SYS_CONNECT, d.host, netns.SocketAddress(to, domain))
}

// maxAnswer bounds the head of a proxy's answer.
const maxAnswer = 16 << 10

// ask asks the proxy for a tunnel. What follows the head of its answer is the host's, and stays in the socket.
func (s *Sockets) ask(d *pendingDial) unix.Errno {
	if n, err := unix.Write(d.host, d.tunnel.Request); err != nil || n < len(d.tunnel.Request) {
		return unix.ECONNREFUSED
	}
	head := make([]byte, maxAnswer)
	for end := time.Now().Add(proxyTime); ; time.Sleep(moment / 10 * time.Millisecond) {
		ended, _ := s.pollFor(d.host, unix.POLLIN, moment)
		n, _, err := unix.Recvfrom(d.host, head, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case ended || !d.n.Waits() || late(end) || n == maxAnswer || n == 0 && err == nil, err != nil && err != unix.EAGAIN && err != unix.EINTR:
			return unix.ECONNREFUSED
		case err == nil:
			if i := bytes.Index(head[:n], []byte("\r\n\r\n")); i >= 0 {
				_, _, err = unix.Recvfrom(d.host, head[:i+4], unix.MSG_DONTWAIT)
				if version, status, _ := bytes.Cut(head[:i], []byte(" ")); err != nil || !bytes.HasPrefix(version, []byte("HTTP/1.")) || !bytes.HasPrefix(status, []byte("200")) {
					return unix.ECONNREFUSED
				}
				return 0
			}
		}
	}
}

// proxyTime is the longest that a proxy takes to reach a host.
const proxyTime = 30 * time.Second

// advance does what it can within that many milliseconds: it connects to the host, and then the command's
// socket. over: errno is the result.
func (s *Sockets) advance(d *pendingDial, millis int) (errno unix.Errno, over bool) {
	errno = unix.EINPROGRESS
	if d.door == nil {
		if d.host < 0 {
			errno = s.begin(d)
		}
		if errno == unix.EINPROGRESS {
			if _, ready := s.poll(d.host, millis); !ready {
				return 0, false
			}
			errno = socketError(d.host)
		}
		if errno == 0 && d.tunnel != nil {
			errno = s.ask(d)
		}
		if errno == 0 {
			d.door, errno = s.client.Join(d.is.FD, d.is.Domain, d.host, d.to, d.began, d.about)
		}
		if d.door == nil {
			return errno, true
		}
	}
	if errno == unix.EINPROGRESS && d.blocks {
		if _, ready := s.poll(d.is.FD, millis); !ready {
			return 0, false
		}
		errno, _ = netns.ConnectNow(d.is.FD, d.door)
	}
	return errno, errno != unix.EINPROGRESS || !d.blocks
}

// socketError returns the result of a connect.
func socketError(sock int) unix.Errno {
	code, err := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return kernel.ErrnoOf(err)
	}
	return unix.Errno(code)
}
