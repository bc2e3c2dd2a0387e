//go:build linux

package linuxsandbox

import (
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A pipe with a name that nobody reads makes its writer wait, and a lock that
// another one has makes its taker wait. The broker cannot: it has other calls to
// answer, and a thread that waits in the kernel could not be told that its caller
// is gone. So it tries again every few milliseconds.

// waitingCall is a call that has not returned yet.
type waitingCall struct {
	call notification
	fd   int // what it is about
	// try makes the call once more, without waiting. over: it needs no other try.
	try     func(w *waitingCall) (a reply, over bool)
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
func (b *broker) wait(w *waitingCall, full unix.Errno) reply {
	if len(b.waiting.list) == maxTrying {
		unix.Close(w.fd)
		return failed(full)
	}
	b.waiting.list = append(b.waiting.list, w)
	return reply{given: true}
}

// patience is how long the broker may wait for the next call, in milliseconds.
func (b *broker) patience() int {
	switch {
	case len(b.waiting.list) > 0:
		return tryMillis
	case len(b.held.questions) > 0:
		return heldMillis
	}
	return -1
}

// tryWaiting ends the calls that need not wait any longer. now: though they were
// tried a moment ago, so that no later call overtakes them.
func (b *broker) tryWaiting(now bool) {
	w := &b.waiting
	if len(w.list) == 0 || !now && time.Since(w.tried) < tryApart {
		return
	}
	look := time.Since(w.looked) >= heldMillis*time.Millisecond
	w.list = slices.DeleteFunc(w.list, func(c *waitingCall) bool {
		over := c.over(b.listener, look)
		if over {
			unix.Close(c.fd)
		}
		return over
	})
	w.tried = time.Now()
	if look {
		w.looked = w.tried
	}
}

// over tries the call, answers it if it can be, and reports whether nobody waits.
func (c *waitingCall) over(listener int, look bool) bool {
	if !c.call.valid(listener) {
		return true
	}
	a, over := c.try(c)
	if !over && look {
		a = failed(c.signals.calledAway(c.call.tid))
		over = a.errno != 0
	}
	if over {
		_ = c.call.answer(listener, a)
	}
	return over
}

func (w *waitingCalls) close() {
	for _, c := range w.list {
		unix.Close(c.fd)
	}
	w.list = nil
}

// waitForReader puts off the open of a pipe for writing. It takes over the fd of t;
// flags have O_NONBLOCK.
func (b *broker) waitForReader(n *notification, t *target, flags int, cloexec uint32) reply {
	w := &waitingCall{call: *n, fd: t.fd, try: func(w *waitingCall) (reply, bool) {
		fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(w.fd), flags, 0)
		if err != nil {
			return failed(errnoOf(err)), err != unix.ENXIO
		}
		defer unix.Close(fd)
		if err := setBlocking(fd); err != nil {
			return failed(errnoOf(err)), true
		}
		return w.call.give(b.listener, fd, cloexec), true
	}}
	t.fd = -1
	return b.wait(w, unix.EAGAIN)
}
