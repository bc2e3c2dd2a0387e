package exec_test

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"codeagent/exec"
)

// TestUnread: data that waits in a pipe or a socket is seen and left there; its end, files and
// an open pipe without data are nothing unread.
func TestUnread(t *testing.T) {
	pair := func(network string) (near, far *os.File) {
		if network == "pipe" {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			return r, w
		}
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	}
	for _, kind := range []string{"pipe", "socket"} {
		near, far := pair(kind)
		defer near.Close()
		if exec.Unread(near) {
			t.Errorf("%s: open and empty, and yet unread", kind)
		}
		if _, err := far.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		far.Close()
		if !exec.Unread(near) {
			t.Errorf("%s: the data is not seen", kind)
		}
		if data, err := io.ReadAll(near); string(data) != "x" || err != nil {
			t.Errorf("%s: %q, %v", kind, data, err)
		}
		if exec.Unread(near) {
			t.Errorf("%s: its end counts as unread", kind)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if exec.Unread(null) || exec.Unread(nil) {
		t.Error("a file is neither a pipe nor a socket")
	}
}
