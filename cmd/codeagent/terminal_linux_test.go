package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// disturb changes everything about its terminal that would disturb a shell.
const disturb = `
import fcntl, os, signal, struct, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
signal.signal(signal.SIGIO, signal.SIG_IGN)
def tried(f):
    try: f()
    except OSError as e: print(e.strerror)
tried(lambda: fcntl.ioctl(0, termios.TIOCEXCL))
tried(lambda: fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 41, 99, 0, 0)))
for fd in (0, 1):
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGIO)
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK | os.O_APPEND)
modes = termios.tcgetattr(0)
modes[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
modes[1] &= ~termios.OPOST
termios.tcsetattr(0, termios.TCSANOW, modes)
os.setpgid(0, 0)
os.tcsetpgrp(0, os.getpid())
`

// TestTheTerminalIsLeftAsItWas: changes by a foreground command to the user's terminal and to
// open files shared with the shell are undone when the command ends, also by a signal.
// Without the sandbox, which does not save them, they stay.
func TestTheTerminalIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		argv   []string
		signal bool
		stays  bool
	}{
		{"bare", []string{"python3", "-c", disturb}, false, true},
		{"to its end", []string{"codeagent", "sandbox", "--", "python3", "-c", disturb}, false, false},
		{"killed", []string{"codeagent", "sandbox", "--", "python3", "-c", disturb + "print('READY', flush=True)\nsignal.pause()"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, u user) {
				near, far, err := pty.Open()
				if err != nil {
					t.Fatal(err)
				}
				defer near.Close()
				defer far.Close()
				// The session leader stays, as a shell does: its end would hang up the terminal.
				cmd := u.codeagent()
				cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `"$@"; echo OVER; exec sleep 1000`, "sh"}, c.argv...)
				cmd.Env = append(cmd.Env, "PATH="+u.bin+":"+os.Getenv("PATH"))
				cmd.Stdin, cmd.Stdout, cmd.Stderr = far, far, far
				if cmd.SysProcAttr == nil {
					cmd.SysProcAttr = &syscall.SysProcAttr{}
				}
				cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
				if err := pty.Setsize(far, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
					t.Fatal(err)
				}
				before := terminalFacts(t, far)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
				if c.signal {
					waitFor(t, near, "READY")
					for _, codeagent := range childrenOf(t, cmd.Process.Pid) {
						if err := syscall.Kill(codeagent, syscall.SIGTERM); err != nil {
							t.Fatal(err)
						}
					}
				}
				waitFor(t, near, "OVER")
				after := terminalFacts(t, far)
				group, err := ioctlInt(near, syscall.TIOCGPGRP)
				if err != nil {
					t.Fatal(err)
				}
				size, err := pty.GetsizeFull(far)
				if sized := err == nil && *size == (pty.Winsize{Rows: 41, Cols: 99}); err != nil || sized != c.stays {
					t.Errorf("%v, the size is now %+v", err, size)
				}
				if stays := before != after || group != cmd.Process.Pid; stays != c.stays {
					t.Errorf("before %s\nafter  %s\nforeground %d, of the shell %d", before, after, group, cmd.Process.Pid)
				}
			})
		})
	}
}

func ioctlInt(f *os.File, request uintptr) (int, error) {
	var v int32
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&v))); errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// terminalFacts describes the state of a terminal and of the open file.
func terminalFacts(t *testing.T, f *os.File) string {
	t.Helper()
	modes, err := term.GetState(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	exclusive, err := ioctlInt(f, 0x80045440) // TIOCGEXCL
	if err != nil {
		t.Fatal(err)
	}
	size, err := pty.GetsizeFull(f)
	if err != nil {
		t.Fatal(err)
	}
	facts := fmt.Sprintf("exclusive %d, size %+v, modes %v", exclusive, *size, *modes)
	for _, command := range []uintptr{syscall.F_GETFL, syscall.F_GETOWN, 11} { // F_GETSIG
		v, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), command, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		facts += fmt.Sprintf(", %#x", v)
	}
	return facts
}

// waitFor reads from f until text was there.
func waitFor(t *testing.T, f *os.File, text string) {
	t.Helper()
	var got []byte
	buf := make([]byte, 4096)
	for !strings.Contains(string(got), text) {
		n, err := f.Read(buf)
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		got = append(got, buf[:n]...)
	}
}
