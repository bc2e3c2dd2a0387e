//go:build linux

package linuxsandbox

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// A pipe with a name that nobody reads makes its writer wait, and the broker
// cannot: it has other calls to answer, and a thread that waits in open(2) could
// not be told that its caller is gone. So it tries again every few milliseconds.

// waitingPipe is an open for writing that has not returned yet.
type waitingPipe struct {
	call    notification
	fd      int // a reference to the pipe
	flags   int // with O_NONBLOCK
	cloexec uint32
}

const (
	// maxPipes bounds how many opens wait at once.
	maxPipes = 64
	// pipeMillis is the time between two tries.
	pipeMillis = 10
)

// wait puts an open off. It takes over fd.
func (b *broker) wait(p waitingPipe) reply {
	if len(b.pipes) == maxPipes {
		unix.Close(p.fd)
		return failed(unix.EAGAIN)
	}
	b.pipes = append(b.pipes, p)
	return reply{given: true}
}

// patience is how long the broker may wait for the next call, in milliseconds.
func (b *broker) patience() int {
	switch {
	case len(b.pipes) > 0:
		return pipeMillis
	case len(b.held.questions) > 0:
		return heldMillis
	}
	return -1
}

// tryPipes opens the pipes that have got a reader.
func (b *broker) tryPipes() {
	kept := b.pipes[:0]
	for _, p := range b.pipes {
		if p.try(b.listener) {
			unix.Close(p.fd)
		} else {
			kept = append(kept, p)
		}
	}
	b.pipes = kept
}

// try reports whether the open is over.
func (p *waitingPipe) try(listener int) bool {
	if !p.call.valid(listener) {
		return true
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(p.fd), p.flags, 0)
	if err == unix.ENXIO {
		return false
	}
	a := failed(errnoOf(err))
	if err == nil {
		if err = setBlocking(fd); err == nil {
			a = p.call.give(listener, fd, p.cloexec)
		} else {
			a = failed(errnoOf(err))
		}
		unix.Close(fd)
	}
	_ = p.call.answer(listener, a)
	return true
}

func (b *broker) closePipes() {
	for _, p := range b.pipes {
		unix.Close(p.fd)
	}
}
