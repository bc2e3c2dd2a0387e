//go:build linux

package linuxsandbox

import (
	"net/netip"
	"time"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// patience of a connect that does not wait: so long it is held, that its answer is
// the true one. Then the socket waits at a late door, as it would for the host.
const heldConnect = 300 * time.Millisecond

// mayReach reports whether the policy names an address, or a name by which a
// command of this session knows it: several names may stand for one address, and
// which of them a connection is for the kernel does not say.
func (b *broker) mayReach(to netip.AddrPort) bool {
	if b.policy.Network.Mode != sandbox.NetworkAllow {
		return false
	}
	if b.policy.JudgeHost(sandbox.HostPort{Host: to.Addr().String(), Port: to.Port()}).Allowed {
		return true
	}
	for _, name := range b.session.net.resolver.names.all(to.Addr()) {
		if b.policy.JudgeHost(sandbox.HostPort{Host: name, Port: to.Port()}).Allowed {
			return true
		}
	}
	return false
}

// dialing is a connection to a host that is being made.
type dialing struct {
	n    notification
	s    inetSocket // a copy of the command's own
	to   netip.AddrPort
	host int
	// waits: the command's socket does, until then or for ever.
	waits bool
	until time.Time
}

// relayTo connects a socket of the command to a host that it may reach.
func (b *broker) relayTo(n *notification, s inetSocket, to netip.AddrPort) reply {
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	if err != nil {
		return failed(errnoOf(err))
	}
	d := &dialing{n: *n, s: s, to: to, host: -1, waits: flags&unix.O_NONBLOCK == 0}
	if d.waits {
		d.until = sendLimit(s.fd)
	} else {
		d.until = time.Now().Add(heldConnect)
	}
	if d.s.fd, err = unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, lowestFD); err != nil {
		return failed(errnoOf(err))
	}
	b.waits.Go(func() { b.dial(d) })
	return reply{given: true}
}

// dial makes both connections and answers.
func (b *broker) dial(d *dialing) {
	defer unix.Close(d.s.fd)
	select {
	case b.turns <- struct{}{}:
		defer func() { <-b.turns }()
	case <-b.ending:
		return
	}
	errno := errnoOf(becomeCommand(b.keep))
	if errno == 0 {
		errno = d.begin()
	}
	r, c := b.session.net.relay, &relayed{broker: b, to: d.to, host: -1}
	for errno == unix.EINPROGRESS {
		ended, ready := b.waitForEither(d.host)
		switch {
		case ended, c.door == nil && !d.n.valid(b.listener):
			d.giveUp()
			return
		case ready:
			errno = socketError(d.host)
		case c.door == nil && d.waits && signalled(int(d.n.tid)):
			errno = unix.EINTR
		case c.door == nil && !d.until.IsZero() && time.Now().After(d.until):
			// From here on the command is answered, and its socket waits.
			if late := r.join(d.s.fd, d.s.domain, c, false); late != unix.EINPROGRESS {
				errno = late
				break
			}
			_ = d.n.answer(b.listener, failed(unix.EINPROGRESS))
		}
	}
	switch {
	case c.door != nil && errno != 0:
		d.giveUp()
		r.decide(c, -1)
	case c.door != nil:
		r.decide(c, d.host)
	case errno != 0:
		d.giveUp()
		_ = d.n.answer(b.listener, failed(errno))
	default:
		b.enter(d, c)
	}
}

// begin makes the socket outside and begins to connect it.
func (d *dialing) begin() unix.Errno {
	domain := unix.AF_INET
	if d.to.Addr().Is6() {
		domain = unix.AF_INET6
	}
	var err error
	if d.host, err = unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		d.host = -1
		return errnoOf(err)
	}
	return addressCall(unix.SYS_CONNECT, d.host, socketAddress(d.to, domain))
}

func (d *dialing) giveUp() {
	if d.host >= 0 {
		unix.Close(d.host)
	}
}

// enter connects the command's socket, once the host's is connected, and answers.
func (b *broker) enter(d *dialing, c *relayed) {
	c.host = d.host
	errno := b.session.net.relay.join(d.s.fd, d.s.domain, c, true)
	if errno != 0 && errno != unix.EINPROGRESS {
		d.giveUp()
		_ = d.n.answer(b.listener, failed(errno))
		return
	}
	for errno == unix.EINPROGRESS && d.waits {
		ended, ready := b.waitForEither(d.s.fd)
		switch {
		case ended, !d.n.valid(b.listener):
			return
		case ready:
			errno = connectNow(d.s.fd, socketAddress(c.door.at, d.s.domain))
		}
	}
	_ = d.n.answer(b.listener, failed(errno))
}

// waitForEither blocks for a moment, less when the socket is connected before or the
// command ends.
func (b *broker) waitForEither(sock int) (ended, ready bool) {
	fds := []unix.PollFd{{Fd: int32(b.wake), Events: unix.POLLIN}, {Fd: int32(sock), Events: unix.POLLOUT}}
	if _, err := unix.Poll(fds, 50); err != nil && err != unix.EINTR {
		return true, false
	}
	return fds[0].Revents != 0, fds[1].Revents != 0
}

// socketError is how a connect went.
func socketError(sock int) unix.Errno {
	code, err := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return errnoOf(err)
	}
	return unix.Errno(code)
}
