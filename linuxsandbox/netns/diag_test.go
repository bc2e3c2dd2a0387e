//go:build linux

package netns

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"codeagent/internal/machine"
)

// TestWhoTakes: the kernel reports whether a program listens at a loopback address, with whatever
// address and family it listens.
func TestWhoTakes(t *testing.T) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		t.Fatal(err)
	}
	d := &inetDiag{fd: fd}
	defer d.close()
	v6 := machine.IPv6().Works(t)
	for _, row := range []struct{ network, at, asked string }{
		{"tcp4", "127.0.0.1:0", "127.0.0.1"}, {"tcp4", "0.0.0.0:0", "127.9.8.7"}, {"tcp6", "[::1]:0", "::1"},
		{"tcp6", "[::]:0", "::1"}, {"tcp", "[::]:0", "127.0.0.1"},
		{"udp4", "127.0.0.1:0", "127.0.0.1"}, {"udp4", "0.0.0.0:0", "127.0.0.1"}, {"udp6", "[::1]:0", "::1"},
	} {
		var port uint16
		var stop func() error
		protocol := unix.IPPROTO_TCP
		if strings.HasSuffix(row.network, "6") && !v6 {
			continue
		}
		if row.network[0] == 't' {
			l, err := net.Listen(row.network, row.at)
			if err != nil {
				t.Fatal(err)
			}
			port, stop = l.Addr().(*net.TCPAddr).AddrPort().Port(), l.Close
		} else {
			c, err := net.ListenPacket(row.network, row.at)
			if err != nil {
				t.Fatal(err)
			}
			port, stop, protocol = c.LocalAddr().(*net.UDPAddr).AddrPort().Port(), c.Close, unix.IPPROTO_UDP
		}
		at := netip.AddrPortFrom(netip.MustParseAddr(row.asked), port)
		if taken, ok := d.takes(protocol, at); !taken || !ok {
			t.Errorf("%s %s: nobody at %s: %v %v", row.network, row.at, at, taken, ok)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if taken, ok := d.takes(protocol, at); taken || !ok {
			t.Errorf("%s %s: closed, and still there at %s: %v %v", row.network, row.at, at, taken, ok)
		}
	}
	d.close()
	if _, ok := d.takes(unix.IPPROTO_TCP, netip.MustParseAddrPort("127.0.0.1:1")); ok {
		t.Error("what is closed knows an answer")
	}
}
