//go:build linux

package linuxsandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReferenceOutlivesNoTerminal: what openTerminal rests on. A reference to the far
// end of a terminal whose near end was closed opens no other terminal that gets the
// number.
func TestReferenceOutlivesNoTerminal(t *testing.T) {
	near, far := openTerminal(t)
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
	made := madeTerminal{ref: int(ref)}
	if err := again(); err != nil || made.gone() {
		t.Fatalf("while it is open: %v, gone %v", err, made.gone())
	}
	far.Close()
	near.Close()
	// Until another terminal has the number.
	for range 4096 {
		_, other := openTerminal(t)
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
