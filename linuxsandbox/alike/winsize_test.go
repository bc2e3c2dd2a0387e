//go:build linux

package alike

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestWindowSizes: in every setting a command sets the size of its own terminals, and never that of
// the user's.
func TestWindowSizes(t *testing.T) { tests.InSettings(t, "^TestWindowSizesInSetting$") }

// usersSize tries to set the size of terminal 0 through every name that it has.
const usersSize = `
import ctypes, fcntl, os, struct, termios
libc = ctypes.CDLL(None, use_errno=True)
size = struct.pack("HHHH", 41, 99, 0, 0)
def tried(name, f):
    try: f(); print(name, "set")
    except OSError as e: print(name, e.strerror)
def set(fd, request=termios.TIOCSWINSZ, at=None):
    if libc.ioctl(fd, ctypes.c_ulong(request), at or size): raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
tried("plain", lambda: set(0))
tried("high bits", lambda: set(0, termios.TIOCSWINSZ | 1 << 32))
tried("a copy", lambda: set(os.dup(0)))
`

// ownSizes sets the sizes of the command's own terminals, through either end.
const ownSizes = `
import pty, sys, subprocess
def get(fd): return struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))[:2]
near, far = os.openpty()
set(far); print("far", get(far), get(near))
size = struct.pack("HHHH", 42, 98, 0, 0)
set(near); print("near", get(far), get(near))
tried("no memory", lambda: set(far, at=ctypes.c_void_p(8)))
tried("a file", lambda: set(os.open("/etc/passwd", os.O_RDONLY)))
tried("none", lambda: set(999))
print("script", subprocess.run(["script", "-qec", "stty rows 43 cols 97; stty size", "/dev/null"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout.decode().strip())
`

const (
	usersKept = "plain Operation not permitted\nhigh bits Operation not permitted\na copy Operation not permitted\n"
	ownSet    = "far (41, 99) (41, 99)\nnear (42, 98) (42, 98)\nno memory Bad address\n" +
		"a file Inappropriate ioctl for device\nnone Bad file descriptor\nscript 43 97\n"
)

func TestWindowSizesInSetting(t *testing.T) {
	b, _ := backendtest.InSetting(t, "TestWindowSizes")
	sized := func(t *testing.T) (near, far *os.File) {
		near, far = attack.OpenTerminal(t)
		t.Cleanup(func() { near.Close(); far.Close() })
		if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
			t.Fatal(err)
		}
		return near, far
	}
	sizeOf := func(t *testing.T, f *os.File) [2]uint16 {
		size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		if err != nil {
			t.Fatal(err)
		}
		return [2]uint16{size.Row, size.Col}
	}
	t.Run("bare", func(t *testing.T) {
		_, far := sized(t)
		cmd := exec.Command("python3", "-uc", usersSize)
		cmd.Stdin = far
		out, err := cmd.Output()
		if err != nil || string(out) != "plain set\nhigh bits set\na copy set\n" || sizeOf(t, far) != [2]uint16{41, 99} {
			t.Errorf("does not work without a sandbox either: %v %q", err, out)
		}
	})
	for name, foreground := range map[string]bool{"the user's": true, "the user's, in another session": false} {
		t.Run(name, func(t *testing.T) {
			_, far := sized(t)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			proc, err := sandboxtest.Start(b, t.Context(), sandbox.WorkspaceWrite(t.TempDir()), sandbox.Command{
				Path: "/usr/bin/python3", Args: []string{"python3", "-uc", usersSize + ownSizes}, Dir: "/", Env: []string{"PATH=" + attack.Path},
				Stdin: far, Stdout: w, Stderr: w, Foreground: foreground,
			}, nil)
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			out, err := io.ReadAll(r)
			if err != nil || string(out) != usersKept+ownSet || sizeOf(t, far) != [2]uint16{24, 80} {
				t.Errorf("%v, %v\n%s", err, sizeOf(t, far), out)
			}
			if _, err := proc.Wait(); err != nil {
				t.Error(err)
			}
			if d := proc.Trace().Denials; len(d) != 1 || d[0].Target != "ioctl(TIOCSWINSZ)" || d[0].Count != 3 {
				t.Errorf("%+v", d)
			}
		})
	}
	t.Run("of codeagent's making", func(t *testing.T) {
		s, proc := onTerminal(t, b, "-c", `stty rows 40 cols 100; stty size; stty rows 41 </dev/tty; stty size; script -qec 'stty rows 43; stty cols 97 </dev/tty; stty size' /dev/null; echo all`)
		if out := s.until("all"); !strings.HasPrefix(out, "40 100\r\n41 100\r\n43 97\r\nall") {
			t.Errorf("%q", out)
		}
		if st, err := proc.Wait(); st.Exit != 0 || err != nil || len(proc.Trace().Denials) > 0 {
			t.Errorf("%+v, %v, %+v", st, err, proc.Trace().Denials)
		}
	})
}
