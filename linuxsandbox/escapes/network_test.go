//go:build linux

package escapes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"unsafe"

	"codeagent/internal/attack"
	"codeagent/internal/machine"

	"golang.org/x/sys/unix"
)

// reaches is a row that sends its token to a listener on the host. It counts as an escape if the
// token arrives there.
func reaches(name, escape, protects string, do func(p place, token []byte) error) attempt {
	return attempt{
		name: name, escape: escape, protects: protects, sends: true,
		do: func(p place) error { return do(p, []byte(p.in)) },
		landed: func(h *host, p place) bool {
			defer h.forget(p.in)
			return h.heard(p.in)
		},
	}
}

const localServices = "services on the loopback device, and with them the network"

// sends creates a socket, connects it and writes.
func sends(family, kind, proto int, to unix.Sockaddr, token []byte) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	_, err = unix.Write(fd, token)
	return err
}

func loopback(port int) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func loopback6(port int) *unix.SockaddrInet6 {
	return &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
}

const protoMPTCP = 262

// networkEscapes reach the host's own network, or create sockets of families that no sandboxed
// command needs.
func networkEscapes() []attempt {
	tcp := func(name, escape string, do func(p place, token []byte) error) attempt {
		return reaches(name, escape, localServices, do)
	}
	rows := []attempt{
		tcp("TCP", "E51", func(p place, t []byte) error { return sends(unix.AF_INET, unix.SOCK_STREAM, 0, loopback(p.TCP), t) }),
		tcp("TCP to 0.0.0.0", "E51", func(p place, t []byte) error {
			return sends(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: p.TCP}, t)
		}),
		tcp("TCP to another address of the loopback device", "E51", func(p place, t []byte) error {
			return sends(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: p.TCPAny, Addr: [4]byte{127, 8, 9, 10}}, t)
		}),
		tcp("TCP to a mapped address", "E43", func(p place, t []byte) error {
			return sends(unix.AF_INET6, unix.SOCK_STREAM, 0, &unix.SockaddrInet6{Port: p.TCP, Addr: [16]byte{10: 255, 11: 255, 12: 127, 15: 1}}, t)
		}),
		overVersion6(tcp("TCP over version 6", "E51", func(p place, t []byte) error { return sends(unix.AF_INET6, unix.SOCK_STREAM, 0, loopback6(p.TCP6), t) })),
		tcp("TCP Fast Open", "E49", fastOpen),
		tcp("TCP that does not block", "E46", func(p place, t []byte) error {
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.TCP))
			if err == nil {
				_, err = c.Write(t)
				err = errors.Join(err, c.Close())
			}
			return err
		}),
		tcp("MPTCP", "E49", func(p place, t []byte) error {
			return sends(unix.AF_INET, unix.SOCK_STREAM, protoMPTCP, loopback(p.TCP), t)
		}),
		tcp("UDP, connected", "E42", func(p place, t []byte) error { return sends(unix.AF_INET, unix.SOCK_DGRAM, 0, loopback(p.UDP), t) }),
		tcp("UDP by sendto", "E42", func(p place, t []byte) error {
			return onSocket(unix.AF_INET, unix.SOCK_DGRAM, func(fd int) error { return unix.Sendto(fd, t, 0, loopback(p.UDP)) })
		}),
		tcp("UDP by sendmsg", "E42", func(p place, t []byte) error {
			return onSocket(unix.AF_INET, unix.SOCK_DGRAM, func(fd int) error { return unix.Sendmsg(fd, t, nil, loopback(p.UDP), 0) })
		}),
		tcp("UDP by sendmmsg", "E42", func(p place, t []byte) error {
			var to [16]byte
			*(*uint16)(unsafe.Pointer(&to)) = unix.AF_INET
			binary.BigEndian.PutUint16(to[2:], uint16(p.UDP))
			copy(to[4:], []byte{127, 0, 0, 1})
			return onSocket(unix.AF_INET, unix.SOCK_DGRAM, func(fd int) error { return sendMany(fd, to[:], t) })
		}),
		overVersion6(tcp("UDP over version 6", "E42", func(p place, t []byte) error { return sends(unix.AF_INET6, unix.SOCK_DGRAM, 0, loopback6(p.UDP6), t) })),
		tcp("by another program", "E46", shellDials),
	}
	return append(rows, families()...)
}

// fastOpen sends data with the first packet of a connection. Landlock's rules for connect(2) do not
// cover that.
func fastOpen(p place, token []byte) error {
	return onSocket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error {
		return unix.Sendto(fd, token, unix.MSG_FASTOPEN, loopback(p.TCP))
	})
}

func onSocket(family, kind int, f func(fd int) error) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

// sendMany is sendmmsg(2) with one message.
func sendMany(fd int, to, text []byte) error {
	iov := unix.Iovec{Base: &text[0]}
	iov.SetLen(len(text))
	many := struct {
		head unix.Msghdr
		sent uint32
	}{}
	many.head.Name, many.head.Namelen = &to[0], uint32(len(to))
	many.head.Iov = &iov
	many.head.SetIovlen(1)
	return rawCall(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&many)), 1, 0)
}

// families are rows that create a socket of one family in the host's network, and do to it what a socket
// that the broker connects must not do: send packets elsewhere than to their address, or change the machine.
func families() []attempt {
	family := func(name, escape, protects string, root bool, family, kind, proto int, harm func(fd int) error) attempt {
		return attempt{name: "socket: " + name, escape: escape, protects: protects, word: true, rootOnly: root, do: func(p place) error {
			fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
			if err == nil && cookie != p.Net {
				err = errors.New("a socket, in a network of its own")
			}
			if err == nil && harm != nil {
				err = harm(fd)
			}
			return err
		}}
	}
	const noOperations = "\x01\x01\x01\x01" // a list of IP options in which nothing is to do
	sourceRoute := func(fd int) error { return unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, noOperations) }
	routingHeader := func(fd int) error { return unix.SetsockoptString(fd, unix.IPPROTO_IPV6, unix.IPV6_RTHDR, "") }
	joinGroup := func(fd int) error {
		return unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, &unix.IPMreqn{Multiaddr: [4]byte{239, 7, 7, 7}, Ifindex: 1})
	}
	asAdmin := func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<16) }
	routes := family("netlink: routes", "E46", "the machine's network set-up", true, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, asAdmin)
	routes.cannot = func(s attack.Setting) string {
		if s.Surroundings == attack.SurroundContainer || s.Surroundings == attack.SurroundDocker {
			return "a container's root has no CAP_NET_ADMIN"
		}
		return ""
	}
	return []attempt{
		family("IPv4, another way", "E46", "the network", false, unix.AF_INET, unix.SOCK_STREAM, 0, sourceRoute),
		family("IPv4, a group", "E46", "the network", false, unix.AF_INET, unix.SOCK_DGRAM, 0, joinGroup),
		family("IPv6, another way", "E46", "the network", false, unix.AF_INET6, unix.SOCK_DGRAM, 0, routingHeader),
		family("raw", "E46", "the network", true, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, nil),
		family("packet", "E46", "the network", true, unix.AF_PACKET, unix.SOCK_RAW, 0, nil),
		routes,
		family("netlink: device events", "-", "the machine's devices", false, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, nil),
		family("unix, datagrams under a name of the host", "E38", "names of displays and buses", false, unix.AF_UNIX, unix.SOCK_DGRAM, 0, func(fd int) error {
			return unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("@codeagent-escape-%d", os.Getpid())})
		}),
	}
}

// shellDials connects with bash's /dev/tcp.
func shellDials(p place, token []byte) error {
	return runQuiet("/bin/bash", "-c", fmt.Sprintf("printf %%s '%s' > /dev/tcp/127.0.0.1/%d", token, p.TCP))
}

const services = "services behind path sockets: container engines, key agents, message buses, displays"

// socketEscapes reach services by the paths of their sockets.
func socketEscapes() []attempt {
	const (
		stream   = unix.SOCK_STREAM
		datagram = unix.SOCK_DGRAM
	)
	named := func(name, escape, network, at string, do func(p place, path string, t []byte) error) attempt {
		a := reaches("socket path: "+name, escape, services, func(p place, t []byte) error { return do(p, p.out+"/"+at, t) })
		a.before = func(h *host, p place) { h.serve(network, p.out+"/"+at) }
		return a
	}
	connects := func(kind int) func(p place, path string, t []byte) error {
		return func(_ place, path string, t []byte) error {
			return sends(unix.AF_UNIX, kind, 0, &unix.SockaddrUnix{Name: path}, t)
		}
	}
	to := func(path string) *unix.SockaddrUnix { return &unix.SockaddrUnix{Name: path} }
	// Afterwards the host looks for its service under the old name.
	inside := func(name, at string, move func(service, path string) error) attempt {
		a := reaches("socket path: "+name, "E35", services, func(p place, t []byte) error {
			service, path := p.in+"/service", p.in+"/"+at
			if err := move(service, path); err != nil {
				return err
			}
			err := sends(unix.AF_UNIX, stream, 0, to(path), t)
			if path != service {
				err = errors.Join(err, os.Rename(path, service))
			}
			return err
		})
		a.before = func(h *host, p place) { h.serve("unix", p.in+"/service") }
		return a
	}
	return []attempt{
		named("stream, like docker.sock", "E35", "unix", "docker.sock", connects(stream)),
		named("stream, like a key agent's", "E35", "unix", "agent.1", connects(stream)),
		named("seqpacket", "E35", "unixpacket", "s", connects(unix.SOCK_SEQPACKET)),
		named("datagram, connected", "E38", "unixgram", "d", connects(datagram)),
		named("datagram by sendto", "E38", "unixgram", "d", func(_ place, path string, t []byte) error {
			return onSocket(unix.AF_UNIX, datagram, func(fd int) error { return unix.Sendto(fd, t, 0, to(path)) })
		}),
		named("datagram by sendmsg", "E38", "unixgram", "d", func(_ place, path string, t []byte) error {
			return onSocket(unix.AF_UNIX, datagram, func(fd int) error { return unix.Sendmsg(fd, t, nil, to(path), 0) })
		}),
		named("datagram by sendmmsg", "E38", "unixgram", "d", func(_ place, path string, t []byte) error {
			addr := append([]byte{unix.AF_UNIX, 0}, path...)
			return onSocket(unix.AF_UNIX, datagram, func(fd int) error { return sendMany(fd, append(addr, 0), t) })
		}),
		named("datagram from a pair of sockets", "E38", "unixgram", "d", func(_ place, path string, t []byte) error {
			pair, err := unix.Socketpair(unix.AF_UNIX, datagram, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(pair[0], t, 0, to(path))
		}),
		named("datagrams to an own socket, then to it", "E38", "unixgram", "d", func(p place, path string, t []byte) error {
			return onSocket(unix.AF_UNIX, datagram, func(own int) error {
				mine, other := unixSockaddr(p.in+"/own"), unixSockaddr(path)
				many := [2]message{*messageTo(&mine, t), *messageTo(&other, t)}
				if err := unix.Bind(own, to(p.in+"/own")); err != nil {
					return err
				}
				return rawCall(unix.SYS_SENDMMSG, uintptr(own), uintptr(unsafe.Pointer(&many)), 2, 0)
			})
		}),
		named("datagram connected to an own socket, sent to it", "E38", "unixgram", "d", func(p place, path string, t []byte) error {
			return onSocket(unix.AF_UNIX, datagram, func(own int) error {
				err := errors.Join(unix.Bind(own, to(p.in+"/own")), unix.Connect(own, to(p.in+"/own")))
				return errors.Join(err, unix.Sendto(own, t, unix.MSG_NOSIGNAL, to(path)))
			})
		}),
		named("datagram through a descriptor", "E38", "unixgram", "d", func(_ place, path string, t []byte) error {
			return withFD(path, unix.O_PATH, func(fd int) error {
				return onSocket(unix.AF_UNIX, datagram, func(s int) error { return unix.Sendto(s, t, 0, to(fmt.Sprintf("/proc/self/fd/%d", fd))) })
			})
		}),
		named("datagram whose memory is sent later", "E38", "unixgram", "d", func(_ place, path string, t []byte) error {
			return onSocket(unix.AF_UNIX, datagram, func(s int) error {
				return unix.Sendto(s, t, unix.MSG_ZEROCOPY|unix.MSG_MORE|unix.MSG_CONFIRM, to(path))
			})
		}),
		named("datagram pair connected anew", "E38", "unixgram", "d", func(_ place, path string, t []byte) error {
			pair, err := unix.Socketpair(unix.AF_UNIX, datagram, 0)
			if err != nil {
				return err
			}
			if err := unix.Connect(pair[0], to(path)); err != nil {
				return err
			}
			_, err = unix.Write(pair[0], t)
			return err
		}),
		named("relative", "E35", "unix", "s", func(p place, _ string, t []byte) error {
			return errors.Join(os.Chdir(p.out), sends(unix.AF_UNIX, stream, 0, to("s"), t))
		}),
		named("through a symlink", "E35", "unix", "s", func(p place, path string, t []byte) error {
			return errors.Join(os.Symlink(path, p.in+"/l"), sends(unix.AF_UNIX, stream, 0, to(p.in+"/l"), t))
		}),
		named("through a descriptor", "E35", "unix", "s", func(p place, path string, t []byte) error {
			return withFD(path, unix.O_PATH, func(fd int) error {
				return sends(unix.AF_UNIX, stream, 0, to(fmt.Sprintf("/proc/self/fd/%d", fd)), t)
			})
		}),
		reaches("abstract socket, like a display's", "E35", services, func(p place, t []byte) error {
			return sends(unix.AF_UNIX, stream, 0, to(p.Abstract), t)
		}),
		reaches("abstract datagram", "E35", services, func(p place, t []byte) error {
			return sends(unix.AF_UNIX, datagram, 0, to(p.Abstract+"-d"), t)
		}),
		inside("a service's in the workspace", "service", func(service, path string) error { return nil }),
		inside("a service's in the workspace, renamed", "renamed", os.Rename),
		inside("a service's in the workspace, linked", "linked", os.Link),
		inside("a service's in the workspace, in place of an own one", "own", func(service, path string) error {
			own, err := attack.OwnServer(path)
			if err != nil {
				return err
			}
			return errors.Join(unix.Close(own), exchange(path, service))
		}),
		{name: "a socket bound outside", escape: "E35", protects: "files outside the write roots", do: func(p place) error {
			return onSocket(unix.AF_UNIX, stream, func(fd int) error { return unix.Bind(fd, to(p.out+"/bound")) })
		}},
	}
}

// overVersion6 is a row whose target is served over version 6, which a machine may have switched off.
func overVersion6(a attempt) attempt {
	a.trial = machine.IPv6()
	return a
}
