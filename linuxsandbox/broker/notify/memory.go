//go:build linux

package notify

import "golang.org/x/sys/unix"

// ReadMemory copies size bytes at address from the thread's memory.
func ReadMemory(tid int, address uint64, size int) ([]byte, error) {
	buf := make([]byte, size)
	n, err := readSome(tid, address, buf)
	if err == nil && n < size {
		err = unix.EFAULT
	}
	return buf[:n], err
}

// readSome copies bytes up to the end of readable memory.
func readSome(tid int, address uint64, buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	remote := []unix.RemoteIovec{{Base: uintptr(address), Len: len(buf)}}
	n, err := unix.ProcessVMReadv(tid, local, remote, 0)
	return max(n, 0), err
}

// ReadString copies a NUL-terminated string of less than limit bytes. It reads no further than
// the end of a page at a time, since the next page may not be mapped.
func ReadString(tid int, address uint64, limit int, tooLong unix.Errno) (string, error) {
	const page = 4096
	var out []byte
	var most [256]byte
	for len(out) < limit {
		at := address + uint64(len(out))
		chunk := most[:min(page-int(at%page), limit-len(out), len(most))]
		n, err := readSome(tid, at, chunk)
		if err != nil {
			return "", err
		}
		for i, c := range chunk[:n] {
			if c == 0 {
				return string(append(out, chunk[:i]...)), nil
			}
		}
		if n < len(chunk) {
			return "", unix.EFAULT
		}
		out = append(out, chunk...)
	}
	return "", tooLong
}
