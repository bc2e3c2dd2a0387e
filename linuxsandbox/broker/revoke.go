//go:build linux

package broker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
)

// A grant can be revoked while the command runs. From then on the broker judges by the narrower
// policy, and refuses changes in what was granted. Access that the kernel already gave the command
// remains: open files, and what Landlock lets it read.

// Revoke narrows the policy by c, and returns when the broker judges by it.
func (b *Broker) Revoke(c sandbox.Revocation) sandbox.RevokeResult {
	if b == nil {
		return sandbox.RevokeResult{Stays: []string{"this kernel does not report calls of commands, so a running command keeps all that it was started with"}}
	}
	done := make(chan sandbox.RevokeResult, 1)
	if !b.posts.add(math.MaxInt, func() { done <- b.revoke(c) }) {
		return sandbox.RevokeResult{} // the command has ended
	}
	select {
	case out := <-done:
		return out
	case <-b.done:
		return sandbox.RevokeResult{}
	}
}

// revoke runs on the broker's thread.
func (b *Broker) revoke(c sandbox.Revocation) (out sandbox.RevokeResult) {
	g := c.Grant
	b.held.law.Narrow(c)
	b.held.revoked = append(b.held.revoked, g)
	if len(g.Hosts) > 0 {
		cut, all := b.handlers.sockets.CutHosts(func() ([]sockets.Descriptor, bool) { return descriptorsBelow(b.keeper) })
		if out.Cut = cut; !all {
			out.Stays = append(out.Stays, "connections to a host that are open already")
		}
	}
	if len(g.Sockets) > 0 {
		descriptors, listed := descriptorsBelow(b.keeper)
		cut, all := b.handlers.sockets.CutPaths(g.Sockets, descriptors)
		if out.Cut += cut; !all || !listed {
			out.Stays = append(out.Stays, "connections to a socket that are open already")
		}
	}
	if len(g.Write) > 0 {
		out.Stays = append(out.Stays, "files there that are open already")
	}
	if len(g.Read) > 0 {
		out.Stays = append(out.Stays, fmt.Sprintf("reading of %s: a running command keeps what it was started with", g.Read[0]))
	}
	return out
}

// descriptorsBelow lists the descriptors of all processes below one. all is false if the
// descriptors of a process cannot be listed.
func descriptorsBelow(root int) (out []sockets.Descriptor, all bool) {
	all = true
	for _, p := range kernel.Descendants(root)(kernel.Processes()) {
		for _, tid := range numbersIn(&all, strconv.Itoa(p.PID)+"/task") { // a thread can have descriptors of its own
			for _, fd := range numbersIn(&all, strconv.Itoa(tid)+"/fd") {
				out = append(out, sockets.Descriptor{PID: tid, Number: int32(fd)})
			}
		}
	}
	return out, all
}

// numbersIn lists the numbers that are entries of a folder of /proc. It clears all if they cannot be listed.
// A process that has ended has none.
func numbersIn(all *bool, folder string) (out []int) {
	entries, err := os.ReadDir(kernel.ProcDir + "/" + folder)
	*all = *all && (err == nil || errors.Is(err, os.ErrNotExist))
	for _, e := range entries {
		if number, err := strconv.ParseInt(e.Name(), 10, 32); err == nil {
			out = append(out, int(number))
		}
	}
	return out
}

// wasRevoked reports whether what d was refused was revoked from this command. It is not asked
// about again.
func (h *holding) wasRevoked(d *sandbox.Denial) bool {
	return slices.ContainsFunc(h.revoked, func(g sandbox.Grant) bool {
		host, err := sandbox.ParseHostPort(d.Target)
		return judge.AboutFile(d.Kind) && sandbox.CoveredBy(g.Write, d.Target) ||
			d.Kind == sandbox.KindSocket && slices.Contains(g.Sockets, d.Target) ||
			d.Kind == sandbox.KindNetwork && err == nil && sandbox.Allowed(g.Hosts, host)
	})
}

// Renew implements sandbox.Renewer. It returns when the next part has begun.
func (b *Broker) Renew() sandbox.Trace {
	if b == nil {
		return sandbox.Trace{Evidence: sandbox.EvidenceNothing}
	}
	done := make(chan sandbox.Trace, 1)
	if !b.posts.add(math.MaxInt, func() { done <- b.renew() }) {
		return b.Trace() // the command has ended
	}
	select {
	case t := <-done:
		return t
	case <-b.done:
		// The functions that were left run before done is closed.
		select {
		case t := <-done:
			return t
		default:
			return b.Trace()
		}
	}
}

// renew runs on the broker's thread. What was revoked stays refused by the narrower policy, and may
// be asked about again.
func (b *Broker) renew() sandbox.Trace {
	b.held.denyAll()
	t := b.log.Trace(b.handlers.sockets.Blind())
	b.log.Clear()
	h := b.held
	h.answered, h.noes, h.revoked = map[judge.Request]bool{}, 0, nil
	h.law.KeepAll()
	b.observer.reported = reportedPaths{}
	return t
}

// denyAll denies every held call: nobody answers its question any more.
func (h *holding) denyAll() {
	for _, q := range h.questions {
		q.cancel()
		q.shown.close()
	}
	h.questions = nil
	for _, c := range h.take(func(*heldCall) bool { return true }) {
		h.deny(c)
	}
}
