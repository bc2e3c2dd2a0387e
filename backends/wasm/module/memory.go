package module

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// memory is that of a module: addresses for all that it may take. It never moves, so no growth copies it.
type memory []byte

// noMemory is the panic of an allocator that gets no memory.
type noMemory struct{ error }

// allocator makes memory that begins as image does, which may be nil. Its panic is noMemory.
func allocator(image *os.File) experimental.MemoryAllocatorFunc {
	return func(least, most uint64) experimental.LinearMemory {
		var all []byte
		err := error(unix.ENOMEM)
		for size := max(most, 1); err == unix.ENOMEM && size >= max(least, 1); size /= 2 { // a limit of addresses (RLIMIT_AS)
			all, err = unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
		}
		if err == nil && image != nil {
			var info os.FileInfo
			if info, err = image.Stat(); err == nil && info.Size() > 0 {
				_, err = unix.MmapPtr(int(image.Fd()), 0, unsafe.Pointer(&all[0]), uintptr(info.Size()), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_FIXED)
			}
		}
		if err != nil {
			panic(noMemory{fmt.Errorf("there is no memory for the module, which begins with %d bytes: %w", least, err)})
		}
		return memory(all)
	}
}

// Reallocate is part of experimental.LinearMemory, as is Free.
func (m memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m)) || size > 0 && unix.Mprotect(m[:size], unix.PROT_READ|unix.PROT_WRITE) != nil {
		return nil
	}
	return m[:size:size]
}

func (m memory) Free() {
	_ = unix.Munmap(m)
}
