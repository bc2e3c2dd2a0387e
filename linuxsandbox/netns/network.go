//go:build linux

package netns

import (
	"context"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"syscall"

	"codeagent/linuxsandbox/control"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Network is codeagent's side of a session's network namespace. Its methods are safe for concurrent
// use, also on a nil Network.
type Network struct {
	// inside and host find listening sockets in the namespace and on the host.
	inside, host *inetDiag
	// servers are the addresses of the name service; files are its sockets.
	servers map[netip.Addr]bool
	names   *nameService
	files   []*os.File
	relay   *relay
	// namespaces are those of the session, if it has a network of its own.
	namespaces *Namespaces
	// beside is set where the session has no network of its own.
	beside *beside
}

// Outside is what a Network knows of the host.
type Outside struct {
	// Hosts is the text of hosts(5).
	Hosts string
	// Lookup finds the addresses of a name; network is "ip4" or "ip6". If it is nil, no name has
	// any.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	// Proxy returns the proxy of the environment for a host. Nil means no proxy.
	Proxy func(sandbox.HostPort) (*url.URL, error)
	// Closed returns why the name of h may not lead to the address a; "" if it may. judge is
	// the policy's. If Closed is nil, the Network uses
	// HostPort.ClosedTo with the addresses of this machine.
	Closed func(h sandbox.HostPort, a netip.Addr, judge func(sandbox.HostPort) sandbox.Judgement) string
}

// Serve takes over the sockets that the helper made in the namespace, and serves them until the
// Network is closed. Call it once.
func (n *Namespaces) Serve(o Outside) *Network {
	s := &Network{inside: &inetDiag{fd: -1}, host: &inetDiag{fd: -1}, servers: map[netip.Addr]bool{}, names: newNameService(n.conf, o), relay: newRelay(), namespaces: n}
	if fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG); err == nil {
		s.host.fd = fd
	}
	for _, d := range n.door {
		switch d.Kind {
		case control.DoorDiag:
			s.inside.fd = d.FD
		case control.DoorRelay:
			s.relay.serve(d.FD)
		case control.DoorDatagrams, control.DoorStreams:
			if at, ok := LocalAddress(d.FD); ok && at.Port() == control.NameServerPort {
				s.servers[at.Addr()] = true
			}
			f, conn := openFile(d.FD, "name server")
			s.files = append(s.files, f)
			if d.Kind == control.DoorDatagrams {
				go s.names.serveDatagrams(conn)
			} else {
				go s.names.serveStreams(conn)
			}
		}
	}
	n.door = nil
	return s
}

// openFile takes over a socket.
func openFile(fd int, name string) (*os.File, syscall.RawConn) {
	f := os.NewFile(uintptr(fd), name)
	conn, _ := f.SyscallConn() // fails only without a file
	return f, conn
}

// Close ends all connections and closes the sockets.
func (n *Network) Close() {
	if n == nil {
		return
	}
	n.inside.close()
	n.host.close() // the same one where there is no namespace
	n.relay.close()
	for _, f := range n.files {
		f.Close()
	}
}

// NameServer reports whether codeagent answers a question to that address.
func (n *Network) NameServer(to netip.AddrPort) bool {
	return to.Port() == control.NameServerPort && n.servers[to.Addr()]
}

// Serves reports whether a command of the session serves a loopback address. It reports true if the kernel gives
// no answer.
func (n *Network) Serves(protocol int, to netip.AddrPort) bool {
	if !to.Addr().IsLoopback() {
		return false
	}
	inside, ok := n.inside.takes(protocol, to)
	return inside || !ok
}

// ServedByHost reports whether the host, and not the session, serves the loopback address at.
func (n *Network) ServedByHost(protocol int, at netip.AddrPort) bool {
	if protocol != unix.IPPROTO_TCP && protocol != unix.IPPROTO_UDP {
		return false
	}
	inside, ok := n.inside.takes(protocol, at)
	if inside || !ok {
		return false
	}
	served, _ := n.host.takes(protocol, at)
	return served
}

// MayLookUp reports whether the policy names the host.
func MayLookUp(p *resolved.Policy, name string) bool {
	return p.Network.Mode == sandbox.NetworkAllow && p.JudgeHost(sandbox.HostPort{Host: name}).Allowed
}

// MayReach reports whether the policy names the address, or a name that this session's commands
// looked up for it and that may lead there. Several names may stand for one address, and the kernel
// does not know for which of them a connection is: one of them that the policy denies closes the
// address. to is the address that is dialled afterwards.
func (n *Network) MayReach(p *resolved.Policy, to netip.AddrPort) bool {
	if _, why := n.denied(p, to); p.Network.Mode != sandbox.NetworkAllow || why != "" {
		return false
	}
	hosts := n.hosts(to)
	return p.JudgeHost(hosts[0]).Allowed || slices.ContainsFunc(hosts[1:], func(h sandbox.HostPort) bool {
		return p.JudgeHost(h).Allowed && n.names.closed(h, to.Addr(), p.JudgeHost) == ""
	})
}

// NameOf is the name for which the policy allows to: the one looked up last, or "" if the address itself is
// allowed and has no such name.
func (n *Network) NameOf(p *resolved.Policy, to netip.AddrPort) string {
	for _, h := range slices.Backward(n.hosts(to)[1:]) {
		if p.JudgeHost(h).Allowed {
			return h.Host
		}
	}
	return ""
}

// hosts are the address to, and the names that stand for it.
func (n *Network) hosts(to netip.AddrPort) []sandbox.HostPort {
	hosts := []sandbox.HostPort{{Host: to.Addr().String(), Port: to.Port()}}
	for _, name := range n.names.known.all(to.Addr()) {
		hosts = append(hosts, sandbox.HostPort{Host: name, Port: to.Port()})
	}
	return hosts
}

// denied returns which of the hosts of an address the policy denies whatever is granted, and why; ""
// if none.
func (n *Network) denied(p *resolved.Policy, to netip.AddrPort) (h sandbox.HostPort, why string) {
	for _, h := range n.hosts(to) {
		if j := p.JudgeHost(h); j.Final {
			return h, j.Rule
		}
	}
	return h, ""
}

// Unreached is the denial of an address. Its target is the name under which the address was looked up
// last, if that name may lead there, else the address. Without a port the target is bare.
func (n *Network) Unreached(p *resolved.Policy, to netip.AddrPort) sandbox.Denial {
	h := sandbox.HostPort{Host: to.Addr().String(), Port: to.Port()}
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Target: h.String()}
	if of, why := n.denied(p, to); why != "" {
		d.Target, d.Why = of.String(), why
		if name := n.names.known.last(to.Addr()); of != h {
			d.Requested = h.String()
		} else if name != "" {
			d.Requested = sandbox.HostPort{Host: name, Port: to.Port()}.String()
		}
		return d
	}
	if d.Requested, d.Note = n.misled(p, to); d.Note != "" {
		return d
	}
	if name := n.names.known.last(to.Addr()); name != "" {
		d.Requested = h.String()
		h.Host = name
		d.Target = h.String()
	}
	return d
}

// misled finds a name that led to an address to which no name may lead. It returns the name with
// its port, and the reason; "" if there was none.
func (n *Network) misled(p *resolved.Policy, to netip.AddrPort) (name, note string) {
	for _, h := range slices.Backward(n.hosts(to)[1:]) {
		if n.names.known.written[h.Host] && !p.JudgeHost(h).Allowed {
			continue // the command may know the address without the name
		}
		if why := n.names.closed(h, to.Addr(), p.JudgeHost); why != "" {
			return h.String(), h.Leads(to.Addr(), why)
		}
	}
	return "", ""
}

// HostHas reports whether addr belongs to the host.
func HostHas(addr netip.Addr) bool {
	domain := domainOf(addr)
	fd, err := unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return AddressCall(unix.SYS_BIND, fd, SocketAddress(netip.AddrPortFrom(addr, 0), domain)) == 0
}

// Broadcast reports whether a loopback address is that of all sockets of a port, the host's too: the kernel then refuses
// a socket without SO_BROADCAST.
func Broadcast(addr netip.Addr) bool {
	if addr == loopback4 || addr.Is6() {
		return false
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	return AddressCall(unix.SYS_CONNECT, fd, SocketAddress(netip.AddrPortFrom(addr, 1), unix.AF_INET)) != 0
}
