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
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd < 0 {
		return false, false
	}
	d.seq++
	if _, err := unix.Write(d.fd, diagQuestion(protocol, at, d.seq)); err != nil {
		return false, false
	}
	answer := make([]byte, 4096)
	for {
		n, err := unix.Read(d.fd, answer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n < unix.SizeofNlMsghdr+4 {
			return false, false
		}
		if binary.NativeEndian.Uint32(answer[8:]) != d.seq {
			continue // the answer to an earlier question
		}
		if binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
			return true, true
		}
		errno := unix.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])))
		return false, errno == unix.ENOENT && n >= unix.SizeofNlMsghdr+4
	}
}

// diagQuestion asks for the one socket that would receive a packet from the loopback to at.
func diagQuestion(protocol int, at netip.AddrPort, seq uint32) []byte {
	q := make([]byte, diagRequestSize)
	binary.NativeEndian.PutUint32(q, diagRequestSize)
	binary.NativeEndian.PutUint16(q[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(q[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(q[8:], seq)
	body := q[unix.SizeofNlMsghdr:]
	from := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	body[0] = unix.AF_INET
	if at.Addr().Is6() {
		body[0], from = unix.AF_INET6, netip.IPv6Loopback()
	}
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
	binary.BigEndian.PutUint16(other, 0)
	copy(ownAddr, at.Addr().AsSlice())
	copy(otherAddr, from.AsSlice())
	binary.NativeEndian.PutUint32(id[36:], loopbackIndex)
	binary.NativeEndian.PutUint64(id[40:], ^uint64(0)) // any cookie
	return q
}
