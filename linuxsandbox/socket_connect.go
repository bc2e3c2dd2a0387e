//go:build linux

package linuxsandbox

import (
	"sync"
	"time"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// A connection may take minutes, and the broker has others to answer. So it is
// begun without waiting, and what is not ready then is finished beside.

// maxConnecting bounds the connections of one command that are waited for at
// the same time; what comes after waits for its turn.
const maxConnecting = 64

// socketWork is what a broker has to do with sockets.
type socketWork struct {
	// waits counts the connections that are being waited for, turns has a
	// place for each that has its turn, and ending is closed when none has to be
	// waited for any more.
	waits  sync.WaitGroup
	turns  chan struct{}
	ending chan struct{}
	// stand is where the socket of the call that is being answered goes, or nil.
	stand *standIn
	// client is the command in the session's network, nil: there is none.
	client *netns.Client
}

func newSocketWork(net *netns.Network) socketWork {
	return socketWork{turns: make(chan struct{}, maxConnecting), ending: make(chan struct{}), client: net.NewClient()}
}

// endSockets waits until nothing is left that would use the listener.
func (b *broker) endSockets() {
	close(b.ending)
	b.end()
	b.waits.Wait()
}

// connecting is a connection that is not ready.
type connecting struct {
	n      notify.Notification
	sock   int
	addr   []byte
	domain int
	stand  *standIn
	// held are descriptors that addr names.
	held []int
	// pause is how long to wait for the next try, in milliseconds.
	pause int
	// until is when the socket's own time limit ends, or zero.
	until time.Time
}

func (c *connecting) close() {
	for _, fd := range append(c.held, c.sock) {
		unix.Close(fd)
	}
}

// connect connects sock, which stays the caller's, and takes held over.
func (b *broker) connect(n *notify.Notification, sock int, addr []byte, domain int, held ...int) notify.Reply {
	c := &connecting{n: *n, sock: sock, addr: addr, domain: domain, held: held, stand: b.stand}
	errno, wait := c.try()
	if wait {
		var err error
		if c.sock, err = kernel.DupAbove(sock, kernel.LowestFD); err == nil {
			b.waits.Go(func() { b.finish(c) })
			return notify.Reply{Given: true}
		}
		errno = kernel.ErrnoOf(err)
	}
	for _, fd := range held {
		unix.Close(fd)
	}
	return notify.Failed(errno)
}

// try connects without waiting. wait tells that the command wants to wait for it.
func (c *connecting) try() (errno unix.Errno, wait bool) {
	errno, patient := netns.ConnectNow(c.sock, c.addr)
	if c.domain == unix.AF_UNIX {
		return errno, patient && errno == unix.EAGAIN // the listener's queue is full
	}
	return errno, patient && (errno == unix.EINPROGRESS || errno == unix.EALREADY)
}

// turn waits for a turn, as long as the caller does.
func (b *broker) turn(n *notify.Notification) bool {
	for {
		select {
		case b.turns <- struct{}{}:
			return true
		case <-b.ending:
			return false
		case <-time.After(heldMillis * time.Millisecond):
			if !n.Waits() {
				return false
			}
		}
	}
}

// finish waits until the connection is there, has failed, or nobody wants it
// any more, and answers.
func (b *broker) finish(c *connecting) {
	defer c.close()
	if !b.turn(&c.n) {
		return
	}
	defer func() { <-b.turns }()
	if err := becomeCommand(b.rights.keep); err != nil {
		_ = c.n.Answer(notify.Failed(unix.EPERM))
		return
	}
	c.until = sendLimit(c.sock)
	for {
		ended, ready := b.waitFor(c)
		if ended || !c.n.Waits() {
			return
		}
		errno, wait := unix.EAGAIN, true
		if ready {
			errno, wait = c.try()
		}
		switch {
		case !wait:
		case !c.until.IsZero() && time.Now().After(c.until):
			if c.domain != unix.AF_UNIX {
				errno = unix.EINPROGRESS
			}
		case signalled(int(c.n.TID)):
			errno = unix.EINTR
		default:
			continue
		}
		if errno == 0 && c.stand != nil {
			errno = c.stand.put(&c.n, c.sock)
		}
		_ = c.n.Answer(notify.Failed(errno))
		return
	}
}

// sendLimit is when the socket's time limit for sending ends, which connect keeps
// too; zero where it has none.
func sendLimit(sock int) time.Time {
	tv, err := unix.GetsockoptTimeval(sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil || tv.Nano() <= 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(tv.Nano()))
}

// waitFor blocks for a moment, less when the connection is ready before. A full
// queue cannot be waited for: it is tried again.
func (b *broker) waitFor(c *connecting) (ended, ready bool) {
	fds := []unix.PollFd{{Fd: int32(b.wake), Events: unix.POLLIN}, {Fd: int32(c.sock), Events: unix.POLLOUT}}
	moment := 50
	if c.domain == unix.AF_UNIX {
		c.pause = min(2*c.pause+1, moment/2)
		fds, moment = fds[:1], c.pause
	}
	_, err := unix.Poll(fds, moment)
	if err != nil && err != unix.EINTR {
		return true, false
	}
	return fds[0].Revents != 0, len(fds) == 1 || fds[1].Revents != 0
}
