//go:build linux

package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"codeagent/internal/attack"

	"golang.org/x/sys/unix"
)

// TestSealed: nothing can change the copy, and it runs whatever becomes of the file.
func TestSealed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	attack.CopyFile(t, "/proc/self/exe", path)
	img, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(img)
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(img, []byte("x")); err == nil {
		t.Error("the copy can be written")
	}
	if err := unix.Ftruncate(img, 0); err == nil {
		t.Error("the copy can be truncated")
	}
	if seals, err := unix.FcntlInt(uintptr(img), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE); err == nil {
		t.Errorf("seals can be added: %d", seals)
	}
	if out, err := exec.Command("/proc/self/fd/"+strconv.Itoa(img), "-test.run=^$").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
