//go:build linux

package broker

import (
	"slices"
	"time"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// A writer waits until its named pipe has a reader, and a flock waits until another lock is
// released. The broker must not block: it has other calls to answer, and a thread that blocks
// in the kernel cannot learn that its caller is gone. So it tries again every few milliseconds.

// waitingCall is a call that waits for a reader or a lock.
type waitingCall struct {
	call notify.Notification
	fd   int // the pipe or the locked file
	// try makes the call again, without blocking. over: it needs no further try.
	try     func(w *waitingCall) (a notify.Reply, over bool)
	signals signals
}

// waitingCalls are tried in the order in which they began to wait.
type waitingCalls struct {
	list []*waitingCall
	// tried is the time of the last try, looked of the last check for signals.
	tried, looked time.Time
}

const (
	// maxTrying bounds the calls of one command that wait at once.
	maxTrying = 256
	// tryMillis is the time between two tries, in milliseconds.
	tryMillis = 10
	// tryApart is the shortest time between two tries while other calls arrive.
	tryApart = time.Millisecond
)

// wait postpones a call and takes ownership of its fd. full is the errno if too many calls
// wait.
func (ws *waitingCalls) wait(w *waitingCall, full unix.Errno) notify.Reply {
	if len(ws.list) == maxTrying {
		unix.Close(w.fd)
		return notify.Failed(full)
	}
	ws.list = append(ws.list, w)
	return notify.Reply{Given: true}
}

// tryWaiting tries the waiting calls and removes those that are over. now: it tries them even
// if the last try was a moment ago, so that no later call overtakes them.
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

// over tries the call, answers it if possible, and reports whether it no longer waits.
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
