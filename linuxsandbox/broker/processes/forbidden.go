//go:build linux

package processes

import (
	"slices"
	"strconv"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/filter"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Forbidden denies calls that no policy opens, and that name no file.
type Forbidden struct {
	dropped func() uint64
	log     Log
}

// Socket denies a socket, or a pair of them, that no policy opens. Where the session has no network of
// its own, it is one of the host's network, whose address is still unknown: connect(2) would have named it.
func (h *Forbidden) Socket(n *notify.Notification, call string) notify.Reply {
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: call, Target: "raw"}
	family, kind := int(uint32(n.Args[0])), n.Args[1]&filter.SocketType
	switch {
	case family == unix.AF_UNIX:
		d.Kind, d.Target = sandbox.KindSocket, "unix datagram"
	case family == unix.AF_NETLINK:
		d.Target = "netlink"
	case !slices.Contains([]int{unix.AF_INET, unix.AF_INET6, unix.AF_PACKET}, family): // as on a kernel without it: programs fall back
		d.Target, d.Errno = "family "+strconv.Itoa(family), "EAFNOSUPPORT"
		h.log.Record(n, d)
		return notify.Failed(unix.EAFNOSUPPORT)
	case family == unix.AF_PACKET, kind != unix.SOCK_STREAM && kind != unix.SOCK_DGRAM:
		return h.Refuse(n, d, 1<<unix.CAP_NET_RAW)
	case kind == unix.SOCK_STREAM:
		d.Target = "tcp"
	default:
		d.Target = "udp"
	}
	return h.Refuse(n, d, 0)
}

// Refuse denies a call that is never allowed, and records it. Without a sandbox it needs any one of caps.
func (h *Forbidden) Refuse(n *notify.Notification, d sandbox.Denial, caps uint64) notify.Reply {
	d.Errno = "EPERM"
	switch {
	case caps == 0:
	case caps&h.dropped() != 0:
		d.Kind = sandbox.KindCapability
	default:
		d.Moot, d.MootReason = true, sandbox.MootPermissions
	}
	h.log.Record(n, d)
	return notify.Failed(unix.EPERM)
}
