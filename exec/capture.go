package exec

import (
	"errors"
	"os"
	"sync"
	"time"

	"codeagent/sandbox"
)

const (
	// copyBytes is what one read takes at most; the pipe holds as much, where
	// the system lets it.
	copyBytes = 256 << 10
	// orphanGrace is how long the pipes may stay open after every process of the
	// command is gone: someone else was handed an end of them.
	orphanGrace = 100 * time.Millisecond
)

// pipe carries one stream.
type pipe struct{ read, write *os.File }

// capture reads a command's two streams until they end: one goroutine each,
// which never waits for anyone but the command, the disk, and each other.
type capture struct {
	runner  *Runner
	pipes   [2]pipe
	copiers sync.WaitGroup
	feed    *feed // nil without a sink

	mu   sync.Mutex
	kept keeper
}

func (r *Runner) newCapture(p sandbox.Policy, sink Sink) (*capture, error) {
	c := &capture{runner: r}
	for i := range c.pipes {
		var err error
		if c.pipes[i].read, c.pipes[i].write, err = newPipe(0); err != nil {
			c.close()
			return nil, err
		}
	}
	if r.options.SpillDir != "" {
		s, err := openSpill(r.options.SpillDir, p.Limits.Output)
		if err != nil {
			c.close()
			return nil, err
		}
		c.kept.spill = s
	}
	if sink != nil {
		c.feed = newFeed(sink)
	}
	return c, nil
}

// begin starts copying. The command holds the write ends now, and only it.
func (c *capture) begin() {
	for i := range c.pipes {
		c.pipes[i].write.Close()
		c.copiers.Go(func() { c.copy(i) })
	}
	if c.feed != nil {
		c.feed.begin()
	}
}

func (c *capture) copy(i int) {
	buf := c.runner.buffers.Get().(*[copyBytes]byte)
	defer c.runner.buffers.Put(buf)
	read := c.pipes[i].read
	for {
		n, err := read.Read(buf[:])
		c.add(i+1, buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.rest(i, buf[:])
			return
		}
		if err != nil {
			return
		}
	}
}

// rest takes what is still in the pipe after the deadline. Who writes now is
// none of the command's: a pipe's worth is all that can be owed.
func (c *capture) rest(i int, buf []byte) {
	conn, err := c.pipes[i].read.SyscallConn()
	if err != nil {
		return
	}
	for taken := 0; taken < maxPipe; {
		n := 0
		err := conn.Control(func(fd uintptr) { n = readNow(fd, buf) })
		if err != nil || n <= 0 {
			return
		}
		c.add(i+1, buf[:n])
		taken += n
	}
}

func (c *capture) add(stream int, data []byte) {
	if len(data) == 0 {
		return
	}
	c.mu.Lock()
	offset := c.kept.total
	c.kept.add(stream, data)
	if c.feed != nil {
		c.feed.put(stream, offset, data)
	}
	c.mu.Unlock()
}

// finish waits for the streams to end, which they do at once when the last
// process is gone, and for the sink to have been told.
func (c *capture) finish() Output {
	deadline := time.Now().Add(orphanGrace)
	for i := range c.pipes {
		// Without deadlines there is no poller, and without one no way to leave.
		if err := c.pipes[i].read.SetReadDeadline(deadline); err != nil {
			c.pipes[i].read.Close()
		}
	}
	c.copiers.Wait()
	if c.feed != nil {
		c.feed.end()
		c.feed = nil
	}
	o := c.kept.output()
	c.kept.spill = nil
	return o
}

// close releases what is still held, whatever happened before.
func (c *capture) close() {
	for _, p := range c.pipes {
		for _, f := range []*os.File{p.read, p.write} {
			if f != nil {
				f.Close()
			}
		}
	}
	if c.kept.spill != nil {
		c.kept.spill.close()
	}
}
