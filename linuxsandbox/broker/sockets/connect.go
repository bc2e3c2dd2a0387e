//go:build linux

package sockets

import (
	"runtime"
	"strconv"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"

	"golang.org/x/sys/unix"
)

// A connection may take minutes, and the broker has other calls to answer. So it starts each
// connection without blocking. If the connection is not ready at once, a goroutine finishes it.

// connecting is a connection that is not ready yet.
type connecting struct {
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
}

func (c *connecting) close() {
	for _, fd := range append(c.held, c.sock) {
		unix.Close(fd)
	}
}

// connect connects the socket of the call, and takes ownership of held.
func (s *Sockets) connect(k *socketCall, addr []byte, held ...int) notify.Reply {
	c := &connecting{n: *k.Notification, sock: k.sock, addr: addr, domain: k.domain, held: held, stand: k.stand}
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
	return notify.Failed(errno)
}

// try connects without blocking. wait: the command's own call would block.
func (c *connecting) try() (errno unix.Errno, wait bool) {
	errno, patient := netns.ConnectNow(c.sock, c.addr)
	if c.domain == unix.AF_UNIX {
		return errno, patient && errno == unix.EAGAIN // the listener's queue is full
	}
	return errno, patient && (errno == unix.EINPROGRESS || errno == unix.EALREADY)
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
func (s *Sockets) finish(c *connecting) {
	c.until = sendLimit(c.sock)
	for {
		ended, ready := s.waitFor(c)
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
		case signalled(c.n.Thread()):
			errno = unix.EINTR
		default:
			continue
		}
		if errno == 0 && c.stand != nil {
			errno = c.stand.put(&c.n, c.sock)
		}
		answer(&c.n, errno)
		return
	}
}

// sendLimit returns when the socket's send timeout ends, which also limits connect. Zero
// means no timeout.
func sendLimit(sock int) time.Time {
	tv, err := unix.GetsockoptTimeval(sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil || tv.Nano() <= 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(tv.Nano()))
}

// moment is the longest single wait for a connection, in milliseconds.
const moment = 50

// waitFor blocks for a moment, or until the connection is ready. For AF_UNIX nothing
// signals that a full queue has room, so it returns ready to try again.
func (s *Sockets) waitFor(c *connecting) (ended, ready bool) {
	if c.domain == unix.AF_UNIX {
		c.pause = min(2*c.pause+1, moment/2)
		ended, _ = s.poll(-1, c.pause)
		return ended, true
	}
	return s.poll(c.sock, moment)
}

// poll blocks for moment milliseconds, or until sock is connected or the command ends. sock
// may be -1.
func (s *Sockets) poll(sock, moment int) (ended, ready bool) {
	fds := []unix.PollFd{{Fd: int32(s.Wake), Events: unix.POLLIN}, {Fd: int32(sock), Events: unix.POLLOUT}}
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
