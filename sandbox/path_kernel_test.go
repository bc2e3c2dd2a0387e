//go:build linux

package sandbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"codeagent/sandbox"
)

// disk is the real file system.
type disk struct{}

func (disk) Lstat(p string) (fs.FileMode, error) {
	info, err := os.Lstat(p)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func (disk) Readlink(p string) (string, error) { return os.Readlink(p) }

// kernelPath asks the kernel where name leads: it opens it as a reference and reads the
// descriptor's path.
func kernelPath(name string) (string, error) {
	const oPath = 0x200000 // O_PATH, asm-generic/fcntl.h
	fd, err := syscall.Open(name, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer syscall.Close(fd)
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// TestCanonicalAgainstKernel builds random trees of folders, files and links and resolves random
// paths in them. For a path that exists, Canonical must agree with the kernel. Where the kernel
// finds a loop, Canonical must refuse.
func TestCanonicalAgainstKernel(t *testing.T) {
	trees, asked, reached, loops := 60, 0, 0, 0
	for seed := range trees {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		names := plantTree(t, r, root)
		for range 120 {
			name := root + "/" + randomPath(r, names)
			asked++
			want, kernelErr := kernelPath(name)
			got, err := sandbox.Canonical(disk{}, root, name)
			switch {
			case kernelErr == nil:
				reached++
				if err != nil || got != want {
					t.Errorf("seed %d: Canonical(%q) = %q, %v; the kernel says %q", seed, name, got, err, want)
				}
			case errors.Is(kernelErr, syscall.ELOOP):
				loops++
				if !errors.Is(err, sandbox.ErrTooManyLinks) && !errors.Is(err, syscall.ENOTDIR) {
					t.Errorf("seed %d: Canonical(%q) = %q, %v; the kernel says %v", seed, name, got, err, kernelErr)
				}
			case errors.Is(kernelErr, syscall.ENOENT) && err == nil:
				checkMissing(t, name, got)
			}
		}
	}
	if reached < asked/10 || loops == 0 {
		t.Errorf("of %d paths %d existed and %d looped: the trees are too thin to show anything", asked, reached, loops)
	}
}

// checkMissing creates what was missing: the kernel must create it exactly where Canonical said.
func checkMissing(t *testing.T, name, got string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Dir(got)); err != nil || strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/.") {
		return
	}
	fd, err := syscall.Open(name, syscall.O_CREAT|syscall.O_WRONLY|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return
	}
	where, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	syscall.Close(fd)
	if err != nil || where != got {
		t.Errorf("Canonical(%q) = %q, but the kernel created %q (%v)", name, got, where, err)
	}
	os.Remove(where)
}

func plantTree(t *testing.T, r *rand.Rand, root string) []string {
	t.Helper()
	dirs, names := []string{""}, []string{"missing"}
	for i := range 24 {
		dir := dirs[r.IntN(len(dirs))]
		name := dir + fmt.Sprintf("n%d", i)
		var err error
		switch r.IntN(5) {
		case 0, 1:
			err = os.Mkdir(filepath.Join(root, name), 0o755)
			dirs = append(dirs, name+"/")
		case 2:
			err = os.WriteFile(filepath.Join(root, name), nil, 0o644)
		default:
			target := randomPath(r, append(names, fmt.Sprintf("n%d", i)))
			if r.IntN(3) == 0 {
				target = root + "/" + target
			}
			err = os.Symlink(target, filepath.Join(root, name))
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name, filepath.Base(name))
	}
	return names
}

func randomPath(r *rand.Rand, names []string) string {
	var parts []string
	for range 1 + r.IntN(4) {
		switch r.IntN(8) {
		case 0:
			parts = append(parts, "..")
		case 1:
			parts = append(parts, ".", "")
		default:
			parts = append(parts, names[r.IntN(len(names))])
		}
	}
	return strings.Join(parts, "/")
}

// TestCanonicalUnreadableParent: a folder that may not be entered is an error, never the unresolved
// path (E3). Root becomes nobody to look at the files.
func TestCanonicalUnreadableParent(t *testing.T) {
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		defer syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	}
	if got, err := sandbox.Canonical(disk{}, dir, "closed/x"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestCanonicalThroughFile: a path below a file is an error.
func TestCanonicalThroughFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := sandbox.Canonical(disk{}, dir, "f/x"); err == nil {
		t.Errorf("f/x resolves to %q", got)
	}
}
