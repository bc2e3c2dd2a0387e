//go:build linux

package netns

import (
	"context"
	"encoding/binary"
	"errors"
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

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// The name service listens in the session's network at the addresses of the machine's name servers.
// The source port of a question identifies the command, because the command's broker registered the
// port. The broker decides, and the name service looks up allowed names on the host:
//
//	command: sendto(10.0.0.2:53) ─▶ broker: Expect, with the port
//	                             ─▶ name service: question ─▶ the command's broker: may it?
//	   no:  "no such name", and a denial             yes: Outside.Lookup, addresses
//
// Every library accepts "no such name" as an answer. After REFUSED or SERVFAIL musl waits for a
// better answer, and other libraries try again.

// nameService answers the questions of one session.
type nameService struct {
	Outside
	conf  resolvConf
	known *hostNames
	// standing are the addresses of names that only a proxy can look up.
	standing standing
	// turns has a place for each question that is being looked up outside. waiting counts these and
	// the questions that wait for a place.
	turns   chan struct{}
	waiting atomic.Int32

	mu        sync.Mutex
	inquirers map[inquirerKey]inquirer // guarded by mu
}

// inquirerKey identifies the socket that sent a question.
type inquirerKey struct {
	protocol int
	six      bool
	port     uint16
}

// inquirer is the command that owned the socket. ask decides about a question, and reports false if
// nobody will answer.
type inquirer struct {
	client *Client
	ask    func(*Question) bool
}

const (
	// maxInquirers bounds the registered sockets. When it is reached all are forgotten; their
	// questions are then refused without a denial.
	maxInquirers = 4096
	// maxOutside bounds the lookups that run at the same time. maxAsked bounds the lookups that
	// wait in addition: a command that keeps asking for a slow name gets a failure.
	maxOutside = 32
	maxAsked   = 8 * maxOutside
	// outsideTime bounds one lookup. By then the command has asked again or given up.
	outsideTime = 10 * time.Second
	// proxiedTime bounds that of a name which a proxy will look up again.
	proxiedTime = 2 * time.Second
)

func newNameService(conf resolvConf, o Outside) *nameService {
	return &nameService{Outside: o, conf: conf, known: newHostNames(o.Hosts), turns: make(chan struct{}, maxOutside), inquirers: map[inquirerKey]inquirer{}}
}

func (r *nameService) expect(key inquirerKey, who inquirer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.inquirers) >= maxInquirers {
		clear(r.inquirers)
	}
	r.inquirers[key] = who
}

// forget drops the sockets of a command that has ended.
func (r *nameService) forget(c *Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.inquirers, func(_ inquirerKey, who inquirer) bool { return who.client == c })
}

// question handles a message from a socket. It calls reply once, with the answer. It reports false
// if the message deserves no answer.
func (r *nameService) question(protocol int, from netip.AddrPort, message []byte, reply func([]byte)) bool {
	m, ok := parseQuestion(message)
	if !ok {
		return false
	}
	r.mu.Lock()
	who, known := r.inquirers[inquirerKey{protocol, from.Addr().Is6(), from.Port()}]
	r.mu.Unlock()
	q := &Question{Name: m.name, Datagram: protocol == unix.IPPROTO_UDP, message: m, service: r, reply: reply}
	if q.Name == "" || !known || !who.ask(q) {
		q.Refuse()
	}
	return true
}

// Question is a question from a command to the name service. Its receiver must call exactly one of
// Answer, Refuse and Shorten, once.
type Question struct {
	// Name is the canonical name of the host.
	Name string
	// Datagram reports that it came as a datagram, and not over a stream.
	Datagram bool

	message dnsQuestion
	service *nameService
	reply   func([]byte)
}

// Refuse answers that the name does not exist.
func (q *Question) Refuse() { q.reply(q.message.answer(dnsmessage.RCodeNameError, nil)) }

// Shorten makes the command ask again over a stream, where libraries wait as long as necessary.
// After a datagram without an answer they give up within seconds.
func (q *Question) Shorten() { q.reply(q.message.shortened()) }

// Answer looks the name up on the host. It does not block the caller.
func (q *Question) Answer() {
	r := q.service
	if r.waiting.Add(1) > maxAsked {
		r.waiting.Add(-1)
		q.reply(q.message.answer(dnsmessage.RCodeServerFailure, nil))
		return
	}
	go func() {
		defer r.waiting.Add(-1)
		r.turns <- struct{}{}
		defer func() { <-r.turns }()
		q.reply(r.outside(q.message))
	}()
}

// outside looks a name up on the host. The addresses are judged when the command connects, by the
// very address that is dialled (MayReach).
func (r *nameService) outside(q dnsQuestion) []byte {
	if q.wants() == "" || r.Lookup == nil {
		return q.answer(dnsmessage.RCodeSuccess, nil)
	}
	patience, proxied := outsideTime, r.proxied(q.name)
	if proxied { // there may be no name server at all
		patience = proxiedTime
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	addrs, err := r.Lookup(ctx, q.wants(), q.name)
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return a.Is4() != (q.wants() == "ip4") })
	if proxied && len(addrs) == 0 && q.wants() == "ip4" {
		if a, ok := r.standing.of(q.name); ok {
			addrs, err = []netip.Addr{a}, nil
		}
	}
	if err != nil && ctx.Err() != nil {
		return q.answer(dnsmessage.RCodeServerFailure, nil)
	}
	for _, a := range addrs {
		r.known.add(meant(a), q.name)
	}
	return q.answer(dnsmessage.RCodeSuccess, addrs)
}

// closed returns why an allowed name may not lead to an address; "" if it may.
func (r *nameService) closed(h sandbox.HostPort, a netip.Addr, judge func(sandbox.HostPort) sandbox.Judgement) string {
	if r.standing.is(a, h.Host) {
		return "" // what the name means to the proxy is the proxy's affair
	}
	if r.Closed != nil {
		return r.Closed(h, a, judge)
	}
	return h.ClosedTo(a, HostHas, judge)
}

// serveDatagrams answers the datagrams of a socket until it is closed.
func (r *nameService) serveDatagrams(conn syscall.RawConn) {
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
		at, ok := AddressOf(from)
		if got != nil || !ok {
			continue // an answer that could not be delivered comes back as an error
		}
		r.question(unix.IPPROTO_UDP, at, slices.Clone(buf[:n]), func(answer []byte) {
			_ = conn.Control(func(fd uintptr) { _ = unix.Sendto(int(fd), answer, unix.MSG_DONTWAIT, from) })
		})
	}
}

const (
	// maxStreams bounds the connections to one name server. streamTime bounds the duration of one.
	maxStreams = 32
	streamTime = 30 * time.Second
	// heldTime is longer than a person takes to answer.
	heldTime = 10 * time.Minute
	// streamPause is the pause after a failed accept.
	streamPause = 50 * time.Millisecond
)

// serveStreams answers connections until the socket is closed.
func (r *nameService) serveStreams(conn syscall.RawConn) {
	places := make(chan struct{}, maxStreams)
	eachAccepted(conn, func(fd int, peer unix.Sockaddr) {
		stream := os.NewFile(uintptr(fd), "lookup")
		at, ok := AddressOf(peer)
		select {
		case places <- struct{}{}:
		default:
			ok = false
		}
		if !ok {
			stream.Close()
			return
		}
		go func() {
			defer func() { stream.Close(); <-places }()
			r.serveStream(stream, at)
		}()
	})
}

// serveStream answers questions one after the other. Each has its length in front.
func (r *nameService) serveStream(f *os.File, from netip.AddrPort) {
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

// eachAccepted calls take for each connection, one after the other, until listener is closed.
func eachAccepted(listener syscall.RawConn, take func(fd int, peer unix.Sockaddr)) {
	for {
		fd, peer, err := accept(listener)
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil: // no descriptor is free at the moment
			time.Sleep(streamPause)
		default:
			take(fd, peer)
		}
	}
}

// accept waits for a connection. The socket it returns does not block.
func accept(listener syscall.RawConn) (fd int, peer unix.Sockaddr, err error) {
	var got error
	err = listener.Read(func(l uintptr) bool {
		fd, peer, got = unix.Accept4(int(l), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		// The peer may have given up the connection before accept takes it.
		return got != unix.EAGAIN && got != unix.ECONNABORTED && got != unix.EINTR
	})
	if err != nil {
		return -1, nil, os.ErrClosed // only closing the listener ends the wait
	}
	return fd, peer, got
}
