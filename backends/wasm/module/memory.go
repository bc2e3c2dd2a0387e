package module

import (
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// memory is that of a module: addresses for all that it may take. It never moves, so no growth copies it.
type memory []byte

func allocate(_, most uint64) experimental.LinearMemory {
	all, err := unix.Mmap(-1, 0, int(most), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return memory(nil)
	}
	return memory(all)
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
