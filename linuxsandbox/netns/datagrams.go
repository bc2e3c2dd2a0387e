//go:build linux

package netns

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"codeagent/linuxsandbox/control"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Datagrams to an allowed host are carried too. For each socket of a command that sends there, codeagent has one
// in the session's network with the address of the host:
//
//	command ── its socket ─▶ host:port, a socket of codeagent │ codeagent ── host's socket ─▶ host:port
//
// The command sees the host's own address. Its socket has a route there because codeagent marks it
// (control.CarriedMark). Threat: other sockets of the session use what one may send to. codeagent's is connected to
// the port of that one, so the kernel gives it nothing from elsewhere. Every call that gives a datagram socket a
// port, or a message a receiver, is the broker's, which ends what was carried for a port's former owner (Uncarry).

const (
	// maxDatagram is the largest datagram of IP.
	maxDatagram = 1<<16 - 1
	// idleTime is the time between two looks whether a socket still exists, and lastTime how long datagrams of a
	// command that is over are awaited.
	idleTime = 30 * time.Second
	lastTime = 10 * time.Millisecond
)

// Carry has the datagrams that the socket, a copy of the command's, sends to to carried from now on. about
// describes them for the log.
func (c *Client) Carry(is Socket, to netip.AddrPort, about sandbox.Connection) unix.Errno {
	done := make(chan error)
	// If codeagent is root, its other threads have the capabilities that the broker's thread has dropped.
	go func() { done <- c.carryDatagrams(is, to, about) }()
	errno := unix.Errno(0)
	if err := <-done; err != nil && !errors.As(err, &errno) {
		errno = unix.ENETUNREACH
	}
	return errno
}

// Uncarry ends what is carried from the socket's port to to, which the socket may not reach.
func (c *Client) Uncarry(is Socket, to netip.AddrPort) {
	if own, ok := is.bound(); ok {
		if old := c.relay.carrying(carriedKey{port: own.Port(), to: to}); old != nil {
			c.relay.drop(old)
		}
	}
}

func (r *relay) carrying(key carriedKey) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.carried[key]
}

func (c *Client) carryDatagrams(is Socket, to netip.AddrPort, about sandbox.Connection) error {
	own, ok := is.bound()
	cookie, err := unix.GetsockoptUint64(is.FD, unix.SOL_SOCKET, unix.SO_COOKIE)
	if !ok || err != nil {
		return unix.ENETUNREACH
	}
	r, domain := c.relay, domainOf(to.Addr())
	s := &stream{client: c, key: carriedKey{port: own.Port(), to: to}, cookie: cookie, local: own, to: to, host: -1, began: c.Revocations(), about: about, sent: make(chan struct{})}
	s.handed = sync.OnceFunc(func() { close(s.sent) })
	if old := r.carrying(s.key); old != nil && old.cookie == cookie && old.client == c {
		return nil
	} else if old != nil {
		r.drop(old)
	}
	if own.Addr().IsUnspecified() { // the kernel chooses the address
		s.local = netip.AddrPortFrom(loopbackLike(to.Addr()), own.Port())
	}
	inside, err := c.namespaces.socket(domain, unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	if s.host, err = unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err == nil {
		err = errors.Join(
			unix.SetsockoptInt(is.FD, unix.SOL_SOCKET, unix.SO_MARK, control.CarriedMark),
			standFor(inside, to, s.local), connectTo(s.host, to))
	}
	r.mu.Lock()
	if errno := r.refuses(s); err == nil && errno != 0 {
		err = errno
	}
	if err == nil {
		r.carried[s.key] = s
	}
	r.mu.Unlock()
	if err == nil {
		if wait := r.carry(s, inside); wait != nil {
			go wait()
			return nil
		}
		err = unix.ENOBUFS
	}
	unix.Close(inside)
	r.drop(s)
	return err
}

// standFor gives a socket of the session's network the address of a host, for what one socket there sends.
func standFor(fd int, host, to netip.AddrPort) error {
	level, option := unix.IPPROTO_IP, unix.IP_TRANSPARENT
	if host.Addr().Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_TRANSPARENT
	}
	return errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.SetsockoptInt(fd, level, option, 1),
		unix.Bind(fd, Sockaddr(host, domainOf(host.Addr()))), connectTo(fd, to))
}

func connectTo(fd int, to netip.AddrPort) error {
	return unix.Connect(fd, Sockaddr(to, domainOf(to.Addr())))
}

// moveDatagrams is move for datagrams. What cannot be delivered is lost.
func (s *stream) moveDatagrams(to, from *os.File, moved *atomic.Int64) {
	buf := make([]byte, maxDatagram)
	look := func() { _ = s.files[0].SetReadDeadline(time.Now().Add(idleTime)) }
	if from == s.files[0] {
		look()
	}
	for {
		n, err := from.Read(buf)
		errno := unix.Errno(0)
		switch {
		case err == nil || err == io.EOF: // an empty one
			deliver(to, buf[:n], moved)
		case errors.As(err, &errno): // an earlier one was refused
		case errors.Is(err, os.ErrDeadlineExceeded) && !s.last.Load() && s.exists():
			look()
		default:
			if from == s.files[0] && s.last.Load() {
				drain(to, from, buf, moved)
			}
			s.files[0].Close()
			s.files[1].Close()
			return
		}
	}
}

// drain moves what has arrived. A read after its deadline fails, whatever there is to read.
func drain(to, from *os.File, buf []byte, moved *atomic.Int64) {
	conn, err := from.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		for {
			n, err := unix.Read(int(fd), buf)
			if err != nil {
				return // EAGAIN: nothing is left
			}
			deliver(to, buf[:n], moved)
		}
	})
}

// deliver sends a datagram. A send reports first that an earlier one was refused, and sends nothing then.
func deliver(to *os.File, datagram []byte, moved *atomic.Int64) {
	_, err := to.Write(datagram)
	if errors.Is(err, unix.ECONNREFUSED) {
		_, err = to.Write(datagram)
	}
	if err == nil {
		moved.Add(int64(len(datagram)))
	}
}

// exists reports whether the command's socket may still send.
func (s *stream) exists() bool {
	now, ok := s.client.inside.find(unix.IPPROTO_UDP, s.local, s.to)
	return !ok || now.found && now.cookie == s.cookie
}

// end begins the end of a stream whose command is over.
func (s *stream) end() {
	if s.last.Store(true); s.key.port != 0 {
		_ = s.files[0].SetReadDeadline(time.Now().Add(lastTime))
	}
}
