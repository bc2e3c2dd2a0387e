//go:build linux

package netns

import (
	"net/netip"
	"os"
	"sync"

	"codeagent/linuxsandbox/control"

	"golang.org/x/sys/unix"
)

// Where no network namespace can be made, the sockets of a session's commands are in codeagent's own
// network. Nothing there keeps a connection inside, so the broker makes each of them (Spec.AskNetwork),
// to the address that it judged and no other. An allowed host is reached by the command's own socket, and by
// the relay only through a proxy, whose tunnel codeagent must ask for before the command can write.
//
//	loopback       what a command of the session bound, known by its cookie; else the host's: judged
//	a name server  codeagent's own name service, on a port of the loopback
//	elsewhere      judged
//
// A command serves on the loopback alone: other machines do not reach it. Programs of this machine
// do, as they would without a sandbox. A datagram socket without a port of its own takes what anybody sends to
// the port that it got.

// Beside returns the network of such a session. conf is the text of resolv.conf(5). The error is that of
// the kernel, which gave no sockets for the name service.
func Beside(conf string, o Outside) (*Network, error) {
	n := &Namespaces{conf: parseResolvConf(conf)}
	for _, at := range []netip.Addr{loopback4, netip.IPv6Loopback()} {
		for kind, typ := range map[control.DoorKind]int{
			control.DoorDatagrams: unix.SOCK_DGRAM, control.DoorStreams: unix.SOCK_STREAM, control.DoorRelay: unix.SOCK_STREAM,
		} {
			fd, err := boundSocket(at, typ)
			if err != nil && at.Is6() {
				continue // this kernel has no IPv6
			}
			if err != nil {
				n.Close()
				return nil, err
			}
			n.door = append(n.door, control.DoorSocket{Kind: kind, FD: fd})
		}
	}
	places := map[place]netip.AddrPort{}
	for _, d := range n.door {
		if at, ok := LocalAddress(d.FD); ok && d.Kind != control.DoorRelay {
			places[place{d.Kind == control.DoorStreams, at.Addr().Is6()}] = at
		}
	}
	out := n.Serve(o)
	out.inside, out.beside = out.host, &beside{places: places, own: map[uint64]Holder{}, answers: map[uint64]netip.AddrPort{}}
	for _, server := range n.conf.servers {
		out.servers[server] = true
	}
	return out, nil
}

var loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// boundSocket makes a socket on a free port of the loopback, and listens there if it is for streams.
func boundSocket(at netip.Addr, typ int) (int, error) {
	domain := domainOf(at)
	fd, err := unix.Socket(domain, typ|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if errno := AddressCall(unix.SYS_BIND, fd, SocketAddress(netip.AddrPortFrom(at, 0), domain)); errno != 0 {
		unix.Close(fd)
		return -1, os.NewSyscallError("bind", errno)
	}
	if typ == unix.SOCK_STREAM {
		if err := unix.Listen(fd, maxStreams); err != nil {
			unix.Close(fd)
			return -1, os.NewSyscallError("listen", err)
		}
	}
	return fd, nil
}

// beside is what a Network knows of the sockets of commands in codeagent's own network, by their
// cookies.
type beside struct {
	// places are where the name service listens.
	places map[place]netip.AddrPort

	mu sync.Mutex
	// own are sockets of commands, which may be reached on the loopback. answers are those of them whose name
	// server codeagent stands in for, with the address of that server. mu guards both, and owned of each Client.
	own     map[uint64]Holder
	answers map[uint64]netip.AddrPort
}

type place struct{ streams, six bool }

// Holder is a descriptor of a thread; the zero value: none.
type Holder struct {
	TID    int
	Number int32
}

// owned are the sockets of one command, by their cookies. Servers are kept apart from the others, of which a
// command may make very many.
type owned struct{ servers, others recent }

// recent are the latest cookies; next is the place of the next one once the list is full.
type recent struct {
	list []uint64
	next int
}

// maxOwned bounds each list of a command. The oldest entry makes room: that socket is not reached any more.
const maxOwned = 1 << 12

// add adds a cookie, and returns the one that made room, or 0.
func (r *recent) add(cookie uint64) (old uint64) {
	if len(r.list) < maxOwned {
		r.list = append(r.list, cookie)
		return 0
	}
	old, r.list[r.next] = r.list[r.next], cookie
	r.next = (r.next + 1) % maxOwned
	return old
}

// Own notes that the socket is the command's, so that commands of the session may reach it. holder is set if it
// was bound, or listens.
func (c *Client) Own(sock int, holder Holder) {
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return
	}
	b := c.beside
	b.mu.Lock()
	defer b.mu.Unlock()
	server := holder != Holder{}
	_, known := b.own[cookie]
	if server || !known {
		b.own[cookie] = holder
	}
	if known {
		return
	}
	list := &c.owned.others
	if server {
		list = &c.owned.servers
	}
	b.forget(list.add(cookie))
}

// forget drops what is known of sockets. The caller holds mu.
func (b *beside) forget(cookies ...uint64) {
	for _, cookie := range cookies {
		delete(b.own, cookie)
		delete(b.answers, cookie)
	}
}

// Listener is who receives what is sent to a loopback address.
type Listener int

const (
	Nobody Listener = iota
	Session
	Host
)

// Listener reports who receives at the loopback address to what from sends, which may be the zero address, and the
// cookie of the socket. If the kernel gives no answer, it is the host.
func (n *Network) Listener(protocol int, to, from netip.AddrPort) (Listener, uint64) {
	s, ok := n.host.receiver(protocol, to, from)
	switch {
	case !ok:
		return Host, 0
	case !s.found:
		return Nobody, 0
	}
	n.beside.mu.Lock()
	defer n.beside.mu.Unlock()
	if _, own := n.beside.own[s.cookie]; own {
		return Session, s.cookie
	}
	return Host, s.cookie
}

// Holder is the descriptor under which a command made a server of the socket with that cookie.
func (n *Network) Holder(cookie uint64) Holder {
	n.beside.mu.Lock()
	defer n.beside.mu.Unlock()
	return n.beside.own[cookie]
}

// StandIn is where codeagent answers instead of the name server at to. The socket, a copy of the
// command's, will be connected to it or send there. It reports false where codeagent cannot answer.
func (c *Client) StandIn(s Socket, to netip.AddrPort) (netip.AddrPort, bool) {
	at, ok := c.beside.places[place{s.Protocol == unix.IPPROTO_TCP, s.Domain == unix.AF_INET6 && to.Addr().Is6()}]
	cookie, err := unix.GetsockoptUint64(s.FD, unix.SOL_SOCKET, unix.SO_COOKIE)
	if !ok || err != nil {
		return at, false
	}
	c.Own(s.FD, Holder{})
	c.beside.mu.Lock()
	defer c.beside.mu.Unlock()
	c.beside.answers[cookie] = to
	return at, true
}

// Answers is the name server that codeagent stands in for at the socket with that cookie.
func (n *Network) Answers(cookie uint64) (netip.AddrPort, bool) {
	n.beside.mu.Lock()
	defer n.beside.mu.Unlock()
	to, ok := n.beside.answers[cookie]
	return to, ok
}

// FromStandIn reports whether a message came from the name service.
func (n *Network) FromStandIn(from netip.AddrPort) bool {
	for _, at := range n.beside.places {
		if at == from {
			return true
		}
	}
	return false
}
