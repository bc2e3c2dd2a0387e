//go:build linux

package attack

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ringParams is struct io_uring_params.
type ringParams struct {
	sqEntries, cqEntries, flags, sqCPU, sqIdle, features, wqFd uint32
	_                                                          [3]uint32
	sq                                                         struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// ringEntry is struct io_uring_sqe.
type ringEntry struct {
	opcode, flags   uint8
	ioprio          uint16
	fd              int32
	off, addr       uint64
	length, opcode2 uint32
	data            uint64
	_               [3]uint64
}

const (
	ringOpenat = 18 // IORING_OP_OPENAT
	ringSocket = 45 // IORING_OP_SOCKET, Linux 5.19
)

// throughRing creates a ring and does one operation with it. Once there is a ring, the operation's
// result is the result of the attack.
func throughRing(e ringEntry) error {
	var p ringParams
	fd, err := value(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&p)))
	if err != nil {
		return err
	}
	ring, err := ringMemory(fd, 0, uintptr(p.sq.array)+4*uintptr(p.sqEntries))
	if err != nil {
		return err
	}
	done, err := ringMemory(fd, 0x8000000, uintptr(p.cq.cqes)+16*uintptr(p.cqEntries))
	if err != nil {
		return err
	}
	entries, err := ringMemory(fd, 0x10000000, unsafe.Sizeof(e)*uintptr(p.sqEntries))
	if err != nil {
		return err
	}
	*(*ringEntry)(entries) = e
	*(*uint32)(unsafe.Add(ring, p.sq.array)) = 0
	atomic.StoreUint32((*uint32)(unsafe.Add(ring, p.sq.tail)), 1)
	const getEvents = 1
	if err := call(unix.SYS_IO_URING_ENTER, fd, 1, 1, getEvents, 0, 0); err != nil {
		return err
	}
	if r := *(*int32)(unsafe.Add(done, p.cq.cqes+8)); r < 0 {
		return syscall.Errno(-r)
	}
	return nil
}

func ringMemory(fd, offset, size uintptr) (unsafe.Pointer, error) {
	p, err := value(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE, fd, offset)
	if err != nil {
		return nil, fmt.Errorf("map the ring: %v", err)
	}
	return addressOf(p), nil
}

func rings() []Attack {
	off := []Answer{notBuiltIn, {unix.EPERM, "the sysctl io_uring_disabled is set"}}
	name := cstring("/etc/passwd")
	return []Attack{
		{Name: "io_uring: open a file", Escape: "E52", Want: unix.EPERM, Bare: off, Do: func() error {
			return throughRing(ringEntry{opcode: ringOpenat, fd: unix.AT_FDCWD, addr: uint64(uintptr(unsafe.Pointer(name)))})
		}},
		{Name: "io_uring: make a socket", Escape: "E52", Want: unix.EPERM, Bare: append(off, Answer{unix.EINVAL, "this kernel's rings make no sockets"}), Do: func() error {
			return throughRing(ringEntry{opcode: ringSocket, fd: unix.AF_INET, off: unix.SOCK_STREAM})
		}},
		{Name: "io_uring_enter", Escape: "E52", Want: unix.EPERM, Bare: append(off, Answer{unix.EBADF, "asked without a ring"}), Do: func() error {
			return call(unix.SYS_IO_URING_ENTER, ^uintptr(0), 0, 0, 0, 0, 0)
		}},
		{Name: "io_uring_register", Escape: "E52", Want: unix.EPERM,
			Bare: append(off, Answer{unix.EBADF, "asked without a ring"}, Answer{unix.EINVAL, "asked without a ring"}), Do: func() error {
				return call(unix.SYS_IO_URING_REGISTER, ^uintptr(0), 0, 0, 0)
			}},
	}
}
