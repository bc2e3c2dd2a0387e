//go:build linux

package broker

import (
	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
)

// fileChanges answers calls that open, make or remove files.
type fileChanges struct {
	opens   opens
	moves   moves
	entries entries
	session *Session
}

// change answers one call.
func (h *fileChanges) change(n *notify.Notification, c *calls.File) notify.Reply {
	if j := h.opens.judge; !j.protection.any() && !j.log.sees() {
		return h.opens.rules.Proceed(notify.ByLandlock) // no path is brokered
	}
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	switch c.Kind {
	case calls.Open, calls.Creat, calls.Openat2:
		return h.opens.openFile(n, c)
	case calls.Truncate:
		return h.opens.truncate(n, c)
	case calls.Rename:
		return h.moves.rename(n, c)
	case calls.Link:
		return h.moves.link(n, c)
	}
	return h.entries.entry(n, c)
}
