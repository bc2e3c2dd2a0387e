//go:build linux

package netns

import (
	"encoding/binary"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
)

// codeagent asks the kernel whether a program listens at an address (sock_diag(7)). An attempt to
// connect would be visible to the program.

// inetDiag asks about the sockets of the network namespace in which its own socket was created.
type inetDiag struct {
	mu  sync.Mutex
	fd  int // -1: no answers
	seq uint32
}

func (d *inetDiag) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd >= 0 {
		unix.Close(d.fd)
		d.fd = -1
	}
}

const (
	// loopbackIndex is the number of the loopback device in every namespace.
	loopbackIndex = 1
	// diagRequestSize is the size of an nlmsghdr and a struct inet_diag_req_v2.
	diagRequestSize = unix.SizeofNlMsghdr + 56
)

// takes reports whether a socket of the protocol, IPPROTO_TCP or IPPROTO_UDP, receives what is sent
// to the loopback address at. ok is false if the kernel gives no answer.
func (d *inetDiag) takes(protocol int, at netip.AddrPort) (taken, ok bool) {
	s, ok := d.receiver(protocol, at, netip.AddrPort{})
	return s.found, ok
}

// receiver is the socket of takes for what comes from the address from. A connected datagram socket receives from
// one address alone.
func (d *inetDiag) receiver(protocol int, at, from netip.AddrPort) (s diagSocket, ok bool) {
	if from.Addr().Is4() != at.Addr().Is4() || from.Addr().IsUnspecified() || !from.IsValid() {
		from = netip.AddrPortFrom(loopbackLike(at.Addr()), from.Port()) // the kernel sends it from there
	}
	return d.find(protocol, at, from)
}

// diagSocket is what the kernel reports about a socket. cookie identifies it, and uid is its owner.
type diagSocket struct {
	found  bool
	cookie uint64
	uid    uint32
}

// Offsets in the kernel's answer, an nlmsghdr and a struct inet_diag_msg.
const (
	diagCookie = unix.SizeofNlMsghdr + 44
	diagUID    = unix.SizeofNlMsghdr + 64
	diagEnd    = unix.SizeofNlMsghdr + 72
)

// parseInetDiag parses a message about one socket; false if it is not one.
func parseInetDiag(m []byte) (s diagSocket, ok bool) {
	if len(m) < diagEnd {
		return s, false
	}
	return diagSocket{found: true, cookie: binary.NativeEndian.Uint64(m[diagCookie:]), uid: binary.NativeEndian.Uint32(m[diagUID:])}, true
}

// find asks for the socket of a protocol at its own address that receives what peer sends. ok is false
// if the kernel gives no answer.
func (d *inetDiag) find(protocol int, at, peer netip.AddrPort) (s diagSocket, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd < 0 {
		return s, false
	}
	d.seq++
	if _, err := unix.Write(d.fd, diagQuestion(protocol, at, peer, d.seq)); err != nil {
		return s, false
	}
	answer := make([]byte, 4096)
	for {
		n, err := unix.Read(d.fd, answer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n < unix.SizeofNlMsghdr+4 {
			return s, false
		}
		if binary.NativeEndian.Uint32(answer[8:]) != d.seq {
			continue // the answer to an earlier question
		}
		if binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
			return parseInetDiag(answer[:n])
		}
		errno := unix.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])))
		return s, errno == unix.ENOENT && n >= unix.SizeofNlMsghdr+4
	}
}

// diagQuestion asks for the one socket that would receive a packet from the loopback address peer to at.
func diagQuestion(protocol int, at, peer netip.AddrPort, seq uint32) []byte {
	q := make([]byte, diagRequestSize)
	binary.NativeEndian.PutUint32(q, diagRequestSize)
	binary.NativeEndian.PutUint16(q[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(q[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(q[8:], seq)
	body := q[unix.SizeofNlMsghdr:]
	body[0] = byte(domainOf(at.Addr()))
	body[1] = byte(protocol)
	binary.NativeEndian.PutUint32(body[4:], ^uint32(0)) // any state
	id := body[8:]
	// Which of the two ends is the socket's own depends on the protocol, "for historical reasons".
	own, other := id[0:2], id[2:4]
	ownAddr, otherAddr := id[4:20], id[20:36]
	if protocol == unix.IPPROTO_UDP {
		own, other, ownAddr, otherAddr = other, own, otherAddr, ownAddr
	}
	binary.BigEndian.PutUint16(own, at.Port())
	binary.BigEndian.PutUint16(other, peer.Port())
	copy(ownAddr, at.Addr().AsSlice())
	copy(otherAddr, peer.Addr().AsSlice())
	binary.NativeEndian.PutUint32(id[36:], loopbackIndex)
	binary.NativeEndian.PutUint64(id[40:], ^uint64(0)) // any cookie
	return q
}
