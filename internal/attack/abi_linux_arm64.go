package attack

import "unsafe"

// foreignABI is empty: entering 32-bit mode needs another program image.
func foreignABI() []Attack { return nil }

// addressOf converts a result of mmap to a pointer; Go does not manage this memory.
func addressOf(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
