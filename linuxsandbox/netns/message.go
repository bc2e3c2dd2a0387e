//go:build linux

package netns

import (
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"codeagent/sandbox"
)

// maxQuestion bounds the bytes of a question. maxAddresses bounds the addresses of an answer, which
// must fit the smallest datagram of the protocol.
const (
	maxQuestion  = 1500
	maxAddresses = 8
)

// answerTTL is how long a library may cache an answer. It is short, because the policy judges a
// connection by the names of its address.
const answerTTL = 10 * time.Second

// dnsQuestion is a message that asks about one name.
type dnsQuestion struct {
	header dnsmessage.Header
	asked  dnsmessage.Question
	// name is the canonical name of the host. It is "" for what no policy can name: reverse
	// lookups, and names that no host can have.
	name string
}

// parseQuestion decodes a message. ok is false if the message deserves no answer.
func parseQuestion(message []byte) (q dnsQuestion, ok bool) {
	var p dnsmessage.Parser
	var err error
	if q.header, err = p.Start(message); err != nil || q.header.Response {
		return q, false
	}
	if q.asked, err = p.Question(); err != nil {
		return q, false
	}
	q.name = hostName(q.asked.Name.String())
	return q, true
}

// hostName is the canonical name of the host to which a looked-up name belongs:
// "_http._tcp.example.org" is a service of example.org.
func hostName(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for strings.HasPrefix(name, "_") {
		_, name, _ = strings.Cut(name, ".")
	}
	if name == "arpa" || strings.HasSuffix(name, ".arpa") {
		return ""
	}
	h, err := sandbox.ParseHostPort(name)
	if err != nil || h.Port != 0 {
		return ""
	}
	if _, err := netip.ParseAddr(h.Host); err == nil {
		return ""
	}
	return h.Host
}

// wants is the family of the addresses in the answer, "ip4" or "ip6"; "" if the question does not
// ask for addresses.
func (q dnsQuestion) wants() string {
	switch q.asked.Type {
	case dnsmessage.TypeA:
		return "ip4"
	case dnsmessage.TypeAAAA:
		return "ip6"
	}
	return ""
}

// answer encodes the answer to q.
func (q dnsQuestion) answer(code dnsmessage.RCode, addrs []netip.Addr) []byte {
	return q.build(dnsmessage.Header{RCode: code}, addrs)
}

// shortened is an answer with the TC bit: libraries then ask again over a stream.
func (q dnsQuestion) shortened() []byte { return q.build(dnsmessage.Header{Truncated: true}, nil) }

func (q dnsQuestion) build(h dnsmessage.Header, addrs []netip.Addr) []byte {
	h.ID, h.Response, h.OpCode = q.header.ID, true, q.header.OpCode
	h.RecursionDesired, h.RecursionAvailable = q.header.RecursionDesired, true
	b := dnsmessage.NewBuilder(make([]byte, 0, 512), h)
	b.EnableCompression()
	// None of these calls can fail: the input is bounded and comes from a parser.
	_ = b.StartQuestions()
	_ = b.Question(q.asked)
	_ = b.StartAnswers()
	head := dnsmessage.ResourceHeader{Name: q.asked.Name, Class: dnsmessage.ClassINET, TTL: uint32(answerTTL / time.Second)}
	for _, addr := range addrs[:min(len(addrs), maxAddresses)] {
		if addr.Is4() {
			_ = b.AResource(head, dnsmessage.AResource{A: addr.As4()})
		} else {
			_ = b.AAAAResource(head, dnsmessage.AAAAResource{AAAA: addr.As16()})
		}
	}
	message, _ := b.Finish()
	return message
}
