package attack

import "unsafe"

// foreignABI is empty: entering 32-bit mode takes another program image.
func foreignABI() []Attack { return nil }

// addressOf turns what mmap returned into a pointer; the memory is not Go's.
func addressOf(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
