//go:build linux

package broker

import (
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// refusal is a call on files that the policy denies.
type refusal struct {
	// denials are one or, if both ends of a rename or link are denied, two.
	denials []*sandbox.Denial
	call    string
	errno   unix.Errno
	// requested is what the call names, if that is not a file and differs from the target.
	requested string
	// pins are the files that the call names. They are open only until refuse returns.
	pins []pin
}

// pin is an open file or, with a name, an entry of the folder fd, which may be missing.
type pin struct {
	fd   int
	name string
	// path is its path in the policy, asked the path that the call gives.
	path, asked string
}

// refuse denies a call, records the denial and returns the answer. If somebody can grant the
// call, it asks first and holds the call (hold.go). Every denial that could be granted comes
// through here. For a change of files, session.mu is held.
func (h *holding) refuse(n *notify.Notification, r refusal) notify.Reply {
	var denials []sandbox.Denial
	for _, d := range r.denials {
		for _, p := range r.pins {
			if p.name != "" && p.path == d.Target+".lock" { // the question is about what the lock locks
				r.pins = append(r.pins, pin{p.fd, strings.TrimSuffix(p.name, ".lock"), d.Target, strings.TrimSuffix(p.asked, ".lock")})
			}
		}
		d.Operation, d.Errno, d.Requested = r.call, unix.ErrnoName(r.errno), r.asked(d.Target)
		denials = append(denials, *d)
	}
	if h.learn(n, r.pins, denials[0]) {
		return notify.Reply{Again: true}
	}
	if h.hold(&heldCall{n: *n, errno: r.errno, denials: denials}, r.pins...) {
		return notify.Reply{Given: true}
	}
	for _, d := range denials {
		h.log.Record(n, d)
	}
	return notify.Failed(r.errno)
}

// refuseOne is holding.refuse for one denial.
type refuseOne func(n *notify.Notification, call string, errno unix.Errno, d *sandbox.Denial, pins ...pin) notify.Reply

// asked returns how the call names target, "" if by the same path.
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

// pinOf returns the entry at s.
func pinOf(s pathwalk.Spot) pin { return pin{fd: s.Dir, name: s.Last, path: s.Full(), asked: s.Asked} }

// pinOfTarget returns the existing file, or the entry to be made.
func pinOfTarget(t *pathwalk.Target) pin {
	if t.FD >= 0 {
		return pin{fd: t.FD, path: t.Path, asked: t.Spot.Asked}
	}
	return pinOf(t.Spot)
}
