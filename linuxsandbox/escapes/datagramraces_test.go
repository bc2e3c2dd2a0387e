//go:build linux

package escapes

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// datagramRaces succeed against a supervisor that examines a message and then lets it proceed, or that sends it
// by the name that it has examined.
func datagramRaces() []attempt {
	race := func(name string, service func(p place) string, begin func(p place, own int, service string, token []byte) trying) attempt {
		a := reaches("race: "+name, "E38", services, func(p place, t []byte) error {
			return onSocket(unix.AF_UNIX, unix.SOCK_DGRAM, func(own int) error {
				if err := unix.Bind(own, &unix.SockaddrUnix{Name: p.in + "/s"}); err != nil {
					return err
				}
				race := begin(p, own, service(p), t)
				defer race.done()
				landed := false
				return until(p, func(p place) error { landed = landed || race.try(); return nil }, func(place) bool { return landed })
			})
		})
		a.race, a.before = true, func(h *host, p place) { h.serve("unixgram", service(p)) }
		return a
	}
	outside := func(p place) string { return p.out + "/s" }
	inside := func(p place) string { return p.in + "/service" }
	call := func(nr uintptr) func(p place, own int, service string, token []byte) trying {
		return func(p place, own int, service string, token []byte) trying {
			return messageChanging(nr, own, unixSockaddr(p.in+"/s"), unixSockaddr(service), token)
		}
	}
	flips := func(other func(p place, service string) string) func(p place, own int, service string, token []byte) trying {
		return func(p place, own int, service string, token []byte) trying {
			out, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return trying{func() bool { return false }, func() {}}
			}
			race := connectFlipping(p.in+"/s", other(p, service), token)
			return trying{func() bool {
				return unix.Sendto(out, token, unix.MSG_DONTWAIT, &unix.SockaddrUnix{Name: p.in + "/s"}) == nil && !arrived(own)
			}, func() { race.done(); unix.Close(out) }}
		}
	}
	return []attempt{
		race("sendto, its address changes", outside, call(unix.SYS_SENDTO)),
		race("sendmsg, its address changes", outside, call(unix.SYS_SENDMSG)),
		race("sendmmsg, its address changes", outside, call(unix.SYS_SENDMMSG)),
		race("sendmsg, its socket becomes another", outside, messageSwapped),
		race("sendto, the file becomes a symlink", outside, flips(func(p place, service string) string {
			_ = os.Symlink(service, p.in+"/l")
			return p.in + "/l"
		})),
		race("sendto, the file becomes a service's", inside, flips(func(_ place, service string) string { return service })),
	}
}

// arrived takes a message from a socket, if one is there.
func arrived(sock int) bool {
	_, _, err := unix.Recvfrom(sock, make([]byte, 512), unix.MSG_DONTWAIT)
	return err == nil
}

// message is a struct mmsghdr with one piece.
type message struct {
	head unix.Msghdr
	sent uint32
	_    uint32
}

func messageTo(a *sockaddr, text []byte) *message {
	m := &message{head: unix.Msghdr{Name: &a[0], Namelen: uint32(len(a)), Iov: &unix.Iovec{Base: &text[0]}}}
	m.head.Iov.SetLen(len(text))
	m.head.SetIovlen(1)
	return m
}

// messageChanging sends while a thread switches the address in memory. A message that was sent and is not in own
// has reached the other socket.
func messageChanging(nr uintptr, own int, mine, other sockaddr, token []byte) trying {
	out, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return trying{func() bool { return false }, func() {}}
	}
	addr := mine
	m := messageTo(&addr, token)
	stop := swapped(func() {
		addr = other
		runtime.Gosched() // else the compiler drops the first assignment
		addr = mine
		runtime.Gosched()
	})
	args := [6]uintptr{uintptr(out), uintptr(unsafe.Pointer(m)), unix.MSG_DONTWAIT}
	switch nr {
	case unix.SYS_SENDMMSG:
		args[2], args[3] = 1, unix.MSG_DONTWAIT
	case unix.SYS_SENDTO:
		args = [6]uintptr{uintptr(out), uintptr(unsafe.Pointer(&token[0])), uintptr(len(token)), unix.MSG_DONTWAIT, uintptr(unsafe.Pointer(&addr)), unsafe.Sizeof(addr)}
	}
	return trying{func() bool {
		_, _, errno := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
		runtime.KeepAlive(m) // args has only its number
		return errno == 0 && !arrived(own)
	}, func() { stop(); unix.Close(out) }}
}

// messageSwapped sends to the other socket by a descriptor under which a thread puts a stream, which goes nowhere
// else, and a datagram socket in turn.
func messageSwapped(_ place, _ int, service string, token []byte) trying {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	out, err2 := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	fd, err3 := unix.Dup(pair[0])
	if err != nil || err2 != nil || err3 != nil {
		return trying{func() bool { return false }, func() {}}
	}
	addr := unixSockaddr(service)
	m := messageTo(&addr, token)
	stop := swapped(func() {
		_ = unix.Dup3(out, fd, unix.O_CLOEXEC)
		_ = unix.Dup3(pair[0], fd, unix.O_CLOEXEC)
	})
	return trying{func() bool {
		_, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), unix.MSG_DONTWAIT)
		return errno == 0 && !arrived(pair[1])
	}, func() {
		stop()
		for _, s := range []int{fd, out, pair[0], pair[1]} {
			unix.Close(s)
		}
	}}
}
