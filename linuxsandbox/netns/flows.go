//go:build linux

package netns

import (
	"maps"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Where a command's own socket is connected to a host, the kernel counts the bytes. codeagent keeps no copy of
// such a socket: then close(2) in the command would not end the connection. The kernel reports each TCP socket of
// its network that ends, to every user, with its counts (sock_diag(7), SKNLGRP_INET_TCP_DESTROY; Linux 4.2). It
// counts the end of what a host sends as one byte.

// flows are the connections of commands' own sockets, by the sockets' cookies.
type flows struct {
	mu   sync.Mutex
	open map[uint64]flow
	// reports receives the kernel's reports while a connection is open. It is nil before the first one, and
	// where the kernel makes none.
	reports *os.File
	conn    syscall.RawConn
	closed  bool
}

// flow is one connection. local is the socket's address, to the host's.
type flow struct {
	client    *Client
	about     sandbox.Connection
	local, to netip.AddrPort
}

const (
	// maxFlows bounds the open connections whose bytes are known.
	maxFlows = 1 << 12
	// settleTime bounds the wait, at the end of a command, for reports about its sockets.
	settleTime = 100 * time.Millisecond
	// tcpDestroy is SKNLGRP_INET_TCP_DESTROY (linux/sock_diag.h).
	tcpDestroy = 1
)

func newFlows() *flows { return &flows{open: map[uint64]flow{}} }

// Opened notes that sock, a copy of the command's TCP socket, was connected to a host.
func (c *Client) Opened(sock int, to netip.AddrPort, about sandbox.Connection) {
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	local, ok := LocalAddress(sock)
	s := c.beside.flows
	s.mu.Lock()
	old, reused := s.open[cookie] // it was disconnected, which set its counts to 0
	kept := err == nil && ok && (reused || len(s.open) < maxFlows) && s.listen()
	if kept {
		s.open[cookie] = flow{c, about, local, to}
	}
	s.mu.Unlock()
	if reused {
		old.end(nil)
	}
	if !kept {
		c.ended(unmeasured(about))
	}
}

// listen has the kernel report from now on. It reports false if that is impossible. The caller holds mu.
func (s *flows) listen() bool {
	if s.closed {
		return false
	}
	if s.reports == nil {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
		if err != nil {
			return false
		}
		if unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil { // without a port of its own it receives nothing
			unix.Close(fd)
			return false
		}
		s.reports, s.conn = openFile(fd, "ended connections")
		go s.follow(s.conn)
	}
	return len(s.open) > 0 || s.member(unix.NETLINK_ADD_MEMBERSHIP) == nil
}

// member begins or ends the kernel's reports: without an open connection, those about other programs would
// wake codeagent.
func (s *flows) member(option int) (err error) {
	failed := s.conn.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_NETLINK, option, tcpDestroy) })
	if failed != nil {
		return failed
	}
	return err
}

// follow receives reports until the socket is closed.
func (s *flows) follow(conn syscall.RawConn) {
	m := make([]byte, 4096)
	for {
		var n int
		var err error
		if conn.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), m)
			return err != unix.EAGAIN
		}) != nil {
			return
		}
		if err == unix.ENOBUFS || err == unix.EINTR {
			continue // reports were lost, and settle finds what is missing
		}
		if err != nil {
			return
		}
		if is, ok := parseInetDiag(m[:n]); ok {
			s.finish(is.cookie, is.bytes, is.bytes != nil)
		}
	}
}

// finish removes a connection, and passes it on if it was one. It holds mu meanwhile: settle finds each
// connection open or passed on.
func (s *flows) finish(cookie uint64, bytes *sandbox.Bytes, was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.open[cookie]
	if !ok {
		return
	}
	if delete(s.open, cookie); len(s.open) == 0 && !s.closed {
		_ = s.member(unix.NETLINK_DROP_MEMBERSHIP)
	}
	if was {
		f.end(bytes)
	}
}

// end passes a connection on; bytes is nil if they are not known.
func (f flow) end(bytes *sandbox.Bytes) {
	if f.about.Bytes = bytes; bytes == nil {
		f.about = unmeasured(f.about)
	}
	f.client.ended(f.about)
}

func unmeasured(c sandbox.Connection) sandbox.Connection {
	c.Unmeasured = c.Count
	return c
}

// settle ends the connections of a command that has ended. Of a socket that still sends, the kernel's counts
// are as good as its last.
func (s *flows) settle(c *Client, diag *inetDiag) {
	for end := time.Now().Add(settleTime); ; time.Sleep(time.Millisecond) {
		late, left := time.Now().After(end), 0
		for cookie, f := range s.of(c) {
			is, ok := diag.find(unix.IPPROTO_TCP, f.local, f.to)
			known := ok && is.found && is.cookie == cookie
			if !known && !late {
				left++
				continue
			}
			s.finish(cookie, is.bytes, !known || is.bytes != nil)
		}
		if left == 0 {
			return
		}
	}
}

// of returns the connections of one command.
func (s *flows) of(c *Client) map[uint64]flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := maps.Clone(s.open)
	maps.DeleteFunc(out, func(_ uint64, f flow) bool { return f.client != c })
	return out
}

func (s *flows) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed = true; s.reports != nil {
		s.reports.Close()
	}
}
