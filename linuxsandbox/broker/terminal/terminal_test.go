//go:build linux

package terminal

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// TestReferenceOutlivesNoTerminal: the kernel behaviour that Open relies on. A
// reference to the terminal side of a pair whose ptmx side was closed does not open another
// terminal that gets the same number.
func TestReferenceOutlivesNoTerminal(t *testing.T) {
	near, far := newTerminal(t)
	name := far.Name()
	ref, _, errno := unix.Syscall(unix.SYS_IOCTL, near.Fd(), unix.TIOCGPTPEER, unix.O_PATH|unix.O_CLOEXEC)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Close(int(ref))
	again := func() error {
		fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(ref)), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	made := made{ref: int(ref)}
	if err := again(); err != nil || made.gone() {
		t.Fatalf("while it is open: %v, gone %v", err, made.gone())
	}
	far.Close()
	near.Close()
	// Make terminals until one gets the same number.
	for range 4096 {
		_, other := newTerminal(t)
		if other.Name() == name {
			if err := again(); err != unix.EIO || !made.gone() {
				t.Errorf("%v, want EIO; gone %v", err, made.gone())
			}
			if text, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", ref)); !strings.HasSuffix(text, "(deleted)") && err == nil {
				t.Logf("the reference is called %q", text)
			}
			return
		}
		defer other.Close()
	}
	t.Error("nobody got the number again: this shows nothing")
}

// newTerminal opens a new pseudoterminal pair.
func newTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	return master, slave
}
