//go:build linux

package linuxsandbox

import (
	"codeagent/sandbox"

	"codeagent/linuxsandbox/broker/notify"

	"codeagent/linuxsandbox/broker/calls"

	"golang.org/x/sys/unix"
)

// refusedCalls answers them.
type refusedCalls struct {
	rights *rights
	log    *evidence
}

// refuse refuses a call and writes it down.
func (h *refusedCalls) refuse(n *notify.Notification, c *calls.Refused) notify.Reply {
	d := &sandbox.Denial{Kind: sandbox.KindSyscall, Operation: c.Name, Target: c.Name, Errno: "EPERM"}
	switch caps := c.Needs(n); {
	case caps == 0:
	case caps&h.rights.dropped != 0:
		d.Kind = sandbox.KindCapability
	default:
		d.Moot, d.MootReason = true, sandbox.MootPermissions
	}
	h.log.record(n, *d)
	return notify.Failed(unix.EPERM)
}
