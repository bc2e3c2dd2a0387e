//go:build linux

package program

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Open copies the helper at path into sealed memory. If path is empty, it is the file of that name
// beside the running executable, else the running executable itself. want is the SHA-256 of the helper
// in hex: a file with another sum is refused, unless want is empty or the executable is its own helper.
// After Open no change on disk affects which program runs. It returns the descriptor of the copy.
func Open(path, want string) (int, error) {
	fd, err := open(path, want)
	if err != nil {
		return -1, fmt.Errorf("sandbox helper: %w", err)
	}
	return fd, nil
}

func open(path, want string) (int, error) {
	own := false
	if path == "" {
		exe, err := os.Executable()
		if err != nil {
			return -1, fmt.Errorf("find the running program: %w", err)
		}
		path = exe[:strings.LastIndexByte(exe, '/')+1] + control.HelperName
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path, own = "/proc/self/exe", true
		}
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	sum, known := sha256.New(), want != "" && !own
	var seen io.Writer = sum
	if !known {
		seen = io.Discard
	}
	copied, err := sealedCopy(fd, seen)
	if err != nil {
		return -1, fmt.Errorf("copy %s into memory: %w", path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); known && got != strings.ToLower(want) {
		unix.Close(copied)
		return -1, fmt.Errorf("%s: this is not the helper that codeagent was built with (SHA-256 %s instead of %s): "+
			"it was replaced, or only one of the two was rebuilt; run make build, or reinstall codeagent", path, got, want)
	}
	return copied, nil
}

// copyPiece is a size that stays in a processor's cache while a piece is read, summed and written.
const copyPiece = 64 << 10

// sealedCopy copies the regular file at fd into memory that is sealed against writing, growing,
// shrinking and further sealing. What is copied is also written to seen.
func sealedCopy(fd int, seen io.Writer) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, errors.New("not a regular file")
	}
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	mem, err := unix.MemfdCreate(control.HelperName, flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3, where every memfd is executable
		mem, err = unix.MemfdCreate(control.HelperName, flags)
	}
	if err != nil {
		return -1, fmt.Errorf("memfd_create: %w", err)
	}
	high, err := kernel.DupAbove(mem, kernel.LowestFD)
	unix.Close(mem)
	if err != nil {
		return -1, err
	}
	if err := fill(high, fd, st.Size, seen); err != nil {
		unix.Close(high)
		return -1, err
	}
	return high, nil
}

// fill copies size bytes from fd to mem, and seals mem. Each piece goes from the same memory of
// codeagent to mem and to seen, so a sum is that of the copy, whoever changes the file meanwhile.
func fill(mem, fd int, size int64, seen io.Writer) error {
	buf := make([]byte, min(size, copyPiece))
	for off := int64(0); off < size; {
		n, err := unix.Pread(fd, buf[:min(size-off, copyPiece)], off)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("the file became shorter while it was read")
		}
		_, _ = seen.Write(buf[:n]) // a hash, or nothing: no error
		for rest := buf[:n]; len(rest) > 0; {
			m, err := unix.Write(mem, rest)
			if err != nil && err != unix.EINTR {
				return err
			}
			rest = rest[max(m, 0):]
		}
		off += int64(n)
	}
	seals := unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(mem), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	return nil
}
