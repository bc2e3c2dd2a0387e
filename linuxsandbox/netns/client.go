//go:build linux

package netns

import (
	"context"
	"net/netip"
	"time"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Client is one command in a Network. The command's broker calls its methods; it calls NewName and
// Counts on one thread only.
type Client struct {
	*Network
	lookups *lookups
	// revoked is the latest revocation; guarded by the relay's mu.
	revoked revocation
	// listening are the sockets on which the command listens, and published its ports that the host
	// reaches, nil once the command is over; guarded by the relay's mu.
	listening []listening
	published map[*publication]bool
	owned     owned // guarded by beside's mu
	// ended receives each connection to a host once it has ended. It must not wait.
	ended func(sandbox.Connection)
}

// revocation is what a command may reach after the latest revocation. count is the number of
// revocations.
type revocation struct {
	count  int64
	policy resolved.Policy
}

// NewClient returns nil for a nil Network. ended receives each of the command's connections to hosts once it
// has ended, on any goroutine, at the latest before Leave returns. It must not wait.
func (n *Network) NewClient(ended func(sandbox.Connection)) *Client {
	if n == nil {
		return nil
	}
	return &Client{Network: n, ended: ended, lookups: newLookups(&n.names.conf), published: map[*publication]bool{}}
}

// drainTime bounds the wait, at the end of a command, for the data that the command sent last.
const drainTime = 3 * time.Second

// Leave forgets the command. It closes the command's connections after the relay has passed on what
// the command wrote: without a sandbox the kernel would have sent it.
func (c *Client) Leave() {
	if c == nil {
		return
	}
	c.names.forget(c)
	c.unpublish()
	if b := c.beside; b != nil {
		b.mu.Lock()
		b.forget(c.owned.servers.list...)
		b.forget(c.owned.others.list...)
		b.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	for _, s := range c.relay.streamsOf(c) {
		s.end()
		select {
		case <-s.sent:
		case <-ctx.Done():
		}
		c.relay.drop(s)
	}
}

// NewName reports whether to record the refusal of a name. It reports false for a variant of a name
// that was recorded, and for a name in hosts(5): the command may know that address from the file,
// so the refusal denies it nothing. allowed reports whether the command may look up a name.
func (c *Client) NewName(name string, allowed func(string) bool) bool {
	return !c.names.known.written[name] && c.lookups.report(name, allowed)
}

// Counts reports whether a refused question from a thread is a lookup of its own, and not the
// second half of one.
func (c *Client) Counts(q *Question, tid uint32) bool {
	return c.lookups.counts(q.Name, tid, q.message.asked.Type)
}

// Expect registers the socket's port, so that questions from there to a name server belong to this
// command. They go to ask, which reports false if nobody will answer. A socket without a port gets
// one now: the question may arrive before the next call on the socket.
func (c *Client) Expect(s Socket, to netip.AddrPort, ask func(*Question) bool) {
	if at, ok := s.bound(); ok {
		c.names.expect(inquirerKey{s.Protocol, to.Addr().Is6(), at.Port()}, inquirer{c, ask})
	}
}

// Join connects sock, a copy of the command's own, to the relay. The relay carries its stream to
// the socket host, which is connected to the address to. errno is 0, or EINPROGRESS if the
// command's socket must wait for door; in both cases the relay now owns host.
// began is what Revocations returned when the connection was allowed. about describes it for the log.
func (c *Client) Join(sock, domain, host int, to netip.AddrPort, began int64, about sandbox.Connection) (door []byte, errno unix.Errno) {
	return c.relay.join(sock, domain, &stream{client: c, to: to, host: host, began: began, about: about})
}

// Revocations counts the calls of Cut.
func (c *Client) Revocations() int64 {
	c.relay.mu.Lock()
	defer c.relay.mu.Unlock()
	return c.revoked.count
}

// Cut ends the connections of the command that the policy no longer allows, including unfinished
// ones. It returns their number.
func (c *Client) Cut(p *resolved.Policy) (cut int) {
	if c == nil {
		return 0
	}
	c.relay.mu.Lock()
	c.revoked = revocation{c.revoked.count + 1, *p}
	c.relay.mu.Unlock()
	for _, s := range c.relay.streamsOf(c) {
		if !c.MayReach(p, s.to) {
			c.relay.cut(s)
			cut++
		}
	}
	return cut
}

// PeerOf is the host to which the command believes its relayed socket is connected. cookie is the
// cookie of that socket.
func (n *Network) PeerOf(cookie uint64) (netip.AddrPort, bool) {
	if n == nil {
		return netip.AddrPort{}, false
	}
	if n.beside != nil {
		return n.Answers(cookie)
	}
	n.relay.mu.Lock()
	defer n.relay.mu.Unlock()
	c := n.relay.carried[carriedKey{cookie: cookie}]
	if c == nil {
		return netip.AddrPort{}, false
	}
	return c.to, true
}

// Disown forgets which command sends questions from a port, because another socket was bound to it.
func (n *Network) Disown(protocol int, port uint16) {
	n.names.mu.Lock()
	defer n.names.mu.Unlock()
	for _, six := range []bool{false, true} {
		delete(n.names.inquirers, inquirerKey{protocol, six, port})
	}
}
