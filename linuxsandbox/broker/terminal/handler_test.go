//go:build linux

package terminal

import (
	"os"
	"strconv"
	"testing"
	"unsafe"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/notify/notifytest"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

type seen struct{ denials []sandbox.Denial }

func (s *seen) Record(_ *notify.Notification, d sandbox.Denial) { s.denials = append(s.denials, d) }

// noMount is a walk in which no device has a number.
type noMount struct{}

func (noMount) DeviceOf(pathwalk.Caller, string) (uint64, error) { return 0, unix.ENOENT }

func terminalsOf(log *seen, mayWrite bool) *Terminals {
	return New(Options{MayWrite: func(string) bool { return mayWrite }, Walk: noMount{}, Log: log})
}

// TestOpen: the broker opens a new pair, and by number only terminals that it made.
func TestOpen(t *testing.T) {
	all := terminalsOf(&seen{}, false)
	defer all.Close()
	open := func(h *Terminals, path string) (notifytest.Result, bool) {
		n, answer := notifytest.Call(t, unix.SYS_OPENAT, 0, 0, unix.O_RDWR)
		a, done := h.Open(n, path, unix.O_RDWR|unix.O_CLOEXEC)
		if !done {
			a = notify.Failed(unix.ENOENT)
		}
		got := answer(a)
		if done && got.Errno == 0 {
			t.Cleanup(func() { unix.Close(int(got.Value)) })
		}
		return got, done
	}
	near, done := open(all, kernel.Ptmx)
	if !done || near.Errno != 0 {
		t.Fatalf("%s: %v, %v", kernel.Ptmx, near.Errno, done)
	}
	number, err := unix.IoctlGetInt(int(near.Value), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(near.Value), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	own := kernel.PtsDir + "/" + strconv.Itoa(number)
	if far, done := open(all, own); !done || far.Errno != 0 {
		t.Errorf("its own: %v, %v", far.Errno, done)
	}
	for name, h := range map[string]*Terminals{"another command": terminalsOf(&seen{}, false), "an open folder": terminalsOf(&seen{}, true), "own mounts": {Options: Options{Mounted: true}}} {
		if _, done := open(h, own); done {
			t.Errorf("%s opened it", name)
		}
	}
	if a, done := all.Open(&notify.Notification{}, kernel.Ptmx, unix.O_RDWR); done {
		t.Errorf("for a caller that is gone: %+v", a)
	}
}

// TestResize: the size of a terminal of the command is set, of another one it is not, which is recorded.
func TestResize(t *testing.T) {
	near, far := newTerminal(t)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	size := &unix.Winsize{Row: 7, Col: 9}
	for _, row := range []struct {
		name   string
		file   *os.File
		own    bool
		errno  unix.Errno
		denied int
	}{
		{"not the command's", near, false, unix.EPERM, 1},
		{"no terminal", file, true, unix.ENOTTY, 0},
		{"the command's", near, true, 0, 0},
	} {
		log := &seen{}
		h := terminalsOf(log, false)
		if row.own {
			h.add(far)
		}
		n, answer := notifytest.Call(t, unix.SYS_IOCTL, row.file.Fd(), unix.TIOCSWINSZ, uintptr(unsafe.Pointer(size)))
		if got := answer(h.Resize(n)); got.Errno != row.errno || len(log.denials) != row.denied {
			t.Errorf("%s: %v, %+v", row.name, got.Errno, log.denials)
		}
		h.Close()
	}
	if now, err := unix.IoctlGetWinsize(int(far.Fd()), unix.TIOCGWINSZ); err != nil || now.Row != size.Row || now.Col != size.Col {
		t.Errorf("the size is %+v, %v", now, err)
	}
}
