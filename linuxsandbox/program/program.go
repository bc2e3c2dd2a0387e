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
// After Open no change on disk affects which program runs.
func Open(path, want string) (Image, error) {
	img, err := open(path, want)
	if err != nil {
		return Image{}, fmt.Errorf("sandbox helper: %w", err)
	}
	return img, nil
}

func open(path, want string) (Image, error) {
	own := false
	if path == "" {
		exe, err := os.Executable()
		if err != nil {
			return Image{}, fmt.Errorf("find the running program: %w", err)
		}
		path = exe[:strings.LastIndexByte(exe, '/')+1] + control.HelperName
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path, own = "/proc/self/exe", true
		}
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return Image{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	sum, known := sha256.New(), want != "" && !own
	var seen io.Writer = sum
	if !known {
		seen = io.Discard
	}
	img, err := SealedCopy(fd, control.HelperName, seen)
	if err != nil {
		return Image{}, fmt.Errorf("copy %s into memory: %w", path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); known && got != strings.ToLower(want) {
		unix.Close(img.FD)
		return Image{}, fmt.Errorf("%s: this is not the helper that codeagent was built with (SHA-256 %s instead of %s): "+
			"it was replaced, or only one of the two was rebuilt; run make build, or reinstall codeagent", path, got, want)
	}
	return img, nil
}

// copyPiece is a size that stays in a processor's cache while a piece is read, summed and written.
const copyPiece = 64 << 10

// SealedCopy copies the regular file at fd into memory that is sealed against writing, growing,
// shrinking and further sealing. What is copied is also written to seen.
func SealedCopy(fd int, name string, seen io.Writer) (Image, error) {
	img := Image{FD: -1}
	if err := unix.Fstat(fd, &img.Stat); err != nil {
		return img, err
	}
	if img.Stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return img, errors.New("not a regular file")
	}
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	mem, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3, where every memfd is executable
		mem, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return img, fmt.Errorf("memfd_create: %w", err)
	}
	high, err := kernel.DupAbove(mem, kernel.LowestFD)
	unix.Close(mem)
	if err != nil {
		return img, err
	}
	if err := fill(high, fd, img.Stat.Size, seen); err != nil {
		unix.Close(high)
		return img, err
	}
	img.FD = high
	return img, nil
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
