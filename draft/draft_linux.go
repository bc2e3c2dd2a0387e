package draft

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// changed returns the time of the last change, which no program can set.
func changed(st *syscall.Stat_t) int64 { return syscall.TimespecToNsec(st.Ctim) }

// opaque reports whether the folder f of an upper layer hides the one below it.
func opaque(f *os.File) bool {
	var mark [1]byte
	n, err := unix.Fgetxattr(int(f.Fd()), "user.overlay.opaque", mark[:])
	return err == nil && n == 1 && mark[0] == 'y'
}
