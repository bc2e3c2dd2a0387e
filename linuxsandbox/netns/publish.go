//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A port on which a command listens can be published: codeagent listens at an address of the host's
// loopback, and carries each connection to the command's socket.
//
//	browser ──▶ 127.73.21.4:5173, a socket of codeagent │ a socket in the session's network ──▶ command
//
// A child of codeagent makes a socket in the session's network for each connection (Namespaces.socket).

// listening is a socket on which a command listens. at is how it is reached from inside.
type listening struct {
	at     netip.AddrPort
	cookie uint64
}

// maxListening bounds the listening sockets that are remembered for a command, and maxCarried the open
// connections of a published port: the next one waits.
const (
	maxListening = 64
	maxCarried   = 128
)

// Listens records that the command listens on sock, a copy of its socket. It returns the port; 0 if the
// port cannot be published.
func (c *Client) Listens(sock int) uint16 {
	at, ok := LocalAddress(sock)
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if !ok || err != nil {
		return 0
	}
	only, err := unix.GetsockoptInt(sock, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY)
	if at.Addr() == netip.IPv6Unspecified() && err == nil && only == 0 {
		at = netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port()) // it takes IPv4 too
	}
	at = netip.AddrPortFrom(meant(at.Addr()), at.Port())
	c.relay.mu.Lock()
	defer c.relay.mu.Unlock()
	if len(c.listening) >= maxListening {
		c.listening = c.listening[1:]
	}
	c.listening = append(c.listening, listening{at, cookie})
	return at.Port()
}

// server returns where the command itself listens on the port now.
func (c *Client) server(port uint16) (netip.AddrPort, bool) {
	c.relay.mu.Lock()
	list := c.listening
	c.relay.mu.Unlock()
	for i := len(list) - 1; i >= 0; i-- {
		if l := list[i]; l.at.Port() == port {
			if s, ok := c.inside.find(unix.IPPROTO_TCP, l.at, netip.AddrPortFrom(l.at.Addr(), 0)); ok && s.found && s.cookie == l.cookie {
				return l.at, true
			}
		}
	}
	return netip.AddrPort{}, false
}

// publication is a published port of a command.
type publication struct {
	client *Client
	port   uint16
	at     netip.AddrPort
	file   *os.File
	// turns has room for one entry for each open connection.
	turns chan struct{}
	// open are the connections, nil once no more are taken; guarded by the relay's mu.
	open map[*stream]bool
}

// Publish serves a port of the command at an address of the host's loopback, with the same port if
// that is free, until stop is called or the command ends. Only programs of codeagent's user and of root
// are served. It returns the address.
func (c *Client) Publish(port uint16, host netip.Addr) (at netip.AddrPort, stop func(), err error) {
	if !host.Is4() || !host.IsLoopback() {
		return at, nil, fmt.Errorf("%s is not an IPv4 address of the loopback", host)
	}
	fd, err := listenOn(netip.AddrPortFrom(host, port))
	if err != nil {
		fd, err = listenOn(netip.AddrPortFrom(host, 0))
	}
	if err != nil {
		return at, nil, err
	}
	at, _ = LocalAddress(fd)
	if _, ok := c.host.find(unix.IPPROTO_TCP, at, netip.AddrPortFrom(host, 0)); !ok {
		unix.Close(fd)
		return at, nil, errors.New("the kernel does not say whose a connection is (sock_diag)")
	}
	file, conn := openFile(fd, "published")
	p := &publication{client: c, port: port, at: at, file: file, turns: make(chan struct{}, maxCarried), open: map[*stream]bool{}}
	c.relay.mu.Lock()
	defer c.relay.mu.Unlock()
	if c.published == nil {
		file.Close()
		return at, nil, errors.New("the command has ended")
	}
	c.published[p] = true
	go p.serve(conn)
	return at, p.stop, nil
}

// listenOn makes a listening socket of the host.
func listenOn(at netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen on %s: %w", at, err)
	}
	return fd, nil
}

// unpublish ends all that the command published; it can publish nothing more.
func (c *Client) unpublish() {
	c.relay.mu.Lock()
	list := c.published
	c.published = nil
	c.relay.mu.Unlock()
	for p := range list {
		p.stop()
	}
}

// stop closes the port and resets its connections.
func (p *publication) stop() {
	r := p.client.relay
	r.mu.Lock()
	delete(p.client.published, p)
	open := p.open
	p.open = nil
	r.mu.Unlock()
	p.file.Close()
	for s := range open {
		r.cut(s)
	}
}

// serve accepts connections until the port is closed.
func (p *publication) serve(conn syscall.RawConn) {
	eachAccepted(conn, func(fd int, peer unix.Sockaddr) {
		p.turns <- struct{}{}
		go func() {
			defer func() { <-p.turns }()
			if from, ok := AddressOf(peer); !ok || !p.ours(from) || !p.carry(fd) {
				resetOnClose(fd)
				unix.Close(fd)
			}
		}()
	})
}

// ours reports whether the other end of a connection belongs to codeagent's user or to root.
func (p *publication) ours(from netip.AddrPort) bool {
	s, ok := p.client.host.find(unix.IPPROTO_TCP, from, p.at)
	return ok && s.found && (s.uid == 0 || s.uid == uint32(os.Geteuid()))
}

// carry connects to the command and copies bytes in both directions until both ends are shut. It reports false if
// there was no connection; fd is then still the caller's.
func (p *publication) carry(fd int) bool {
	to, ok := p.client.server(p.port)
	if !ok {
		return false
	}
	own, err := p.client.dial(to)
	if err != nil {
		return false
	}
	r, s := p.client.relay, &stream{host: fd, handed: func() {}}
	r.mu.Lock()
	if p.open == nil {
		r.mu.Unlock()
		unix.Close(own)
		return false
	}
	p.open[s] = true
	r.mu.Unlock()
	if wait := r.carry(s, own); wait != nil {
		wait()
	} else {
		unix.Close(own)
		r.drop(s)
	}
	r.mu.Lock()
	delete(p.open, s)
	r.mu.Unlock()
	return true
}

// insidePatience bounds the wait for a socket or a connection in the session's network, where
// commands may have filled a queue.
const insidePatience = 3 * time.Second

// errInside: see insidePatience.
var errInside = errors.New("the session's network does not answer")

// dial connects a new socket of the session's network to an address there.
func (n *Network) dial(to netip.AddrPort) (int, error) {
	fd, err := n.namespaces.socket(domainOf(to.Addr()), unix.SOCK_STREAM)
	if err != nil {
		return -1, err
	}
	if err = reach(fd, to); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// reach connects a socket that does not block.
func reach(fd int, to netip.AddrPort) error {
	errno := AddressCall(unix.SYS_CONNECT, fd, SocketAddress(to, domainOf(to.Addr())))
	if errno != unix.EINPROGRESS {
		if errno == 0 {
			return nil
		}
		return errno
	}
	fds, until := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, time.Now().Add(insidePatience)
	for {
		n, err := unix.Poll(fds, int(max(time.Until(until), 0).Milliseconds()))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return errInside
		default:
			if code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || code != 0 {
				return unix.Errno(code)
			}
			return nil
		}
	}
}
