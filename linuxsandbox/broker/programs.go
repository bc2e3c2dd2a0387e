//go:build linux

package broker

import (
	"slices"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// programs refuses to execute what the policy does not list, and records it. Landlock refuses the same without a record,
// but for one file: it must open the dynamic loader of a listed program, and "ld.so FILE" executes any FILE.
//
// Limit: a thread that changes the name after the broker has read it can still start the loader. Such a program runs code
// of its own, and can map any file as code without execve(2). The policy lists what is started, not what an
// interpreter then runs.
type programs struct {
	walk interface {
		Open(c pathwalk.Caller, m pathwalk.Name) (int, error)
		PolicyPath(fd int) string
	}
	allowed []string
	log     interface {
		Record(n *notify.Notification, d sandbox.Denial)
	}
	// begun: a program of the command runs. Before that its memory is closed, and Landlock judges alone.
	begun bool
}

// start answers a call that executes a file; 0: it may proceed. What the broker cannot read or find does not start.
func (h *programs) start(n *notify.Notification, c *calls.File) unix.Errno {
	m, err := c.First(n)
	if err != nil && !h.begun && err != unix.EFAULT {
		return 0
	}
	if err != nil {
		return kernel.ErrnoOf(err)
	}
	h.begun = true
	m.Itself, m.Others = m.Path == "", true
	named := m.Path
	for range 6 { // the kernel's own bound of scripts is 5
		fd, err := h.walk.Open(n, m)
		if err != nil {
			return kernel.ErrnoOf(err)
		}
		path := h.walk.PolicyPath(fd)
		next, script, _ := kernel.InterpreterOf(fd)
		unix.Close(fd)
		if !slices.Contains(h.allowed, path) {
			d := sandbox.Denial{Kind: sandbox.KindRead, Operation: c.Name, Target: path, Errno: "EACCES", Why: "sandbox.allowed_programs does not list it"}
			if named != path {
				d.Requested = named
			}
			h.log.Record(n, d)
			return unix.EACCES
		}
		if !script {
			return 0
		}
		m = pathwalk.Name{Dir: unix.AT_FDCWD, Path: next, Others: true}
	}
	return 0
}
