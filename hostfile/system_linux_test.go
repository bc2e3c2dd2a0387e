package hostfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

const isDarwin = false

// setOpenat2 makes walk use openat2, or do without it.
func setOpenat2(t *testing.T, use bool) {
	noOpenat2.Store(!use)
	t.Cleanup(func() { noOpenat2.Store(false) })
}

// asUser makes this thread act as an ordinary user, who owns the paths, until the test ends: no
// mode denies root access.
func asUser(t *testing.T, paths ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	for _, p := range paths {
		must(t, os.Lchown(p, 1001, 1001))
	}
	must(t, os.Chmod(filepath.Dir(paths[0]), 0o755)) // the test's own folder
	runtime.LockOSThread()                           // never unlocked: the thread ends with the test
	setuid := func(uid uintptr) {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); errno != 0 {
			t.Error(errno)
		}
	}
	setuid(1001)
	t.Cleanup(func() { setuid(0) })
}
