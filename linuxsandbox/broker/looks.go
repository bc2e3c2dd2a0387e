//go:build linux

package broker

import (
	"strings"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// What a command on a draft did is right while nothing changes that it depended on. With Spec.Looks the filter asks about
// each call that names a file, and the broker passes the name on before the call happens. Calls that only look up
// then proceed: the record says what may be stale, and protects nothing. A command that changes a path after the broker
// has read it deceives the person about nothing: what is kept is what was shown, and the file worker keeps it under the policy.

// looks passes on the names that a command looks up.
type looks struct {
	walk *pathwalk.Walker
	to   func(path string, opened bool) // see sandbox.Command.Looked
	// keeper is its PID. Its thread has the filter too, and its memory is closed, as that of its child is until the
	// program starts: until begun is set.
	keeper int
	begun  bool
}

const unseen = "not all that it looked up was seen"

// looksOf begins with what the keeper looks up for the command, whose calls cannot be read.
func looksOf(o Options, walk *pathwalk.Walker) *looks {
	if !o.Order.Looks {
		return nil
	}
	h := &looks{walk: walk, to: o.Command.Looked, keeper: o.Keeper}
	h.to(o.Command.Dir, false)
	for _, name := range sandbox.Programs(o.Command.Path, o.Command.Env) {
		h.to(name, true)
		if fd, err := kernel.OpenPath(name); err == nil {
			h.interpreters(fd, kernel.OpenPath)
			break
		}
	}
	return h
}

// note passes on what a call names. proceeds, if set, is the rule for a call that only looks it up: without Spec.Looks
// the filter would not ask about it.
func (h *looks) note(n *notify.Notification) (proceeds notify.Rule) {
	if c := calls.MetadataOf(n.NR); c != nil {
		m, err := c.File(n)
		if do, bad := c.Read(n); bad == nil && err == nil {
			var st unix.Stat_t
			if fd, err := h.walk.Open(n, m); err == nil {
				_ = unix.Fstat(fd, &st) // it is open
				unix.Close(fd)
			}
			if !do.Plain(&st) {
				h.to("it set times, owners or attributes of files, and no draft keeps those", false)
			}
		}
		h.name(n, c.Path, m, false, err)
		return 0
	}
	c := calls.FileOf(n.NR)
	switch {
	case c == nil:
		if c = calls.LookupOf(n.NR); c == nil {
			return 0
		}
		proceeds = notify.ByCaller
	case c.Kind == calls.Open && c.Effect(n) == notify.Reads:
		proceeds = notify.ByLandlock
	case c.Kind == calls.Access && c.Flags(n)&unix.W_OK == 0:
		proceeds = notify.ByCaller
	}
	if c.Kind != calls.Symlink {
		m, err := c.First(n)
		h.name(n, c.Path, m, c.Kind == calls.Openat2 || c.Kind == calls.Open && c.Flags(n)&unix.O_PATH == 0, err)
		if m.Itself = m.Path == ""; c.Kind == calls.Execute && err == nil {
			if fd, err := h.walk.Open(n, m); err == nil {
				h.interpreters(fd, func(path string) (int, error) {
					return h.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: path})
				})
			}
		}
	}
	if c.Path2 != calls.None {
		m, err := c.Second(n)
		h.name(n, c.Path2, m, false, err)
	}
	return proceeds
}

// name passes on m, which could be read unless err is set. Its address is the argument at. The kernel reads a name as the
// caller does, also from a mapping that can only be written, of which process_vm_readv(2) says EFAULT: only at address 0,
// below vm.mmap_min_addr, nothing can be.
func (h *looks) name(n *notify.Notification, at int, m pathwalk.Name, opens bool, err error) {
	switch {
	case err == nil && (m.Itself || m.Path == ""), err == unix.EFAULT && n.Args[at] == 0, err == unix.ENAMETOOLONG, err == unix.EINVAL, err == unix.ESRCH:
		return // it names nothing, or looks nothing up
	case err != nil:
		if h.begun && kernel.ProcessOf(n.Thread()) != h.keeper {
			h.to(unseen, false)
		}
		return
	}
	h.begun = true
	path, err := h.walk.Looked(n, m)
	if err != nil {
		path = unseen
	} else if kernelPlace(path) {
		h.behind(n, m, path, opens)
		return
	}
	h.to(path, opens)
	if up := strings.Index(path, "/../"); up > 0 {
		h.to(path[:up], false) // a link, perhaps
		if s, err := h.walk.Spot(n, m); err == nil {
			h.to(s.Full(), opens)
			s.Close()
		}
	}
}

// kernelPlace reports whether the kernel itself makes up what is at path, differently each time.
func kernelPlace(path string) bool {
	return sandbox.CoveredBy([]string{"/proc", "/sys", kernel.DevDir}, path)
}

// behind passes on the path to which one in a kernel place leads, as /proc/self/cwd/x does. What is there about the
// network is not what it would be without a draft.
func (h *looks) behind(n *notify.Notification, m pathwalk.Name, path string, opens bool) {
	to := path
	if fd, err := h.walk.Open(n, m); err == nil {
		to = h.walk.PolicyPath(fd)
		unix.Close(fd)
	} else if s, err := h.walk.Spot(n, m); err == nil {
		to = s.Full()
		s.Close()
	}
	if !kernelPlace(to) {
		h.to(to, opens)
	} else if strings.Contains(to+"/", "/net/") {
		h.to("it looked at the network", false)
	}
}

// interpreters passes on the programs that the kernel opens for the program fd, which it closes: no call names them.
func (h *looks) interpreters(fd int, open func(path string) (int, error)) {
	for range 6 { // the kernel's own bound is 5
		path, _, err := kernel.InterpreterOf(fd)
		unix.Close(fd)
		if err != nil {
			h.to(unseen, false)
		}
		if path == "" {
			return
		}
		h.to(path, true)
		if fd, err = open(path); err != nil {
			return
		}
	}
	unix.Close(fd)
}
