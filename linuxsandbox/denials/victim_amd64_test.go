//go:build linux

package denials

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

var oldAttempts = []metadataAttempt{
	{"chmod", func(p string) error { return raw(unix.SYS_CHMOD, at(p), 0o731) }},
	{"chown", func(p string) error { return raw(unix.SYS_CHOWN, at(p), uintptr(os.Getuid()), ^uintptr(0)) }},
	{"lchown", func(p string) error { return raw(unix.SYS_LCHOWN, at(p), uintptr(os.Getuid()), ^uintptr(0)) }},
	{"utime", func(p string) error {
		times := [2]int64{5, 6}
		return raw(unix.SYS_UTIME, at(p), uintptr(unsafe.Pointer(&times)))
	}},
	{"utimes", func(p string) error {
		times := [4]int64{5, 6, 7, 8}
		return raw(unix.SYS_UTIMES, at(p), uintptr(unsafe.Pointer(&times)))
	}},
	{"futimesat", func(p string) error { return raw(unix.SYS_FUTIMESAT, cwd, at(p), 0) }},
}
