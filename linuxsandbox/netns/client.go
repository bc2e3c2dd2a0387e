//go:build linux

package netns

import (
	"context"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Client is one command in a Network. Its methods are called by the command's
// broker, NewName and Counts on one thread alone.
type Client struct {
	*Network
	lookups *lookups
}

// NewClient is nil where there is no Network.
func (n *Network) NewClient() *Client {
	if n == nil {
		return nil
	}
	return &Client{n, newLookups(&n.names.conf)}
}

// drainTime is how long the end of a command waits for what it sent last.
const drainTime = 3 * time.Second

// Leave forgets the command, and closes its connections once what it wrote has
// been passed on: without a sandbox the kernel would have sent it.
func (c *Client) Leave() {
	if c == nil {
		return
	}
	c.names.forget(c)
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	for _, s := range c.relay.streamsOf(c) {
		select {
		case <-s.sent:
		case <-ctx.Done():
		}
		c.relay.drop(s)
	}
}

// NewName reports whether the refusal of a name is to be recorded. It is not where
// the name stands for another one that was, and where a refusal takes nothing from
// the command, which could know the name from hosts(5). allowed says which names
// the command may look up.
func (c *Client) NewName(name string, allowed func(string) bool) bool {
	return !c.names.known.written[name] && c.lookups.report(name, allowed)
}

// Counts reports whether a refused question of a thread is a lookup of its own,
// and not the second half of one.
func (c *Client) Counts(q *Question, tid uint32) bool {
	return c.lookups.counts(q.Name, tid, q.message.asked.Type)
}

// Expect notes that questions from the socket to a name server are the command's,
// and passes them to ask, which reports false when nobody will answer. The socket
// gets its port now if it has none: the question may arrive before anybody looks
// again.
func (c *Client) Expect(s Socket, to netip.AddrPort, ask func(*Question) bool) {
	at, ok := LocalAddress(s.FD)
	if ok && at.Port() == 0 {
		anywhere := netip.IPv4Unspecified()
		if s.Domain == unix.AF_INET6 {
			anywhere = netip.IPv6Unspecified()
		}
		_ = AddressCall(unix.SYS_BIND, s.FD, SocketAddress(netip.AddrPortFrom(anywhere, 0), s.Domain))
		at, ok = LocalAddress(s.FD)
	}
	if ok {
		c.names.expect(inquirerKey{s.Protocol, to.Addr().Is6(), at.Port()}, inquirer{c, ask})
	}
}

// Join connects sock, a copy of the command's own, to the relay, which carries its
// stream to the socket host, connected to the address to. host belongs to the
// relay if errno is 0, and if it is EINPROGRESS, when the command's socket has to
// wait a little for door.
func (c *Client) Join(sock, domain, host int, to netip.AddrPort) (door []byte, errno unix.Errno) {
	return c.relay.join(sock, domain, &stream{client: c, to: to, host: host})
}

// Lose connects sock to a door that never opens, as to a host that does not answer.
func (c *Client) Lose(sock, domain int, to netip.Addr) unix.Errno {
	door := c.relay.door(domain, to, true)
	if door == nil {
		return unix.ETIMEDOUT
	}
	errno, _ := ConnectNow(sock, door)
	return errno
}

// PeerOf is the host that a relayed socket of the session is connected to, as its
// command believes. cookie is the socket's.
func (n *Network) PeerOf(cookie uint64) (netip.AddrPort, bool) {
	if n == nil {
		return netip.AddrPort{}, false
	}
	n.relay.mu.Lock()
	defer n.relay.mu.Unlock()
	c := n.relay.carried[cookie]
	if c == nil {
		return netip.AddrPort{}, false
	}
	return c.to, true
}

// Disown forgets whose questions come from a port that another socket was bound to.
func (n *Network) Disown(protocol int, port uint16) {
	n.names.mu.Lock()
	defer n.names.mu.Unlock()
	for _, six := range []bool{false, true} {
		delete(n.names.inquirers, inquirerKey{protocol, six, port})
	}
}
