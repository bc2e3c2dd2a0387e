//go:build linux

package broker

import (
	"slices"
	"time"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// A pipe with a name that nobody reads makes its writer wait, and a lock that
// another one has makes its taker wait. The broker cannot: it has other calls to
// answer, and a thread that waits in the kernel could not be told that its caller
// is gone. So it tries again every few milliseconds.

// waitingCall is a call that has not returned yet.
type waitingCall struct {
	call notify.Notification
	fd   int // what it is about
	// try makes the call once more, without waiting. over: it needs no other try.
	try     func(w *waitingCall) (a notify.Reply, over bool)
	signals signals
}

// waitingCalls are in the order in which they began to wait, and tried in it.
type waitingCalls struct {
	list []*waitingCall
	// tried is the time of the last try, looked of the last look for signals.
	tried, looked time.Time
}

const (
	// maxTrying bounds how many calls of a command wait like this at once.
	maxTrying = 256
	// tryMillis is the time between two tries.
	tryMillis = 10
	// tryApart is the shortest time between two tries of a busy broker.
	tryApart = time.Millisecond
)

// wait puts a call off. It takes over its fd. full is the answer when too many wait.
func (ws *waitingCalls) wait(w *waitingCall, full unix.Errno) notify.Reply {
	if len(ws.list) == maxTrying {
		unix.Close(w.fd)
		return notify.Failed(full)
	}
	ws.list = append(ws.list, w)
	return notify.Reply{Given: true}
}

// tryWaiting ends the calls that need not wait any longer. now: though they were
// tried a moment ago, so that no later call overtakes them.
func (ws *waitingCalls) tryWaiting(now bool) {
	if len(ws.list) == 0 || !now && time.Since(ws.tried) < tryApart {
		return
	}
	look := time.Since(ws.looked) >= heldMillis*time.Millisecond
	ws.list = slices.DeleteFunc(ws.list, func(c *waitingCall) bool {
		over := c.over(look)
		if over {
			unix.Close(c.fd)
		}
		return over
	})
	ws.tried = time.Now()
	if look {
		ws.looked = ws.tried
	}
}

// over tries the call, answers it if it can be, and reports whether nobody waits.
func (c *waitingCall) over(look bool) bool {
	if !c.call.Waits() {
		return true
	}
	a, over := c.try(c)
	if !over && look {
		a = notify.Failed(c.signals.calledAway(c.call.TID))
		over = a.Errno != 0
	}
	if over {
		_ = c.call.Answer(a)
	}
	return over
}

func (ws *waitingCalls) close() {
	for _, c := range ws.list {
		unix.Close(c.fd)
	}
	ws.list = nil
}
