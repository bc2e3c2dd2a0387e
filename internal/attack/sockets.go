//go:build linux

package attack

import (
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

const high = uint64(1) << 32

func socket(domain, kind, protocol uint64) func() error {
	return func() error { return call(unix.SYS_SOCKET, uintptr(domain), uintptr(kind), uintptr(protocol)) }
}

// service connects to the host's service, whose socket is in the victim's folder.
func service(domain, kind uint64) func() error {
	return func() error {
		fd, err := value(unix.SYS_SOCKET, uintptr(domain), uintptr(kind), 0)
		if err != nil {
			return err
		}
		defer unix.Close(int(fd))
		return connectService(int(fd), ServiceName)
	}
}

func connectService(fd int, name string) error {
	return unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(os.Getenv(EnvDir), name)})
}

// optional creates a socket of a family that the kernel may lack. Kernel and sandbox then give the
// same answer. An invalid type tells them apart, because the kernel checks the type first.
func optional(domain, kind, protocol uint64) func() error {
	return func() error {
		if err := socket(domain, kind, protocol)(); err != unix.EAFNOSUPPORT {
			return err
		}
		return socket(domain, 11, 0)()
	}
}

func sockets() []Attack {
	datagrams := func() error {
		fd, err := value(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(int(fd))
		return connectService(int(fd), MessagesName)
	}
	// pair connects one end of a pair to the host's service for datagrams.
	pair := func(domain, kind uint64) func() error {
		return func() error {
			var fds [2]int32
			if err := call(unix.SYS_SOCKETPAIR, uintptr(domain), uintptr(kind), 0, uintptr(unsafe.Pointer(&fds))); err != nil {
				return err
			}
			defer unix.Close(int(fds[0]))
			defer unix.Close(int(fds[1]))
			return connectService(int(fds[0]), MessagesName)
		}
	}
	family := []Answer{{unix.EINVAL, "this kernel lacks the family; an invalid type gets as far as the kernel"}, needsRoot}
	root := []Answer{needsRoot}
	refused := func(name, escape string, do func() error, bare ...Answer) Attack {
		return Attack{Name: name, Escape: escape, Want: unix.EPERM, Do: do, Bare: bare}
	}
	inet := func(name, escape string, do func() error, bare ...Answer) Attack {
		return Attack{Name: name, Escape: escape, Want: unix.EPERM, Do: do, Bare: bare, Network: true}
	}
	unknown := func(name, escape string, do func() error) Attack {
		return Attack{Name: name, Escape: escape, Want: unix.EAFNOSUPPORT, Do: do, Bare: family}
	}
	return []Attack{
		inet("socket: TCP", "E46", socket(unix.AF_INET, unix.SOCK_STREAM, 0)),
		inet("socket: TCP over IPv6", "E46", socket(unix.AF_INET6, unix.SOCK_STREAM, 0), Answer{unix.EAFNOSUPPORT, "this machine has no IPv6"}),
		inet("socket: UDP", "E42", socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)),
		inet("socket: AF_INET + 2^32", "E46", socket(unix.AF_INET|high, unix.SOCK_STREAM, 0)),
		inet("socket: AF_INET, type + 2^32", "E46", socket(unix.AF_INET, unix.SOCK_STREAM|high, 0)),
		inet("socket: MPTCP", "E49", socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), Answer{unix.EPROTONOSUPPORT, "this kernel lacks MPTCP"}),
		refused("socket: raw", "E46", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), root...),
		inet("socket: ping", "E42", socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP), Answer{unix.EACCES, "the sysctl ping_group_range leaves this user out"}),
		refused("socket: AF_UNIX stream", "E35", service(unix.AF_UNIX, unix.SOCK_STREAM)),
		refused("socket: AF_UNIX datagram", "E38", datagrams),
		refused("socket: AF_UNIX + 2^32", "E35", service(unix.AF_UNIX|high, unix.SOCK_STREAM)),
		inet("socket: netlink route", "E46", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)),
		refused("socket: netlink audit", "E46", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT), Answer{unix.EPROTONOSUPPORT, "this kernel lacks it"}),
		refused("socket: packet", "E46", socket(unix.AF_PACKET, unix.SOCK_RAW, 0), root...),
		unknown("socket: AF_VSOCK", "E36", optional(unix.AF_VSOCK, unix.SOCK_STREAM, 0)),
		unknown("socket: AF_ALG", "E57", optional(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)),
		unknown("socket: AF_ALG + 2^32", "E57", optional(unix.AF_ALG|high, unix.SOCK_SEQPACKET, 0)),
		unknown("socket: AF_BLUETOOTH", "-", optional(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1)),
		unknown("socket: AF_TIPC", "-", optional(unix.AF_TIPC, unix.SOCK_STREAM, 0)),
		refused("socketpair: datagram", "E38", pair(unix.AF_UNIX, unix.SOCK_DGRAM)),
		refused("socketpair: datagram by its other name", "E38", pair(unix.AF_UNIX, unix.SOCK_RAW)),
		refused("socketpair: datagram, type + 2^32", "E38", pair(unix.AF_UNIX, unix.SOCK_DGRAM|high)),
	}
}

// inherited returns the attacks with a socket that was passed in as standard input.
func inherited() []Attack {
	address := func() *unix.RawSockaddrInet4 {
		port, _ := strconv.Atoi(os.Getenv(EnvPort))
		return &unix.RawSockaddrInet4{Family: unix.AF_INET, Port: uint16(port)>>8 | uint16(port)<<8, Addr: [4]byte{127, 0, 0, 1}}
	}
	x := []byte("x")
	data := uintptr(unsafe.Pointer(&x[0]))
	message := func() *unix.Msghdr {
		return &unix.Msghdr{Name: (*byte)(unsafe.Pointer(address())), Namelen: unix.SizeofSockaddrInet4, Iov: &unix.Iovec{Base: &x[0], Len: 1}, Iovlen: 1}
	}
	with := func(name, escape string, in Stdin, do func() error, bare ...Answer) Attack {
		return Attack{Name: name, Escape: escape, Want: unix.EPERM, Stdin: in, Do: do, Bare: bare}
	}
	noTFO := []Answer{{unix.EOPNOTSUPP, "the sysctl tcp_fastopen is off"}, {unix.EPIPE, "the sysctl tcp_fastopen is off"}}
	return []Attack{
		with("handed-in TCP socket: connect", "E39", StdinTCP, func() error {
			return call(unix.SYS_CONNECT, 0, uintptr(unsafe.Pointer(address())), unix.SizeofSockaddrInet4)
		}),
		with("handed-in TCP socket: bind", "E39", StdinTCP, func() error {
			any := &unix.RawSockaddrInet4{Family: unix.AF_INET}
			return call(unix.SYS_BIND, 0, uintptr(unsafe.Pointer(any)), unix.SizeofSockaddrInet4)
		}),
		with("handed-in TCP socket: listen", "E39", StdinTCP, func() error { return call(unix.SYS_LISTEN, 0, 1) }),
		with("handed-in TCP socket: Fast Open by sendto", "E49", StdinTCP, func() error {
			return call(unix.SYS_SENDTO, 0, data, 1, unix.MSG_FASTOPEN, uintptr(unsafe.Pointer(address())), unix.SizeofSockaddrInet4)
		}, noTFO...),
		with("handed-in TCP socket: Fast Open by sendmsg", "E49", StdinTCP, func() error {
			return call(unix.SYS_SENDMSG, 0, uintptr(unsafe.Pointer(message())), unix.MSG_FASTOPEN)
		}, noTFO...),
		with("handed-in TCP socket: Fast Open by sendmmsg", "E49", StdinTCP, func() error {
			many := struct {
				unix.Msghdr
				sent uint32
			}{Msghdr: *message()}
			return call(unix.SYS_SENDMMSG, 0, uintptr(unsafe.Pointer(&many)), 1, unix.MSG_FASTOPEN)
		}, noTFO...),
		with("handed-in UDP socket: sendto an address", "E38", StdinUDP, func() error {
			return call(unix.SYS_SENDTO, 0, data, 1, 0, uintptr(unsafe.Pointer(address())), unix.SizeofSockaddrInet4)
		}),
		with("handed-in listener: accept", "E39", StdinListener, func() error {
			return call(unix.SYS_ACCEPT, 0, 0, 0)
		}),
		with("handed-in listener: accept4", "E39", StdinListener, func() error {
			return call(unix.SYS_ACCEPT4, 0, 0, 0, 0)
		}),
	}
}
