//go:build linux

package linuxsandbox

import (
	"net/netip"
	"time"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// quickConnect is how long a connect that does not wait is held, so that its answer
// is the true one; it has room for a first packet that is lost. A host that takes
// longer is taken for one that does not answer.
const quickConnect = 3 * time.Second

// dialing is a connection to a host that is being made.
type dialing struct {
	n    notify.Notification
	s    netns.Socket // a copy of the command's own
	to   netip.AddrPort
	host int
	// waits: the command's socket does, until then or for ever.
	waits bool
	until time.Time
}

// relayTo connects a socket of the command to a host that it may reach.
func (b *broker) relayTo(n *notify.Notification, s netns.Socket, to netip.AddrPort) notify.Reply {
	flags, err := unix.FcntlInt(uintptr(s.FD), unix.F_GETFL, 0)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	d := &dialing{n: *n, s: s, to: to, host: -1, waits: flags&unix.O_NONBLOCK == 0}
	if d.waits {
		d.until = sendLimit(s.FD)
	} else {
		d.until = time.Now().Add(quickConnect)
	}
	if d.s.FD, err = kernel.DupAbove(s.FD, kernel.LowestFD); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	b.waits.Go(func() { b.dial(d) })
	return notify.Reply{Given: true}
}

// dial makes both connections and answers.
func (b *broker) dial(d *dialing) {
	defer unix.Close(d.s.FD)
	if !b.turn(&d.n) {
		return
	}
	defer func() { <-b.turns }()
	errno := kernel.ErrnoOf(becomeCommand(b.rights.keep))
	if errno == 0 {
		errno = d.begin()
	}
	for errno == unix.EINPROGRESS {
		ended, ready := b.waitForEither(d.host)
		switch {
		case ended, !d.n.Waits():
			unix.Close(d.host)
			return
		case ready:
			errno = socketError(d.host)
		case d.waits && signalled(int(d.n.TID)):
			errno = unix.EINTR
		case !d.until.IsZero() && time.Now().After(d.until):
			unix.Close(d.host)
			_ = d.n.Answer(notify.Failed(b.client.Lose(d.s.FD, d.s.Domain, d.to.Addr())))
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
	_ = d.n.Answer(notify.Failed(errno))
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
		return kernel.ErrnoOf(err)
	}
	return netns.AddressCall(unix.SYS_CONNECT, d.host, netns.SocketAddress(d.to, domain))
}

// enter connects the command's socket, once the host's is connected, and answers.
func (b *broker) enter(d *dialing) {
	door, errno := b.client.Join(d.s.FD, d.s.Domain, d.host, d.to)
	if errno != 0 && errno != unix.EINPROGRESS {
		unix.Close(d.host)
	}
	for errno == unix.EINPROGRESS && d.waits {
		ended, ready := b.waitForEither(d.s.FD)
		switch {
		case ended, !d.n.Waits():
			return
		case ready:
			errno, _ = netns.ConnectNow(d.s.FD, door)
		}
	}
	_ = d.n.Answer(notify.Failed(errno))
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
		return kernel.ErrnoOf(err)
	}
	return unix.Errno(code)
}

// expectQuestions takes the questions from a socket for the caller's of n.
func (b *broker) expectQuestions(n *notify.Notification, s netns.Socket, to netip.AddrPort) {
	caller := *n
	b.client.Expect(s, to, func(q *netns.Question) bool {
		return b.posts.add(func() { b.lookUp(&caller, q) })
	})
}

// lookUp answers a question of the command for a name. It runs on the broker's
// thread.
func (b *broker) lookUp(n *notify.Notification, q *netns.Question) {
	allowed := func(name string) bool { return netns.MayLookUp(&b.judge.policy, name) }
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "lookup", Target: q.Name}
	switch {
	case allowed(q.Name):
		q.Answer()
	case !b.client.NewName(q.Name, allowed):
		q.Refuse()
	case b.held.learn(n, nil, d):
		b.held.forget()
		q.Answer()
	case q.Datagram && b.held.holds(&d):
		q.Shorten()
	case b.held.holdLookup(n, d, func(yes bool) {
		if yes {
			q.Answer()
		} else {
			q.Refuse()
		}
	}):
	default:
		if b.client.Counts(q, n.TID) {
			b.log.record(n, d)
		}
		q.Refuse()
	}
}
