package attack

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func int80(number, a, b, c uint32) int32

// foreignABI are calls through the entry points of other calling conventions. A filter that checks
// only 64-bit call numbers does not recognise them.
func foreignABI() []Attack {
	no32 := []Answer{{unix.ENOSYS, "this kernel runs no 32-bit programs"}}
	noX32 := []Answer{{unix.ENOSYS, "this kernel runs no x32 programs"}}
	return []Attack{
		{Name: "int 0x80: socket", Escape: "E53", Bare: no32, Harmless: getpid32, Do: func() error {
			return result32(int80(359, unix.AF_INET, unix.SOCK_STREAM, 0))
		}},
		{Name: "int 0x80: socketcall", Escape: "E53", Bare: no32, Harmless: getpid32, Do: func() error {
			// The arguments must have 32-bit addresses.
			p, err := value(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_32BIT, ^uintptr(0), 0)
			if err != nil {
				return err
			}
			args := (*[3]uint32)(addressOf(p))
			*args = [3]uint32{unix.AF_INET, unix.SOCK_STREAM, 0}
			return result32(int80(102, 1, uint32(p), 0))
		}},
		{Name: "int 0x80: ptrace", Escape: "E53", Bare: no32, Harmless: getpid32, Do: onBystander(func(pid uintptr) error {
			return result32(int80(26, unix.PTRACE_ATTACH, uint32(pid), 0))
		})},
		{Name: "x32: socket", Escape: "E54", Bare: noX32, Do: func() error {
			return call(0x40000000|unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0)
		}},
		{Name: "x32: ptrace", Escape: "E54", Bare: noX32, Do: onBystander(func(pid uintptr) error {
			return call(0x40000000|521, unix.PTRACE_ATTACH, pid, 0, 0)
		})},
	}
}

// getpid32 ends the process with SIGSEGV if the kernel has no entry point for 32-bit calls: without
// IA-32 emulation the interrupt is not allowed to user space.
func getpid32() error { return result32(int80(20, 0, 0, 0)) }

func result32(r int32) error {
	if r < 0 {
		return syscall.Errno(-r)
	}
	return nil
}

// addressOf converts a result of mmap to a pointer; Go does not manage this memory.
func addressOf(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
