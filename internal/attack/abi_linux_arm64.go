package attack

import "unsafe"

// foreignABI returns none: 32-bit mode needs another program image.
func foreignABI() []Attack { return nil }

// addressOf converts mmap's result to a pointer; the memory is not Go's.
func addressOf(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
