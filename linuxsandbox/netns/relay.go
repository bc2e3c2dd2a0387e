//go:build linux

package netns

import (
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A command that may reach a host never holds a socket of the host's network: it could connect the
// socket elsewhere, listen on it, or route its packets differently. Its own socket, in the
// session's network, is connected to codeagent, which carries the stream to the host and back:
//
//	command ── its socket ─▶ relay, on the loopback of the session │ codeagent ── host's socket ─▶ host:port
//
// The broker connects to the host first and inside second, so the command's call fails with the
// errno that it would have without a sandbox. The command's socket retains its options and its
// epoll(7) registrations.

// relay carries the connections of one session.
type relay struct {
	doors []relayDoor

	mu sync.Mutex
	// expected holds the streams whose sockets were connected to a door but not yet accepted, by
	// the addresses of these sockets. mu guards it and all fields below.
	expected map[netip.AddrPort]*stream
	// carried holds all streams, by the command's socket.
	carried map[carriedKey]*stream
	closed  bool
}

// relayDoor is a listening socket in the session's network.
type relayDoor struct {
	at   netip.AddrPort
	file *os.File
}

// carriedKey identifies the command's socket of a stream: by its cookie or, for datagrams, by its port and their
// receiver.
type carriedKey struct {
	cookie uint64
	port   uint16
	to     netip.AddrPort
}

// stream is one connection, or the datagrams between a socket and a host.
type stream struct {
	client *Client
	key    carriedKey
	cookie uint64
	// began is the client's number of revocations when the connection was allowed.
	began int64
	// since is when the command's socket began to connect.
	since time.Time
	// local is the address of the command's socket. to is the host to which the command believes it
	// is connected.
	local, to netip.AddrPort
	// host is the socket outside; -1 once files has it.
	host int
	// files are both ends, once both exist.
	files [2]*os.File
	// sent is closed, by handed, when all that the command wrote was passed on.
	sent   chan struct{}
	handed func()
	// about describes it for the log; up and down count what the command sent and received.
	about    sandbox.Connection
	up, down atomic.Int64
	over     bool // it was dropped
	// last: the command is over.
	last atomic.Bool
}

const (
	// maxRelayed bounds the connections of a session.
	maxRelayed = 1024
	// expectTime is longer than the kernel tries to connect. A command can close a socket before the queue of
	// a door has room for it.
	expectTime = 3 * time.Minute
)

func newRelay() *relay {
	return &relay{expected: map[netip.AddrPort]*stream{}, carried: map[carriedKey]*stream{}}
}

// serve takes over a door and accepts the sockets that brokers connect to it.
func (r *relay) serve(fd int) {
	at, ok := LocalAddress(fd)
	if !ok {
		unix.Close(fd)
		return
	}
	file, conn := openFile(fd, "relay")
	r.doors = append(r.doors, relayDoor{at, file})
	go r.admit(conn)
}

// door returns the address to which sockets of the domain connect in order to reach to; nil if
// there is no such door.
func (r *relay) door(domain int, to netip.Addr) []byte {
	six := domain == unix.AF_INET6 && to.Is6()
	for _, d := range r.doors {
		if d.at.Addr().Is6() == six {
			return SocketAddress(d.at, domain)
		}
	}
	return nil
}

func (r *relay) close() {
	r.mu.Lock()
	r.closed = true
	all := slices.Collect(maps.Values(r.carried))
	r.mu.Unlock()
	for _, d := range r.doors {
		d.file.Close()
	}
	for _, c := range all {
		r.drop(c)
	}
}

// join implements Client.Join.
func (r *relay) join(sock, domain int, c *stream) ([]byte, unix.Errno) {
	door := r.door(domain, c.to.Addr())
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if door == nil || err != nil {
		return nil, unix.ENETUNREACH
	}
	var old []*stream
	defer func() {
		for _, c := range old {
			r.drop(c)
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if errno := r.refuses(c); errno != 0 {
		return nil, errno
	}
	// admit takes no stream before mu is free, and by then this stream is expected.
	errno, _ := ConnectNow(sock, door)
	if errno != 0 && errno != unix.EINPROGRESS {
		return nil, errno
	}
	local, ok := LocalAddress(sock)
	if !ok {
		return nil, unix.ENETUNREACH
	}
	c.key, c.local, c.sent, c.since = carriedKey{cookie: cookie}, local, make(chan struct{}), time.Now()
	c.handed = sync.OnceFunc(func() { close(c.sent) })
	if c := r.carried[c.key]; c != nil { // the command disconnected the socket and now uses it again
		old = append(old, c)
	}
	for _, c := range r.expected {
		if time.Since(c.since) > expectTime {
			old = append(old, c)
		}
	}
	r.expected[local], r.carried[c.key] = c, c
	return door, errno
}

// refuses returns why a stream cannot begin, or 0. The caller holds mu.
func (r *relay) refuses(c *stream) unix.Errno {
	if now := c.client.revoked; now.count != c.began && !c.client.MayReach(&now.policy, c.to) {
		return unix.ECONNREFUSED
	}
	if r.closed || len(r.carried) >= maxRelayed {
		return unix.ENOBUFS
	}
	return 0
}

// admit accepts connections until the door is closed.
func (r *relay) admit(conn syscall.RawConn) {
	eachAccepted(conn, func(fd int, peer unix.Sockaddr) {
		from, _ := AddressOf(peer)
		r.mu.Lock()
		c := r.expected[from]
		delete(r.expected, from)
		r.mu.Unlock()
		if c != nil {
			if wait := r.carry(c, fd); wait != nil {
				go wait()
				return
			}
		}
		resetOnClose(fd)
		unix.Close(fd)
		if c != nil {
			r.drop(c)
		}
	})
}

// carry copies bytes in both directions until both ends are shut. wait returns then; it is nil if the
// socket outside is gone.
func (r *relay) carry(c *stream, inside int) (wait func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || c.host < 0 {
		return nil
	}
	for _, fd := range []int{inside, c.host} {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		_ = unix.SetNonblock(fd, true)
	}
	own, host := os.NewFile(uintptr(inside), "relayed"), os.NewFile(uintptr(c.host), "relayed")
	c.files, c.host = [2]*os.File{own, host}, -1
	var both sync.WaitGroup
	move := move
	if c.key.port != 0 {
		move = c.moveDatagrams
	}
	both.Go(func() { defer c.handed(); move(host, own, &c.up) })
	both.Go(func() { move(own, host, &c.down) })
	return func() {
		both.Wait()
		r.drop(c)
	}
}

// The size of one copy, in bytes: the first, and the most where one fills the buffer.
const (
	relayBuffer = 8 << 10
	bulkBuffer  = 1 << 20
)

// move copies what from sends, counted in moved, and then its end of file. An error ends both directions.
func move(to, from *os.File, moved *atomic.Int64) {
	buf := make([]byte, relayBuffer)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			done, failed := to.Write(buf[:n])
			moved.Add(int64(done))
			if failed != nil {
				err = failed
			}
		}
		if n == len(buf) && n < bulkBuffer {
			buf = make([]byte, 2*n)
		}
		switch {
		case err == io.EOF:
			onDescriptor(to, func(fd int) { _ = unix.Shutdown(fd, unix.SHUT_WR) })
			return
		case err != nil:
			for _, f := range []*os.File{to, from} {
				onDescriptor(f, resetOnClose)
				f.Close()
			}
			return
		}
	}
}

// onDescriptor calls do with the descriptor of a file, unless the file is closed.
func onDescriptor(f *os.File, do func(fd int)) {
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { do(int(fd)) })
	}
}

// resetOnClose makes close(2) reset the connection, so that the other end sees an error.
func resetOnClose(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// drop ends a connection. It holds mu meanwhile: Leave finds each one carried or passed on.
func (r *relay) drop(c *stream) {
	c.handed()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.carried[c.key] == c {
		delete(r.carried, c.key)
	}
	if r.expected[c.local] == c {
		delete(r.expected, c.local)
	}
	files, host, over := c.files, c.host, c.over
	c.host, c.over = -1, true
	if files[0] == nil {
		if host >= 0 {
			unix.Close(host)
		}
		return
	}
	for _, f := range files {
		f.Close()
	}
	if c.client != nil && !over && (c.key.port == 0 || c.up.Load()+c.down.Load() > 0) { // connect alone sends no datagram
		c.about.Bytes = &sandbox.Bytes{Sent: c.up.Load(), Received: c.down.Load()}
		c.client.ended(c.about)
	}
}

// cut resets a connection, so both ends see an error.
func (r *relay) cut(c *stream) {
	r.mu.Lock()
	files, host := c.files, c.host
	r.mu.Unlock()
	if files[0] == nil && host >= 0 {
		resetOnClose(host)
	}
	for _, f := range files {
		if f != nil {
			onDescriptor(f, resetOnClose)
		}
	}
	r.drop(c)
}

// streamsOf returns the connections of one command.
func (r *relay) streamsOf(c *Client) (own []*stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.carried {
		if s.client == c {
			own = append(own, s)
		}
	}
	return own
}
