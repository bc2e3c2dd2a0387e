//go:build linux

package linuxsandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// image is an open file: its descriptor, and its state when it was opened.
type image struct {
	fd    int
	state spec.FileState
}

// openHelper finds the helper, copies it into sealed memory and checks the copy's sum. After that,
// no change on disk affects which program runs.
func openHelper(o Options) (image, error) {
	img, err := checkedCopy(o)
	if err != nil {
		return image{}, fmt.Errorf("sandbox helper: %w", err)
	}
	return img, nil
}

func checkedCopy(o Options) (image, error) {
	path := o.Helper
	own := false
	if path == "" {
		exe, err := os.Executable()
		if err != nil {
			return image{}, fmt.Errorf("find the running program: %w", err)
		}
		path = filepath.Join(filepath.Dir(exe), HelperName)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path, own = "/proc/self/exe", true
		}
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return image{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	sum, known := sha256.New(), o.HelperSum != "" && !own
	var seen io.Writer = sum
	if !known {
		seen = io.Discard
	}
	img, err := sealedCopy(fd, HelperName, seen)
	if err != nil {
		return image{}, fmt.Errorf("copy %s into memory: %w", path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); known && got != strings.ToLower(o.HelperSum) {
		unix.Close(img.fd)
		return image{}, fmt.Errorf("%s: this is not the helper that codeagent was built with (SHA-256 %s instead of %s): "+
			"it was replaced, or only one of the two was rebuilt; run make build, or reinstall codeagent", path, got, o.HelperSum)
	}
	return img, nil
}

// copyPiece is a size that stays in a processor's cache while a piece is read, summed and written.
const copyPiece = 64 << 10

// sealedCopy copies the file at fd into memory that nothing can change: it is sealed against
// writing, growing, shrinking and further sealing. The state is that of the original file. What is
// copied is also written to seen.
func sealedCopy(fd int, name string, seen io.Writer) (image, error) {
	state, err := keeper.StateOf(fd)
	if err != nil {
		return image{}, err
	}
	if state.Mode&unix.S_IFMT != unix.S_IFREG {
		return image{}, errors.New("not a regular file")
	}
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	mem, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3, where every memfd is executable
		mem, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return image{}, fmt.Errorf("memfd_create: %w", err)
	}
	high, err := kernel.DupAbove(mem, kernel.LowestFD)
	unix.Close(mem)
	if err != nil {
		return image{}, err
	}
	if err := fill(high, fd, state.Size, seen); err != nil {
		unix.Close(high)
		return image{}, err
	}
	return image{high, state}, nil
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

// openExecutable opens the file of the running program.
func openExecutable() (image, error) {
	fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return image{}, fmt.Errorf("open the running program: %w", err)
	}
	state, err := keeper.StateOf(fd)
	return image{fd, state}, err
}

// HelperMain runs when codeagent is started under the helper's name. It does what the helper does,
// and it runs linux-sandbox-helper CWD POLICY-JSON -- CMD [ARG]... for a user. args is os.Args; the
// result is the exit status.
func HelperMain(args []string) int {
	if !keeper.IsByHand(args) {
		return keeper.Main(args)
	}
	code, err := byHand(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", HelperName, err)
		return sandbox.ExitCannotConfine
	}
	return code
}

// byHand runs a command without a broker and without namespaces. The command keeps the caller's
// terminal, process group and three standard files. Its environment is what the policy lets
// through. It is killed when the caller ends.
func byHand(args []string) (int, error) {
	policy, err := sandbox.DecodePolicy([]byte(args[2]))
	if err != nil {
		return 0, err
	}
	ready, err := prepare(policy, facts{Facts: spec.Facts{LandlockABI: keeper.LandlockABI(), Root: asRoot()}, NamespacesWhy: "only codeagent makes namespaces"})
	if err != nil {
		return 0, fmt.Errorf("policy: %w", err)
	}
	if len(ready.own) > 0 {
		return 0, errors.New("policy: " + ready.own[0] + " lies inside a write root, and only codeagent can put it back")
	}
	order := ready.spec
	order.Command = spec.Command{Path: args[4], Args: args[4:], Env: policy.Env.Apply(os.Environ()), Dir: args[1], Foreground: true}
	if err := order.Validate(); err != nil {
		return 0, err
	}
	holders, err := createAbsent(ready.absent)
	if err != nil {
		return 0, fmt.Errorf("policy: %w", err)
	}
	code := keeper.ByHand(&order)
	removeUnused(holders, code != 0)
	return code, nil
}
