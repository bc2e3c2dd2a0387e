//go:build linux

package linuxsandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"codeagent/sandbox"
)

// The resolver stands in the session's own network where the machine's name
// servers are on the host. It knows who asks by the port the question came from,
// which the broker has seen; it refuses what the policy does not name, and looks
// up the rest outside.
//
//	command: sendto(10.0.0.2:53) ─▶ broker: notes port and process
//	                             ─▶ resolver: question ─▶ the command's broker: may it?
//	   no:  "no such name", and a denial             yes: Options.Lookup, addresses
//
// "No such name" is what all libraries take for an answer. To a refusal or failure
// musl waits for a better one, and others try again.

// resolver answers the questions of one session.
type resolver struct {
	conf   resolvConf
	lookup LookupFunc
	names  *hostNames
	// closed is sandbox.HostPort.ClosedTo, with this machine's addresses.
	closed func(h sandbox.HostPort, a netip.Addr, named func(sandbox.HostPort) bool) string
	// turns has a place for each question that is being looked up outside, waiting
	// counts those and the ones that wait for a turn.
	turns   chan struct{}
	waiting atomic.Int32

	mu        sync.Mutex
	inquirers map[inquirerKey]inquirer // guarded by mu
}

// inquirerKey is the socket that a question comes from.
type inquirerKey struct {
	protocol int
	six      bool
	port     uint16
}

// inquirer is who had that socket.
type inquirer struct {
	broker *broker
	n      notification
}

const (
	// maxInquirers bounds the sockets that are known; then all are forgotten, and
	// with them nothing but whom a refused name is told of.
	maxInquirers = 4096
	// maxOutside bounds what is looked up at the same time, maxAsked what waits for
	// that besides: who asks again and again for a name that is slow gets no answer.
	maxOutside = 32
	maxAsked   = 8 * maxOutside
	// outsideTime is how long that may take: longer, and the command has asked
	// again or given up.
	outsideTime = 10 * time.Second
)

func newResolver(conf resolvConf, names *hostNames, lookup LookupFunc) *resolver {
	return &resolver{conf: conf, lookup: lookup, names: names, closed: closedName, turns: make(chan struct{}, maxOutside), inquirers: map[inquirerKey]inquirer{}}
}

// expect notes that questions from the socket are the caller's of n. It gets its
// port now, if it has none: the question may be there before anybody looks again.
func (r *resolver) expect(b *broker, n *notification, s inetSocket, to netip.AddrPort) {
	at, ok := localAddress(s.fd)
	if ok && at.Port() == 0 {
		anywhere := netip.IPv4Unspecified()
		if s.domain == unix.AF_INET6 {
			anywhere = netip.IPv6Unspecified()
		}
		_ = addressCall(unix.SYS_BIND, s.fd, socketAddress(netip.AddrPortFrom(anywhere, 0), s.domain))
		at, ok = localAddress(s.fd)
	}
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.inquirers) >= maxInquirers {
		clear(r.inquirers)
	}
	r.inquirers[inquirerKey{s.protocol, to.Addr().Is6(), at.Port()}] = inquirer{b, *n}
}

// disown forgets whose questions come from a port that another socket was bound to.
func (r *resolver) disown(protocol int, port uint16) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, six := range []bool{false, true} {
		delete(r.inquirers, inquirerKey{protocol, six, port})
	}
}

// forget drops what is known of a broker that ends.
func (r *resolver) forget(b *broker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, a := range r.inquirers {
		if a.broker == b {
			delete(r.inquirers, key)
		}
	}
}

// question takes up a message from a socket; reply, which is called once, sends
// the answer. It reports false for what deserves none.
func (r *resolver) question(protocol int, from netip.AddrPort, message []byte, reply func([]byte)) bool {
	q, ok := parseQuestion(message)
	if !ok {
		return false
	}
	r.mu.Lock()
	who, known := r.inquirers[inquirerKey{protocol, from.Addr().Is6(), from.Port()}]
	r.mu.Unlock()
	refuse := func() { reply(q.answer(dnsmessage.RCodeNameError, nil)) }
	if q.name == "" || !known || !who.broker.posts.add(func() { who.broker.lookUp(&who.n, protocol, q, reply) }) {
		refuse()
	}
	return true
}

// lookUp answers a question of the command. It runs on the broker's thread.
func (b *broker) lookUp(n *notification, protocol int, q dnsQuestion, reply func([]byte)) {
	r := b.session.net.resolver
	none := func() { reply(q.answer(dnsmessage.RCodeNameError, nil)) }
	allowed := func(name string) bool { return mayLookUp(b.policy, name) }
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "lookup", Target: q.name}
	switch {
	case allowed(q.name):
		r.begin(q, reply)
	case r.names.written[q.name], !b.lookups.tell(q.name, allowed):
		none() // nothing is missed that the command could not know, or it was told already
	case b.learn(n, nil, d):
		b.held.learning.forget(b)
		r.begin(q, reply)
	case protocol == unix.IPPROTO_UDP && b.holds(&d):
		// Over a stream libraries wait as long as it takes; after a datagram that
		// nothing answers, they give up in seconds.
		reply(q.shortened())
	case b.holdLookup(n, d, func(yes bool) {
		if yes {
			r.begin(q, reply)
		} else {
			none()
		}
	}):
	default:
		if b.lookups.counts(q.name, n.tid, q.asked.Type) {
			b.record(n, d)
		}
		none()
	}
}

// mayLookUp reports whether the policy names a host.
func mayLookUp(p sandbox.Policy, name string) bool {
	return p.Network.Mode == sandbox.NetworkAllow && slices.ContainsFunc(p.Network.Hosts, func(h sandbox.HostPort) bool { return h.Host == name })
}

// begin is outside, beside the broker's thread.
func (r *resolver) begin(q dnsQuestion, reply func([]byte)) {
	if r.waiting.Add(1) > maxAsked {
		r.waiting.Add(-1)
		reply(q.answer(dnsmessage.RCodeServerFailure, nil))
		return
	}
	go func() {
		defer r.waiting.Add(-1)
		r.outside(q, reply)
	}()
}

// outside looks a name up on the host. Where it leads is for the connection to
// judge (mayReach), by the very address that is dialled.
func (r *resolver) outside(q dnsQuestion, reply func([]byte)) {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	if q.wants() == "" || r.lookup == nil {
		reply(q.answer(dnsmessage.RCodeSuccess, nil))
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), outsideTime)
	defer cancel()
	addrs, err := r.lookup(ctx, q.wants(), q.name)
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return a.Is4() != (q.wants() == "ip4") })
	if err != nil && ctx.Err() != nil {
		reply(q.answer(dnsmessage.RCodeServerFailure, nil))
		return
	}
	for _, a := range addrs {
		r.names.add(meant(a), q.name)
	}
	reply(q.answer(dnsmessage.RCodeSuccess, addrs))
}

// closedName says why a name that is allowed may not lead to an address.
func closedName(h sandbox.HostPort, a netip.Addr, named func(sandbox.HostPort) bool) string {
	return h.ClosedTo(a, hostHas, named)
}

// serveDatagrams answers what comes in by a socket until it is closed.
func (r *resolver) serveDatagrams(f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, maxQuestion)
	for {
		var n int
		var from unix.Sockaddr
		var got error
		if err := conn.Read(func(fd uintptr) bool {
			n, from, got = unix.Recvfrom(int(fd), buf, 0)
			return got != unix.EAGAIN
		}); err != nil {
			return
		}
		at, ok := addressOf(from)
		if got != nil || !ok {
			continue // an answer that nobody took comes back as an error
		}
		r.question(unix.IPPROTO_UDP, at, slices.Clone(buf[:n]), func(answer []byte) {
			_ = conn.Control(func(fd uintptr) { _ = unix.Sendto(int(fd), answer, unix.MSG_DONTWAIT, from) })
		})
	}
}

const (
	// maxStreams bounds the connections to one resolver, streamTime how long one
	// may stay.
	maxStreams = 32
	streamTime = 30 * time.Second
	// heldTime is how long a person may take over an answer, and more.
	heldTime = 10 * time.Minute
	// streamPause is waited where no connection can be taken.
	streamPause = 50 * time.Millisecond
)

// serveStreams answers connections until the socket is closed.
func (r *resolver) serveStreams(f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	places := make(chan struct{}, maxStreams)
	for {
		fd, peer, err := accept(conn)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil { // no descriptor is left, for now
			time.Sleep(streamPause)
			continue
		}
		stream := os.NewFile(uintptr(fd), "lookup")
		at, ok := addressOf(peer)
		select {
		case places <- struct{}{}:
		default:
			ok = false
		}
		if !ok {
			stream.Close()
			continue
		}
		go func() {
			defer func() { stream.Close(); <-places }()
			r.serveStream(stream, at)
		}()
	}
}

// serveStream answers questions, each behind its length, one after the other.
func (r *resolver) serveStream(f *os.File, from netip.AddrPort) {
	for f.SetDeadline(time.Now().Add(streamTime)) == nil {
		var size [2]byte
		if _, err := io.ReadFull(f, size[:]); err != nil {
			return
		}
		message := make([]byte, binary.BigEndian.Uint16(size[:]))
		if len(message) > maxQuestion {
			return
		}
		if _, err := io.ReadFull(f, message); err != nil {
			return
		}
		done := make(chan []byte, 1)
		if !r.question(unix.IPPROTO_TCP, from, message, func(answer []byte) { done <- answer }) {
			return
		}
		select {
		case answer := <-done:
			_ = f.SetDeadline(time.Now().Add(streamTime))
			if _, err := f.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
				return
			}
		case <-time.After(heldTime):
			return
		}
	}
}

// accept waits for a connection, and makes it one that does not block.
func accept(listener syscall.RawConn) (fd int, peer unix.Sockaddr, err error) {
	var got error
	err = listener.Read(func(l uintptr) bool {
		fd, peer, got = unix.Accept4(int(l), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		// A connection may have been given up before it is taken.
		return got != unix.EAGAIN && got != unix.ECONNABORTED && got != unix.EINTR
	})
	if err != nil {
		return -1, nil, os.ErrClosed // there is nothing else that ends the wait
	}
	return fd, peer, got
}
