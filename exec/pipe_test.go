package exec

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Fewer commands run at once if few descriptors are left, but always at least one.
func TestAtOnce(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
	last := 9
	for _, limit := range []uint64{manyFiles, 256, 128, 96, 64, 48, 32} {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
		n := AtOnce(8)
		if n > last || n < 1 || limit >= 256 && n != 8 || limit <= 64 && n > 4 {
			t.Errorf("with %d descriptors %d at once, after %d", limit, n, last)
		}
		last = n
	}
	// Open descriptors count.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 128, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	free := AtOnce(8)
	for range 30 {
		f, err := os.Open("/")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if n := AtOnce(8); n >= free {
		t.Errorf("%d at once with 30 more open, %d before", n, free)
	}
}

// Where close_range(2) is missing, each descriptor is shielded by itself.
func TestShieldEach(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	flags := func(set bool) (flags int) {
		err := control(null, func(fd int) (err error) {
			if set {
				_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
			}
			if err == nil {
				flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return flags
	}
	if flags(true) != 0 {
		t.Fatal("it is close-on-exec already")
	}
	if err := shieldEach("/dev/fd"); err != nil || flags(false) != unix.FD_CLOEXEC {
		t.Errorf("%v", err)
	}
}
