//go:build linux

package keeper

import (
	"errors"
	"os"
	"path/filepath"

	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// IsByHand reports whether a user called the helper:
// linux-sandbox-helper CWD POLICY-JSON -- CMD [ARG]...
func IsByHand(args []string) bool { return len(args) >= 5 && args[3] == "--" }

// askCodeagent starts the codeagent beside the helper, under the helper's name. The helper does not
// know policies; codeagent makes a Spec from one.
func askCodeagent(args []string) int {
	self, err := os.Executable()
	if err == nil {
		codeagent := filepath.Join(filepath.Dir(self), "codeagent")
		err = unix.Exec(codeagent, append([]string{control.HelperName}, args[1:]...), os.Environ())
		err = &os.PathError{Op: "start", Path: codeagent, Err: err}
	}
	return say(err.Error())
}

// ByHand carries out s for a user: the command keeps the caller's files, and ends when the caller
// does. The result is the exit status. If the command did not run it is 125 to 127, with one line
// on standard error.
func ByHand(s *spec.Spec) int {
	if err := closeOnExec(); err != nil {
		return say(err.Error())
	}
	parent, err := unix.PidfdOpen(unix.Getppid(), 0)
	if err != nil {
		parent = -1 // a parent outside this PID namespace cannot be watched
	}
	out := &handOutlet{parent: parent, stderr: dupStderr()}
	k := &keeper{task: &task{Spec: s}, out: out}
	code := k.run()
	if !out.ran {
		return code
	}
	if k.status.Signal != 0 {
		return 128 + k.status.Signal
	}
	return k.status.Exit
}

func dupStderr() int {
	fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return 2
	}
	return fd
}

// handOutlet reports to a user: one line on standard error if something is wrong.
type handOutlet struct {
	parent, stderr int
	ran            bool
}

func (h *handOutlet) proceed() error { return nil }

func (h *handOutlet) report(kind control.Frame, value any, _ ...int) error {
	if f, ok := value.(spec.Failure); ok {
		err := &sandbox.StartError{Code: f.Code, Stage: f.Stage, Err: errors.New(f.Text)}
		_, e := unix.Write(h.stderr, []byte(control.HelperName+": "+err.Error()+"\n"))
		return e
	}
	h.ran = h.ran || kind == control.FrameStarted
	return nil
}

func (h *handOutlet) wait(wake int) order {
	fds := []unix.PollFd{{Fd: int32(wake), Events: unix.POLLIN}, {Fd: int32(h.parent), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, -1); err == unix.EINTR {
		return order{}
	}
	return order{end: true}
}
