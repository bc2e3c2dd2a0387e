//go:build linux

package sockets

import (
	"net/netip"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"

	"golang.org/x/sys/unix"
)

// quickConnect is how long a connect with O_NONBLOCK is held, so that it returns the true
// result. The time allows for the loss of a first packet. A host that takes longer counts
// as unreachable.
const quickConnect = 3 * time.Second

// dialing is a connection to a host in progress.
type dialing struct {
	n    notify.Notification
	is   netns.Socket // a copy of the command's socket
	to   netip.AddrPort
	host int
	// blocks: the command's own call would block, until the given time or forever.
	blocks bool
	until  time.Time
}

// dial connects a socket of the command to a host that it may reach.
func (s *Sockets) dial(k *socketCall, is netns.Socket, to netip.AddrPort) notify.Reply {
	flags, err := unix.FcntlInt(uintptr(is.FD), unix.F_GETFL, 0)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	d := &dialing{n: *k.Notification, is: is, to: to, host: -1, blocks: flags&unix.O_NONBLOCK == 0}
	if d.blocks {
		d.until = sendLimit(is.FD)
	} else {
		d.until = time.Now().Add(quickConnect)
	}
	if d.is.FD, err = kernel.DupAbove(is.FD, kernel.LowestFD); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	return s.inTurn(&d.n, func() { s.finishDialing(d) }, func() { unix.Close(d.is.FD) })
}

// finishDialing makes the connection to the host and the one inside, and answers.
func (s *Sockets) finishDialing(d *dialing) {
	errno := d.begin()
	for errno == unix.EINPROGRESS {
		ended, ready := s.poll(d.host, moment)
		switch {
		case ended, !d.n.Waits():
			unix.Close(d.host)
			return
		case ready:
			errno = socketError(d.host)
		case d.blocks && signalled(d.n.Thread()):
			errno = unix.EINTR
		case !d.until.IsZero() && time.Now().After(d.until):
			unix.Close(d.host)
			answer(&d.n, s.client.Lose(d.is.FD, d.is.Domain, d.to.Addr()))
			return
		}
	}
	if errno == 0 {
		s.enter(d)
		return
	}
	if d.host >= 0 {
		unix.Close(d.host)
	}
	answer(&d.n, errno)
}

// begin makes the socket in the host's network and starts to connect it.
func (d *dialing) begin() unix.Errno {
	domain := unix.AF_INET
	if d.to.Addr().Is6() {
		domain = unix.AF_INET6
	}
	var err error
	if d.host, err = unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		d.host = -1
		return kernel.ErrnoOf(err)
	}
	return netns.AddressCall(unix.SYS_CONNECT, d.host, netns.SocketAddress(d.to, domain))
}

// enter connects the command's socket after the host's is connected, and answers.
func (s *Sockets) enter(d *dialing) {
	door, errno := s.client.Join(d.is.FD, d.is.Domain, d.host, d.to)
	if errno != 0 && errno != unix.EINPROGRESS {
		unix.Close(d.host)
	}
	for errno == unix.EINPROGRESS && d.blocks {
		ended, ready := s.poll(d.is.FD, moment)
		switch {
		case ended, !d.n.Waits():
			return
		case ready:
			errno, _ = netns.ConnectNow(d.is.FD, door)
		}
	}
	answer(&d.n, errno)
}

// socketError returns the result of a connect.
func socketError(sock int) unix.Errno {
	code, err := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return kernel.ErrnoOf(err)
	}
	return unix.Errno(code)
}
