//go:build linux

package linuxsandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// TestOwnTerminals: in every setting a command makes terminals of its own, and opens
// no other one.
func TestOwnTerminals(t *testing.T) { inSettings(t, "^TestOwnTerminalsInSetting$") }

func TestOwnTerminalsInSetting(t *testing.T) {
	b, _ := backendInSetting(t)
	if b == nil {
		return
	}
	const script = `
import fcntl, os, pty, sys, termios, tty
pid, near = pty.fork()
if pid == 0:
    os.write(os.open("/dev/tty", os.O_RDWR), b"on " + os.ttyname(0).encode() + b"\n")
    os._exit(0)
number = os.ptsname(near) if hasattr(os, "ptsname") else None
said = b""
while b"\n" not in said: said += os.read(near, 99)
os.waitpid(pid, 0); os.close(near)
print(said.decode().split("/")[1:3])
a, z = os.openpty()
tty.setraw(z); os.write(a, b"typed"); print(os.read(z, 9))
name = os.ttyname(z); os.close(a); os.close(z)
for path in (name, sys.argv[1]):
    try: os.open(path, os.O_RDWR | os.O_NOCTTY); print("opened", path)
    except OSError: print("refused")
try: fcntl.ioctl(os.openpty()[0], termios.TIOCSTI, b"x"); print("pushed")
except OSError as e: print(e.strerror)
`
	near, far := openTerminal(t)
	defer near.Close()
	defer far.Close()
	_, out := run(t, b, sandbox.WorkspaceWrite(t.TempDir()), sandbox.Command{
		Path: "/usr/bin/python3", Args: []string{"python3", "-uc", script, far.Name()}, Dir: "/", Env: []string{"PATH=" + jobPath},
	})
	if out != "['dev', 'pts']\nb'typed'\nrefused\nrefused\nOperation not permitted\n" {
		t.Errorf("%q", out)
	}
}

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
