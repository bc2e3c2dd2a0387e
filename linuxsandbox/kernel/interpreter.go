//go:build linux

package kernel

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// InterpreterOf returns the program that the kernel opens to execute the file fd, "" for none: the loader of an ELF
// program (elf(5)), or what a script names.
func InterpreterOf(fd int) (path string, script bool, err error) {
	f, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false, err
	}
	defer unix.Close(f)
	head := make([]byte, 4096)
	n, err := unix.Pread(f, head, 0)
	if err != nil {
		return "", false, err
	}
	head = head[:n]
	if line, script := bytes.CutPrefix(head, []byte("#!")); script {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		return append(strings.Fields(string(line)), "")[0], true, nil
	}
	if !bytes.HasPrefix(head, []byte("\x7fELF")) || n < 64 {
		return "", false, nil
	}
	word := binary.NativeEndian
	at, size, count := word.Uint64(head[32:]), uint64(word.Uint16(head[54:])), word.Uint16(head[56:])
	for ; count > 0 && size >= 56 && at <= uint64(n) && at+size <= uint64(n); at, count = at+size, count-1 {
		if part := head[at:]; word.Uint32(part) == 3 { // PT_INTERP
			name := make([]byte, min(word.Uint64(part[32:]), MaxPath))
			_, err = unix.Pread(f, name, int64(word.Uint64(part[8:])))
			name, _, _ = bytes.Cut(name, []byte{0})
			return string(name), false, err
		}
	}
	return "", false, nil
}
