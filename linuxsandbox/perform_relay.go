//go:build linux

package linuxsandbox

import (
	"net/netip"
	"slices"
	"time"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// quickConnect is how long a connect that does not wait is held, so that its answer
// is the true one; it has room for a first packet that is lost. A host that takes
// longer is taken for one that does not answer.
const quickConnect = 3 * time.Second

// mayReach reports whether the policy names an address, or a name by which a
// command of this session knows it and which may lead there: several names may
// stand for one address, and which of them a connection is for the kernel does not
// say. to is what is dialled then.
func (b *broker) mayReach(to netip.AddrPort) bool {
	if b.policy.Network.Mode != sandbox.NetworkAllow {
		return false
	}
	if b.names(sandbox.HostPort{Host: to.Addr().String(), Port: to.Port()}) {
		return true
	}
	r := b.session.net.resolver
	for _, name := range r.names.all(to.Addr()) {
		h := sandbox.HostPort{Host: name, Port: to.Port()}
		if b.names(h) && r.closed(h, to.Addr(), b.names) == "" {
			return true
		}
	}
	return false
}

// names reports whether the policy allows h as it is written.
func (b *broker) names(h sandbox.HostPort) bool { return b.policy.JudgeHost(h).Allowed }

// misled says which name led to an address that no name may lead to, with its
// port, and why not; "" where none did.
func (b *broker) misled(to netip.AddrPort) (name, note string) {
	r := b.session.net.resolver
	for _, host := range slices.Backward(r.names.all(to.Addr())) {
		h := sandbox.HostPort{Host: host, Port: to.Port()}
		if r.names.written[host] && !b.names(h) {
			continue // whoever knows the address may have known it without the name
		}
		if why := r.closed(h, to.Addr(), b.names); why != "" {
			return h.String(), h.Leads(to.Addr(), why)
		}
	}
	return "", ""
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
		d.until = time.Now().Add(quickConnect)
	}
	if d.s.fd, err = dupAbove(s.fd, lowestFD); err != nil {
		return failed(errnoOf(err))
	}
	b.waits.Go(func() { b.dial(d) })
	return reply{given: true}
}

// dial makes both connections and answers.
func (b *broker) dial(d *dialing) {
	defer unix.Close(d.s.fd)
	if !b.turn(&d.n) {
		return
	}
	defer func() { <-b.turns }()
	errno := errnoOf(becomeCommand(b.keep))
	if errno == 0 {
		errno = d.begin()
	}
	for errno == unix.EINPROGRESS {
		ended, ready := b.waitForEither(d.host)
		switch {
		case ended, !d.n.valid(b.listener):
			unix.Close(d.host)
			return
		case ready:
			errno = socketError(d.host)
		case d.waits && signalled(int(d.n.tid)):
			errno = unix.EINTR
		case !d.until.IsZero() && time.Now().After(d.until):
			unix.Close(d.host)
			_ = d.n.answer(b.listener, failed(b.session.net.relay.lose(d.s.fd, d.s.domain, d.to.Addr())))
			return
		}
	}
	if errno == 0 {
		b.enter(d)
		return
	}
	if d.host >= 0 {
		unix.Close(d.host)
	}
	_ = d.n.answer(b.listener, failed(errno))
}

// begin makes the socket outside and begins to connect it.
func (d *dialing) begin() unix.Errno {
	domain := domainOf(d.to.Addr())
	var err error
	if d.host, err = unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		d.host = -1
		return errnoOf(err)
	}
	return addressCall(unix.SYS_CONNECT, d.host, socketAddress(d.to, domain))
}

// enter connects the command's socket, once the host's is connected, and answers.
func (b *broker) enter(d *dialing) {
	c := &relayed{broker: b, to: d.to, host: d.host}
	errno := b.session.net.relay.join(d.s.fd, d.s.domain, c)
	if errno != 0 && errno != unix.EINPROGRESS {
		unix.Close(d.host)
	}
	for errno == unix.EINPROGRESS && d.waits {
		ended, ready := b.waitForEither(d.s.fd)
		switch {
		case ended, !d.n.valid(b.listener):
			return
		case ready:
			errno, _ = connectNow(d.s.fd, c.door)
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
