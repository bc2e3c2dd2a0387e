//go:build linux

package broker

import (
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// refusal is a call about files that the policy does not let happen.
type refusal struct {
	denial *sandbox.Denial
	// also is the other end of a rename or link, where that is refused too.
	also  *sandbox.Denial
	call  string
	errno unix.Errno
	// requested is what the call names, where it is no file and called otherwise.
	requested string
	// pins are what the call is about. They are open only until refuse returns.
	pins []pin
}

// pin is a file that is there, or with a name an entry of the folder that fd is,
// which may not be there.
type pin struct {
	fd   int
	name string
	// path is what it is called in the policy, asked what the call names it.
	path, asked string
}

// refuse answers a refusal, after whoever may grant it was asked (hold.go), or
// else at once, and writes it down. Every refusal that could be granted comes by
// here; one of a change of files with session.mu held.
func (h *holding) refuse(n *notify.Notification, r refusal) notify.Reply {
	var denials []sandbox.Denial
	for _, d := range []*sandbox.Denial{r.denial, r.also} {
		if d != nil {
			d.Operation, d.Errno, d.Requested = r.call, unix.ErrnoName(r.errno), r.asked(d.Target)
			denials = append(denials, *d)
		}
	}
	if h.learn(n, r.pins, denials[0]) {
		return notify.Reply{Again: true}
	}
	if h.hold(n, r.errno, r.pins, denials...) {
		return notify.Reply{Given: true}
	}
	for _, d := range denials {
		h.log.record(n, d)
	}
	return notify.Failed(r.errno)
}

// asked is how the call names target, where it does so otherwise.
func (r *refusal) asked(target string) string {
	if r.requested != "" {
		return r.requested
	}
	for _, p := range r.pins {
		if p.path == target && p.asked != target {
			return p.asked
		}
	}
	return ""
}

// pinOf is what s stands for.
func pinOf(s pathwalk.Spot) pin { return pin{fd: s.Dir, name: s.Last, path: s.Full(), asked: s.Asked} }

// pinOfTarget is the file that is there, or the entry to be made.
func pinOfTarget(t *pathwalk.Target) pin {
	if t.FD >= 0 {
		return pin{fd: t.FD, path: t.Path, asked: t.Spot.Asked}
	}
	return pinOf(t.Spot)
}
