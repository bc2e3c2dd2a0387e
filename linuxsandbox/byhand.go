//go:build linux

package linuxsandbox

import (
	"errors"
	"os"

	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// byHand runs `linux-sandbox-helper CWD POLICY-JSON -- CMD [ARG]...`: the keeper
// without codeagent. The command keeps the caller's terminal, process group and
// three files, and gets the environment that the policy lets through. It is
// killed when the caller ends.
func byHand(args []string) int {
	if len(args) < 5 || args[3] != "--" {
		return say(sandbox.ExitCannotConfine, "usage: "+HelperName+" CWD POLICY-JSON -- CMD [ARG]... (codeagent starts it in its own way)")
	}
	policy, err := sandbox.DecodePolicy([]byte(args[2]))
	if err != nil {
		return say(sandbox.ExitCannotConfine, err.Error())
	}
	ready, err := prepare(policy, facts{Facts: spec.Facts{LandlockABI: landlockABI(), Root: asRoot()}, NamespacesWhy: "only codeagent makes namespaces"})
	if err != nil {
		return say(sandbox.ExitCannotConfine, "policy: "+err.Error())
	}
	for i := range ready.own {
		return say(sandbox.ExitCannotConfine, "policy: "+ready.own[i]+" lies inside a write root, and only codeagent can put it back")
	}
	holders, err := createAbsent(ready.absent)
	if err != nil {
		return say(sandbox.ExitCannotConfine, "policy: "+err.Error())
	}
	t := &task{Spec: &ready.spec}
	t.Command = spec.Command{Path: args[4], Args: args[4:], Env: policy.Env.Apply(os.Environ()), Dir: args[1], Foreground: true}
	if err := t.Validate(); err != nil {
		return say(sandbox.ExitCannotConfine, err.Error())
	}
	if t.lastFD, err = closeOnExec(spec.ControlFD); err != nil {
		return say(sandbox.ExitCannotConfine, "close_range: "+err.Error())
	}
	parent, err := unix.PidfdOpen(unix.Getppid(), 0)
	if err != nil {
		parent = -1 // a parent outside this PID namespace cannot be watched
	}
	out := &handOutlet{parent: parent, stderr: dupStderr()}
	k := &keeper{task: t, out: out}
	code := k.run()
	if out.ran {
		code = k.status.Exit
		if k.status.Signal != 0 {
			code = 128 + k.status.Signal
		}
	}
	removeUnused(holders, code != 0)
	return code
}

func dupStderr() int {
	fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return 2
	}
	return fd
}

// handOutlet reports to a person: one line on stderr when something is wrong.
type handOutlet struct {
	parent, stderr int
	ran            bool
}

func (h *handOutlet) ready(spec.Facts, int) error { return nil }
func (h *handOutlet) proceed() error              { return nil }
func (h *handOutlet) exited(spec.Ended) error     { return nil }
func (h *handOutlet) gone() error                 { return nil }

func (h *handOutlet) started(int) error {
	h.ran = true
	return nil
}

func (h *handOutlet) failed(f *spec.Failure) error {
	err := &sandbox.StartError{Code: f.Code, Stage: f.Stage, Err: errors.New(f.Text)}
	_, e := unix.Write(h.stderr, []byte(HelperName+": "+err.Error()+"\n"))
	return e
}

func (h *handOutlet) wait(wake int) order {
	fds := []unix.PollFd{{Fd: int32(wake), Events: unix.POLLIN}, {Fd: int32(h.parent), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, -1); err == unix.EINTR {
		return order{}
	}
	return order{end: true}
}
