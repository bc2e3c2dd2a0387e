//go:build linux

package linuxsandbox

import (
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// sessionNetwork is what codeagent has of the network namespace of a session.
type sessionNetwork struct {
	// inside and host tell who listens there.
	inside, host *inetDiag
	// resolvers are the addresses at which names can be looked up; files are what
	// is served there.
	resolvers map[netip.Addr]bool
	resolver  *resolver
	files     []*os.File
	relay     *relay
}

// newSessionNetwork takes the sockets over and serves them until it is closed.
func newSessionNetwork(door []doorSocket, r *resolver) *sessionNetwork {
	s := &sessionNetwork{inside: &inetDiag{fd: -1}, host: &inetDiag{fd: -1}, resolvers: map[netip.Addr]bool{}, resolver: r, relay: newRelay()}
	if fd, err := newDiagSocket(); err == nil {
		s.host.fd = fd
	}
	for _, d := range door {
		switch d.kind {
		case doorDiag:
			s.inside.fd = d.fd
		case doorRelay, doorLost:
			s.relay.serve(d.fd, d.kind == doorLost)
		case doorDatagrams, doorStreams:
			if at, ok := localAddress(d.fd); ok {
				s.resolvers[at.Addr()] = true
			}
			f := os.NewFile(uintptr(d.fd), "resolver")
			s.files = append(s.files, f)
			if d.kind == doorDatagrams {
				go r.serveDatagrams(f)
			} else {
				go r.serveStreams(f)
			}
		}
	}
	return s
}

func (s *sessionNetwork) close() {
	if s == nil {
		return
	}
	s.inside.close()
	s.host.close()
	s.relay.close()
	for _, f := range s.files {
		f.Close()
	}
}

// serves reports whether a stream to a loopback address is taken in the session.
func (s *sessionNetwork) serves(to netip.AddrPort) bool {
	if !to.Addr().IsLoopback() {
		return false
	}
	inside, ok := s.inside.takes(unix.IPPROTO_TCP, to)
	return inside || !ok
}

// meantForHost reports whether the loopback address at is served by the host and
// not by the session.
func (s *sessionNetwork) meantForHost(protocol int, at netip.AddrPort) bool {
	if protocol != unix.IPPROTO_TCP && protocol != unix.IPPROTO_UDP {
		return false
	}
	inside, ok := s.inside.takes(protocol, at)
	if inside || !ok {
		return false
	}
	served, _ := s.host.takes(protocol, at)
	return served
}

// forget drops what is known of a broker that has ended.
func (s *sessionNetwork) forget(b *broker) {
	if s != nil {
		s.resolver.forget(b)
		s.relay.end(b)
	}
}

// lookups are those of a new command.
func (s *sessionNetwork) lookups() *lookups {
	if s == nil {
		return nil
	}
	return newLookups(&s.resolver.conf)
}
