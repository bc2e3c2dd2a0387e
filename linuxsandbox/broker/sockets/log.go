//go:build linux

package sockets

import (
	"net/netip"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// connection describes, for the log, a connection that begins to an address that the policy allows.
func (s *Sockets) connection(n *notify.Notification, is netns.Socket, to netip.AddrPort) sandbox.Connection {
	c := sandbox.Connection{
		Host: s.Network.NameOf(s.Policy, to), Address: to.Addr(), Port: to.Port(), Protocol: "tcp",
		Verdict: sandbox.ConnectionAllowed, Traffic: sandbox.Traffic{Count: 1, Last: time.Now().Truncate(time.Second)},
	}
	if is.Protocol != unix.IPPROTO_TCP {
		c.Protocol = "udp"
	}
	c.Executable, c.Program = s.Program(n)
	return c
}

// logUnmeasured logs a connection that codeagent does not carry, so that it does not know the bytes.
func (s *Sockets) logUnmeasured(c sandbox.Connection) {
	c.Unmeasured = c.Count
	s.Connected(c)
}

// logDatagrams logs that a socket begins to send to an address. Messages that follow there are not logged.
func (s *Sockets) logDatagrams(n *notify.Notification, is netns.Socket, to netip.AddrPort) {
	cookie, err := unix.GetsockoptUint64(is.FD, unix.SOL_SOCKET, unix.SO_COOKIE)
	if now := (datagrams{cookie, to}); err != nil || now != s.latest {
		s.latest = now
		s.logUnmeasured(s.connection(n, is, to))
	}
}

// datagrams are a socket and where it sends.
type datagrams struct {
	cookie uint64
	to     netip.AddrPort
}
