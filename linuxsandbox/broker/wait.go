//go:build linux

package broker

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A writer waits until its named pipe has a reader, and a flock waits until another lock is
// released. The broker must not block: it has other calls to answer, and a thread that blocks
// in the kernel cannot learn that its caller is gone. So it tries again every few milliseconds.

// waitingCall is a call that waits for a reader or a lock.
type waitingCall struct {
	call notify.Notification
	fd   int // the pipe or the locked file
	// try makes the call again, without blocking. over: the call has its answer.
	try     func(w *waitingCall) (a notify.Reply, over bool)
	signals signals
}

// waitingCalls are tried in the order in which they began to wait.
type waitingCalls struct {
	list []*waitingCall
	// tried is the time of the last try, checked that of the last check for signals.
	tried, checked time.Time
}

const (
	// maxWaiting bounds the calls of one command that wait at once.
	maxWaiting = 256
	// tryMillis is the time between two tries, in milliseconds.
	tryMillis = 10
	// tryApart is the shortest time between two tries while other calls arrive.
	tryApart = time.Millisecond
)

// wait postpones a call and takes ownership of its fd. full is the errno if too many calls
// wait.
func (ws *waitingCalls) wait(w *waitingCall, full unix.Errno) notify.Reply {
	if len(ws.list) == maxWaiting {
		unix.Close(w.fd)
		return notify.Failed(full)
	}
	ws.list = append(ws.list, w)
	return notify.Reply{Given: true}
}

// tryWaiting tries the waiting calls and removes those that are over. now: it does so even if the
// last try was a moment ago, because a new call must not overtake them.
func (ws *waitingCalls) tryWaiting(now bool) {
	if len(ws.list) == 0 || !now && time.Since(ws.tried) < tryApart {
		return
	}
	check := time.Since(ws.checked) >= heldMillis*time.Millisecond
	ws.list = slices.DeleteFunc(ws.list, func(c *waitingCall) bool {
		over := c.over(check)
		if over {
			unix.Close(c.fd)
		}
		return over
	})
	ws.tried = time.Now()
	if check {
		ws.checked = ws.tried
	}
}

// over tries the call, answers it if possible, and reports whether it no longer waits. check: a
// signal also ends the wait.
func (c *waitingCall) over(check bool) bool {
	if !c.call.Waits() {
		return true
	}
	a, over := c.try(c)
	if !over && check {
		a = notify.Failed(c.signals.interrupt(c.call.TID))
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

// Once the broker has received a call, only a fatal signal wakes the caller
// (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV). That is enough for a call that is answered at
// once. A call that waits for a person, a lock or the other end of a pipe must also yield
// to Ctrl-C, a timer or a stop, like a call that blocks in the kernel.

// errRestart is ERESTARTSYS. With this errno the kernel treats the call like one of its own that a
// signal interrupted. After a stop, or after a handler set with SA_RESTART, it restarts the call,
// which arrives here again. After any other handler the program sees EINTR. If the thread has no signal to
// handle, the program would see the number 512, which it does not know.
const errRestart = unix.Errno(512)

// signals is the signal state of a waiting caller.
type signals struct {
	// wasPending: at the last check, a signal for the whole process was pending.
	wasPending bool
}

// interrupt returns the errno that ends a call of tid if a signal is pending, or 0. Fatal signals
// do not count: after one, the caller is gone.
func (s *signals) interrupt(tid uint32) unix.Errno {
	status, err := kernel.ReadSmall("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return 0
	}
	set := func(name string) uint64 {
		v, _ := strconv.ParseUint(kernel.StatusField(status, name), 16, 64)
		return v
	}
	blocked := set("SigBlk:")
	own, shared := set("SigPnd:")&^blocked, set("ShdPnd:")&^blocked // for the thread, for the process
	switch {
	case own != 0, shared != 0 && kernel.StatusField(status, "Threads:") == "1":
		return errRestart // no other thread can take the signal
	case shared == 0:
		s.wasPending = false
		return 0
	case s.wasPending:
		return unix.EINTR
	}
	// Another thread may be about to take the signal. If so, it is not pending at the next check.
	s.wasPending = true
	return 0
}

// posts is a queue of functions that other goroutines give to the broker's thread to run: only that
// thread may use the policy and the denials.
type posts struct {
	wake   int // an eventfd, readable when list has functions
	mu     sync.Mutex
	list   []func() // mu guards it and closed
	closed bool
}

func newPosts() (*posts, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return &posts{wake: wake}, err
}

// add queues a function, if fewer than most wait. It returns false if the function will not run.
func (p *posts) add(most int, do func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.list) >= most {
		return false
	}
	p.list = append(p.list, do)
	_, _ = unix.Write(p.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return true
}

// do runs all waiting functions. Only the broker's thread may call it.
func (p *posts) do() {
	var count [8]byte
	_, _ = unix.Read(p.wake, count[:])
	p.mu.Lock()
	list := p.list
	p.list = nil
	p.mu.Unlock()
	for _, do := range list {
		do()
	}
}

// close runs the waiting functions and accepts no more.
func (p *posts) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.do()
	unix.Close(p.wake)
}
