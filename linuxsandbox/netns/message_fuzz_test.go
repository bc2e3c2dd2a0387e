//go:build linux

package netns

import (
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// FuzzQuestion: whatever a command sends to the name service, each answer answers it and fits a
// datagram, and the name is one that a policy can contain.
func FuzzQuestion(f *testing.F) {
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04name\x07example\x00\x00\x01\x00\x01"))
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x05_http\x04_tcp\x07example\x00\x00\x21\x00\x01\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"))
	addrs := []netip.Addr{}
	for i := range 2 * maxAddresses {
		addrs = append(addrs, netip.AddrFrom16([16]byte{0: 0x20, 15: byte(i)}))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		q, ok := parseQuestion(message)
		if !ok {
			return
		}
		for _, answer := range [][]byte{q.answer(dnsmessage.RCodeNameError, nil), q.answer(dnsmessage.RCodeSuccess, addrs), q.shortened()} {
			var m dnsmessage.Message
			if err := m.Unpack(answer); err != nil || m.ID != q.header.ID || !m.Response || len(m.Questions) != 1 || m.Questions[0] != q.asked {
				t.Fatalf("%q: %v %+v", message, err, m)
			}
			if len(answer) > 512+len(q.asked.Name.String()) {
				t.Fatalf("%q: %d bytes", message, len(answer))
			}
		}
		if q.name != "" && hostName(q.name+".") != q.name {
			t.Fatalf("%q is not its own name", q.name)
		}
	})
}
