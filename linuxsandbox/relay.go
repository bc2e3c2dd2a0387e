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
	// addresses; guarded by mu, as are all below.
	expected map[netip.AddrPort]*relayed
	// carried are those that were taken, and expected before, by the cookie of the
	// command's socket.
	carried map[uint64]*relayed
	closed  bool
}

// relayDoor is a listening socket in the session's network. One that is late lets
// nobody in but whom it is told to: there sockets wait for what is not decided.
type relayDoor struct {
	at   netip.AddrPort
	file *os.File
	late bool
}

// relayed is one connection.
type relayed struct {
	broker *broker
	cookie uint64
	// local is the address of the command's socket, to whom it believes to be
	// connected.
	local, to netip.AddrPort
	door      *relayDoor
	// host is the socket outside; -1: there is none yet, or it failed.
	host int
	// known: it is decided whether host is connected.
	known bool
	// files are both ends, once both are there.
	files [2]*os.File
	// sent is closed, by handed, when all that the command wrote was handed on.
	sent   chan struct{}
	handed func()
}

// maxRelayed bounds the connections of a session.
const maxRelayed = 1024

// lateTime is how long a command's kernel tries to get in at a late door.
const lateTime = 3 * time.Minute

func newRelay() *relay {
	return &relay{expected: map[netip.AddrPort]*relayed{}, carried: map[uint64]*relayed{}}
}

// serve takes a door over and lets in whom the broker connected to it.
func (r *relay) serve(fd int, late bool) {
	at, ok := localAddress(fd)
	if late && setDoor(fd, nil) != nil {
		ok = false
	}
	if !ok {
		unix.Close(fd)
		return
	}
	d := relayDoor{at: at, file: os.NewFile(uintptr(fd), "relay"), late: late}
	conn, err := d.file.SyscallConn()
	if err != nil {
		d.file.Close()
		return
	}
	r.doors = append(r.doors, d)
	go r.admit(conn)
}

// door is the one for sockets of a kind.
func (r *relay) door(six, late bool) *relayDoor {
	for i, d := range r.doors {
		if d.at.Addr().Is6() == six && d.late == late {
			return &r.doors[i]
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

// join connects sock, a copy of the command's own, to a door, and has it carried to
// c.host; known is false while that is not decided. The errno is EINPROGRESS
// where the command is to wait.
func (r *relay) join(sock, domain int, c *relayed, known bool) unix.Errno {
	c.door = r.door(domain == unix.AF_INET6 && c.to.Addr().Is6(), !known)
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
	errno := connectNow(sock, socketAddress(c.door.at, domain))
	local, ok := localAddress(sock)
	if errno != 0 && errno != unix.EINPROGRESS || !ok {
		return errno
	}
	c.cookie, c.local, c.known, c.sent = cookie, local, known, make(chan struct{})
	c.handed = sync.OnceFunc(func() { close(c.sent) })
	r.expected[local], r.carried[cookie] = c, c
	return errno
}

// connectNow connects without waiting, whatever the socket says.
func connectNow(sock int, addr []byte) unix.Errno {
	flags, err := unix.FcntlInt(uintptr(sock), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_NONBLOCK == 0 {
		if _, err = unix.FcntlInt(uintptr(sock), unix.F_SETFL, flags|unix.O_NONBLOCK); err == nil {
			defer func() { _, _ = unix.FcntlInt(uintptr(sock), unix.F_SETFL, flags) }()
		}
	}
	if err != nil {
		return errnoOf(err)
	}
	return addressCall(unix.SYS_CONNECT, sock, addr)
}

// decide lets a socket in that waits at a late door; host is -1 where there is
// nobody: then it is sent away.
func (r *relay) decide(c *relayed, host int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.expected[c.local] != c {
		if host >= 0 {
			unix.Close(host)
		}
		return
	}
	c.host, c.known = host, true
	r.setLate(c.door)
	time.AfterFunc(lateTime, func() { r.giveUp(c) })
}

// giveUp forgets a connection that nobody came for.
func (r *relay) giveUp(c *relayed) {
	r.mu.Lock()
	waits := r.expected[c.local] == c
	if waits {
		delete(r.expected, c.local)
		r.setLate(c.door)
	}
	r.mu.Unlock()
	if waits {
		r.drop(c)
	}
}

// setLate opens a late door to those about whom it is known how it went; mu is
// held.
func (r *relay) setLate(d *relayDoor) {
	if !d.late {
		return
	}
	var ports []uint16
	for _, c := range r.expected {
		if c.door == d && c.known {
			ports = append(ports, c.local.Port())
		}
	}
	conn, err := d.file.SyscallConn()
	if err == nil {
		_ = conn.Control(func(fd uintptr) { _ = setDoor(int(fd), ports) })
	}
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
		if c != nil {
			delete(r.expected, from)
			r.setLate(c.door)
		}
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
	_ = unix.SetsockoptInt(inside, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0) // of the door
	for _, fd := range []int{inside, c.host} {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		_ = unix.SetNonblock(fd, true)
	}
	own, host := os.NewFile(uintptr(inside), "relayed"), os.NewFile(uintptr(c.host), "relayed")
	c.files = [2]*os.File{own, host}
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
	delete(r.carried, c.cookie)
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
const drainTime = 10 * time.Second

// end closes the connections of a command that has ended, when what it wrote was
// handed on: the kernel would have sent it.
func (r *relay) end(b *broker) {
	r.mu.Lock()
	var own, sending []*relayed
	for _, c := range r.carried {
		if c.broker == b {
			own = append(own, c)
			if c.known && c.host >= 0 {
				sending = append(sending, c)
			}
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	for _, c := range sending {
		select {
		case <-c.sent:
		case <-ctx.Done():
		}
	}
	for _, c := range own {
		r.giveUp(c)
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

// setDoor makes a late door take the first packet of a connection from these
// ports alone, and not answer others: their kernel sends it again.
func setDoor(fd int, ports []uint16) error {
	const load, jumpEqual, ret = unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	if len(ports) > maxConnecting {
		ports = ports[:maxConnecting]
	}
	prog := []unix.SockFilter{{Code: load}} // the port of the sender stands first
	for i, port := range ports {
		prog = append(prog, unix.SockFilter{Code: jumpEqual, Jt: uint8(len(ports) - i), K: uint32(port)})
	}
	prog = append(prog, unix.SockFilter{Code: ret}, unix.SockFilter{Code: ret, K: ^uint32(0)})
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]})
}
