package acp

import (
	"io"
	"sync"
	"time"
)

const (
	// outboxMost is how many bytes may be queued before a writer has to wait. From outboxBusy
	// bytes on, output of commands is left out.
	outboxMost = 32 << 20
	outboxBusy = 1 << 20
	// draining is how long the end waits for an editor that reads nothing.
	draining = 2 * time.Second
)

// outbox writes lines in their order from a goroutine of its own, so that an editor that does
// not read stops neither a command nor the end of codeagent.
type outbox struct {
	w    io.Writer
	lost func(error) // called once, if the editor cannot be written to

	mu    sync.Mutex
	moved *sync.Cond
	lines [][]byte
	size  int  // bytes of lines, and of the line that is being written
	over  bool // no more lines come
	gone  bool // nobody reads any more
	done  chan struct{}
}

func newOutbox(w io.Writer, lost func(error)) *outbox {
	o := &outbox{w: w, lost: lost, done: make(chan struct{})}
	o.moved = sync.NewCond(&o.mu)
	go o.write()
	return o
}

// put queues a line. It waits while too much is queued.
func (o *outbox) put(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.size > outboxMost && !o.over && !o.gone {
		o.moved.Wait()
	}
	if o.over || o.gone {
		return
	}
	o.lines = append(o.lines, line)
	o.size += len(line)
	o.moved.Broadcast()
}

// busy reports whether the editor reads more slowly than it is written to.
func (o *outbox) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size > outboxBusy
}

func (o *outbox) write() {
	defer close(o.done)
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.lines) == 0 && !o.over {
			o.moved.Wait()
		}
		if len(o.lines) == 0 {
			return
		}
		line := o.lines[0]
		o.lines = o.lines[1:]
		o.mu.Unlock()
		_, err := o.w.Write(line)
		o.mu.Lock()
		o.size -= len(line)
		o.moved.Broadcast()
		if err != nil {
			o.gone, o.lines = true, nil
			o.lost(err)
			return
		}
	}
}

// finish writes what is queued, for a limited time.
func (o *outbox) finish() {
	o.mu.Lock()
	o.over = true
	o.moved.Broadcast()
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-time.After(draining):
	}
}
