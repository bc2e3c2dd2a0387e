//go:build linux

package linuxsandbox

import (
	"context"
	"io"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A command that may reach a host never holds a socket of the host's network: it
// could connect that elsewhere, listen on it, or send its packets another way.
// Its own socket, in the session's network, is connected to codeagent, which
// carries the stream to the host and back:
//
//	command ── its socket ─▶ relay, on the loopback of the session │ codeagent ── host's socket ─▶ host:port
//
// The broker makes both connections, and the one outside first: so the command's
// fails with the errno that it would have without a sandbox. All that the command
// set on its socket, and registered it for, stays.

// relay carries the connections of one session.
type relay struct {
	doors []relayDoor

	mu sync.Mutex
	// expected are the sockets of commands that were connected to a door, by their
	// addresses, until they are taken; guarded by mu, as are all below.
	expected map[netip.AddrPort]*relayed
	// carried are those that were taken, and expected before, by the cookie of the
	// command's socket.
	carried map[uint64]*relayed
	closed  bool
}

// relayDoor is a listening socket in the session's network.
type relayDoor struct {
	at   netip.AddrPort
	file *os.File
	// lost: its queue is full for ever. A socket that is connected to it waits as
	// for a host that does not answer.
	lost bool
}

// relayed is one connection.
type relayed struct {
	broker *broker
	cookie uint64
	// local is the address of the command's socket, to whom it believes to be
	// connected.
	local, to netip.AddrPort
	// door is where it gets in, as a socket address.
	door []byte
	// host is the socket outside, -1 once files has it.
	host int
	// files are both ends, once both are there.
	files [2]*os.File
	// sent is closed, by handed, when all that the command wrote was handed on.
	sent   chan struct{}
	handed func()
}

// maxRelayed bounds the connections of a session.
const maxRelayed = 1024

func newRelay() *relay {
	return &relay{expected: map[netip.AddrPort]*relayed{}, carried: map[uint64]*relayed{}}
}

// serve takes a door over and lets in whom the broker connected to it.
func (r *relay) serve(fd int, lost bool) {
	at, ok := localAddress(fd)
	if !ok {
		unix.Close(fd)
		return
	}
	d := relayDoor{at: at, file: os.NewFile(uintptr(fd), "relay"), lost: lost}
	conn, err := d.file.SyscallConn()
	if err != nil {
		d.file.Close()
		return
	}
	r.doors = append(r.doors, d)
	if !lost {
		go r.admit(conn)
	}
}

// door is the one for sockets of the domain that are to reach to; nil: there is none.
func (r *relay) door(domain int, to netip.Addr, lost bool) []byte {
	six := domain == unix.AF_INET6 && to.Is6()
	for _, d := range r.doors {
		if d.at.Addr().Is6() == six && d.lost == lost {
			return socketAddress(d.at, domain)
		}
	}
	return nil
}

func (r *relay) close() {
	r.mu.Lock()
	r.closed = true
	all := make([]*relayed, 0, len(r.carried))
	for _, c := range r.carried {
		all = append(all, c)
	}
	r.mu.Unlock()
	for _, d := range r.doors {
		d.file.Close()
	}
	for _, c := range all {
		r.drop(c)
	}
}

// join connects sock, a copy of the command's own, and has it carried to c.host.
// The errno is EINPROGRESS where the command is to wait a little.
func (r *relay) join(sock, domain int, c *relayed) unix.Errno {
	c.door = r.door(domain, c.to.Addr(), false)
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if c.door == nil || err != nil {
		return unix.ENETUNREACH
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.carried) >= maxRelayed {
		return unix.ENOBUFS
	}
	// Nobody is let in before mu is free, and by then it is known who it is.
	errno, _ := connectNow(sock, c.door)
	local, ok := localAddress(sock)
	if errno != 0 && errno != unix.EINPROGRESS || !ok {
		return errno
	}
	c.cookie, c.local, c.sent = cookie, local, make(chan struct{})
	c.handed = sync.OnceFunc(func() { close(c.sent) })
	if old := r.carried[cookie]; old != nil {
		go r.drop(old) // the command has disconnected the socket, and uses it again
	}
	r.expected[local], r.carried[cookie] = c, c
	return errno
}

// lose connects sock to a door that never opens.
func (r *relay) lose(sock, domain int, to netip.Addr) unix.Errno {
	door := r.door(domain, to, true)
	if door == nil {
		return unix.ETIMEDOUT
	}
	errno, _ := connectNow(sock, door)
	return errno
}

// admit takes connections until the door is closed.
func (r *relay) admit(conn syscall.RawConn) {
	for {
		fd, peer, err := accept(conn)
		if err == os.ErrClosed {
			return
		}
		if err != nil {
			time.Sleep(streamPause)
			continue
		}
		from, _ := addressOf(peer)
		r.mu.Lock()
		c := r.expected[from]
		delete(r.expected, from)
		r.mu.Unlock()
		if c != nil && r.carry(c, fd) {
			continue
		}
		hasty(fd)
		unix.Close(fd)
		if c != nil {
			r.drop(c)
		}
	}
}

// carry moves bytes both ways until both ends have said that it was all. It
// reports false where there is nobody outside.
func (r *relay) carry(c *relayed, inside int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || c.host < 0 {
		return false
	}
	for _, fd := range []int{inside, c.host} {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		_ = unix.SetNonblock(fd, true)
	}
	own, host := os.NewFile(uintptr(inside), "relayed"), os.NewFile(uintptr(c.host), "relayed")
	c.files, c.host = [2]*os.File{own, host}, -1
	var both sync.WaitGroup
	both.Go(func() { defer c.handed(); move(host, own) })
	both.Go(func() { move(own, host) })
	go func() {
		both.Wait()
		r.drop(c)
	}()
	return true
}

// relayBuffer is how much is moved at once.
const relayBuffer = 128 << 10

// move copies what from sends, and its end; an error ends both ways.
func move(to, from *os.File) {
	buf := make([]byte, relayBuffer)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, failed := to.Write(buf[:n]); failed != nil {
				err = failed
			}
		}
		switch {
		case err == io.EOF:
			control(to, func(fd int) { _ = unix.Shutdown(fd, unix.SHUT_WR) })
			return
		case err != nil:
			for _, f := range []*os.File{to, from} {
				control(f, hasty)
				f.Close()
			}
			return
		}
	}
}

// control does something to the descriptor of a file, unless that is closed.
func control(f *os.File, do func(fd int)) {
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { do(int(fd)) })
	}
}

// hasty makes the other end of a stream see an error when it is closed.
func hasty(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// drop ends a connection.
func (r *relay) drop(c *relayed) {
	c.handed()
	r.mu.Lock()
	if r.carried[c.cookie] == c {
		delete(r.carried, c.cookie)
	}
	if r.expected[c.local] == c {
		delete(r.expected, c.local)
	}
	files, host := c.files, c.host
	c.host = -1
	r.mu.Unlock()
	if files[0] == nil {
		if host >= 0 {
			unix.Close(host)
		}
		return
	}
	for _, f := range files {
		f.Close()
	}
}

// drainTime is how long the end of a command waits for what it sent last.
const drainTime = 3 * time.Second

// end closes the connections of a command that has ended, when what it wrote was
// handed on: the kernel would have sent it.
func (r *relay) end(b *broker) {
	r.mu.Lock()
	var own []*relayed
	for _, c := range r.carried {
		if c.broker == b {
			own = append(own, c)
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	for _, c := range own {
		select {
		case <-c.sent:
		case <-ctx.Done():
		}
		r.drop(c)
	}
}

// peerOf is whom the command's socket believes to be connected to.
func (r *relay) peerOf(cookie uint64) (netip.AddrPort, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.carried[cookie]
	if c == nil {
		return netip.AddrPort{}, false
	}
	return c.to, true
}
