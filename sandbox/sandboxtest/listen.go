package sandboxtest

import (
	"iter"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// listener is something outside the sandbox to connect to.
type listener struct {
	network, address string
	port             uint16
	// packets is set if a sender gets no answer: then the received packets count.
	packets net.PacketConn
}

// arrived reports whether anything came in since the last call. It sends a packet itself, which
// arrives last.
func (l listener) arrived(s *suite) bool {
	s.Helper()
	const last = "last"
	if _, err := l.packets.WriteTo([]byte(last), l.packets.LocalAddr()); err != nil {
		s.Fatal(err)
	}
	buf := make([]byte, 64)
	for came := false; ; came = true {
		n, _, err := l.packets.ReadFrom(buf)
		if err != nil {
			s.Fatal(err)
		}
		if string(buf[:n]) == last {
			return came
		}
	}
}

// listen opens one listener of each kind, TCP first.
func listen(s *suite, dir string) []listener {
	s.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { tcp.Close() })
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { udp.Close() })
	out := []listener{
		{"tcp", tcp.Addr().String(), uint16(tcp.Addr().(*net.TCPAddr).Port), nil},
		{"udp", udp.LocalAddr().String(), 0, udp},
	}
	paths := []string{dir + "/s.sock"}
	if runtime.GOOS == "linux" {
		paths = append(paths, "@sandboxtest-"+dir)
	}
	for _, path := range paths {
		l, err := net.Listen("unix", path)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { l.Close() })
		out = append(out, listener{"unix", path, 0, nil})
	}
	d, err := net.ListenPacket("unixgram", dir+"/d.sock")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { d.Close() })
	return append(out, listener{"unixgram", dir + "/d.sock", 0, nil})
}

// ShutPort is a loopback port at which nobody listens until the test ends: a socket that does not
// listen is bound to it.
func ShutPort(t testing.TB) int {
	t.Helper()
	syscall.ForkLock.RLock() // start no process before it is close-on-exec
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return at.(*syscall.SockaddrInet4).Port
}

// dupTo makes fd a copy of old that children inherit.
func dupTo(old, fd int) error {
	// F_DUPFD returns the lowest free descriptor from fd on, which is fd itself.
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(old), syscall.F_DUPFD, uintptr(fd))
	if errno != 0 {
		return errno
	}
	return nil
}

func names(s *suite, dir string) iter.Seq[string] {
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.Fatal(err)
	}
	return func(yield func(string) bool) {
		for _, e := range entries {
			if !yield(e.Name()) {
				return
			}
		}
	}
}
