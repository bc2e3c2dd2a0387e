package exec

import (
	"errors"
	"os"
	"sync"
	"time"

	"codeagent/sandbox"
)

const (
	// copyBytes is the most that one read takes. The pipe gets the same capacity where the
	// kernel allows it.
	copyBytes = 256 << 10
	// orphanGrace is how long the pipes may stay open after every process of the
	// command is gone: the command may have passed an end to another process.
	orphanGrace = 100 * time.Millisecond
)

// pipe carries one stream.
type pipe struct{ read, write *os.File }

// capture reads a command's output until it ends. One goroutine per pipe waits only for
// the command, the disk, and the other goroutine.
type capture struct {
	runner  *Runner
	pipes   []pipe // both streams in one, or one each, or the terminal
	copiers sync.WaitGroup
	// sinks are those of the streams with a feed of their own: of both, or of each. None if nobody wants the output.
	sinks []Sink
	feeds []*feed
	// tap receives all of the first stream at once, under mu, and must not wait; may be nil.
	tap func(data []byte)

	mu      sync.Mutex
	kept    keeper
	printed [2]int64 // by each stream, with a feed for each
}

// newCapture prepares to keep the output of cmd. On an error nothing is left open.
func (r *Runner) newCapture(p sandbox.Policy, cmd Command, sink Sink) (*capture, error) {
	c := &capture{runner: r, tap: cmd.Tap}
	if sink != nil {
		c.sinks = []Sink{sink}
	}
	if cmd.Apart && cmd.ErrSink != nil {
		c.sinks = []Sink{sink, cmd.ErrSink}
	}
	var err error
	if cmd.Terminal {
		err = c.openTerminal()
	} else {
		err = c.openPipes(cmd.Apart)
	}
	if err == nil && r.options.SpillDir != "" && cmd.served == nil {
		c.kept.spill, err = openSpill(r.spills, r.options.SpillDir, p.Limits.Output)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// openPipes uses one pipe for both streams, since only that preserves the order in which
// they were printed. With apart set, each stream has a pipe of its own.
func (c *capture) openPipes(apart bool) error {
	pipes := 1
	if apart {
		pipes = 2
	}
	for range pipes {
		read, write, err := newPipe(0)
		if err != nil {
			return err
		}
		c.pipes = append(c.pipes, pipe{read, write})
	}
	return nil
}

// hand gives the command its ends of the pipes.
func (c *capture) hand(cmd *sandbox.Command) {
	cmd.Stdout, cmd.Stderr = c.pipes[0].write, c.pipes[len(c.pipes)-1].write
	if cmd.Terminal {
		cmd.Stdin = c.pipes[0].write
	}
}

// begin starts copying. From now on only the command holds the write ends.
func (c *capture) begin() {
	for _, sink := range c.sinks {
		c.feeds = append(c.feeds, newFeed(sink))
	}
	for i := range c.pipes {
		c.pipes[i].write.Close()
		c.copiers.Go(func() { c.copy(i) })
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

// rest reads what is still in the pipe after the deadline. A process that writes now does
// not belong to the command, so one pipe's worth is enough.
func (c *capture) rest(i int, buf []byte) {
	for taken := 0; taken < maxPipe; {
		n := 0
		err := control(c.pipes[i].read, func(fd int) error {
			n = readNow(fd, buf)
			return nil
		})
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
	if c.tap != nil && stream == 1 {
		c.tap(data)
	}
	switch len(c.feeds) { // who sees it may send the command back, and the job has it by then
	case 1:
		c.feeds[0].put(offset, data)
	case 2:
		c.feeds[stream-1].put(c.printed[stream-1], data)
		c.printed[stream-1] += int64(len(data))
	}
	c.mu.Unlock()
}

// spilled returns the file that holds the output ("" while all of it fits into memory),
// how many bytes of the output it has, and why it is incomplete.
func (c *capture) spilled() (path string, length int64, why cut) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.spill == nil {
		return "", 0, cut{}
	}
	return c.kept.spill.where()
}

// finish waits until the streams end, which happens at once when the last process is gone,
// and until the sink has received everything.
func (c *capture) finish() Output {
	deadline := time.Now().Add(orphanGrace)
	for i := range c.pipes {
		// Deadlines need the runtime's poller. Without it a blocked read could not be ended.
		if err := c.pipes[i].read.SetReadDeadline(deadline); err != nil {
			c.pipes[i].read.Close()
		}
	}
	c.copiers.Wait()
	c.mute()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.output()
}

// mute ends what the sink gets, and waits until it has that.
func (c *capture) mute() {
	c.mu.Lock()
	feeds := c.feeds
	c.feeds = nil
	c.mu.Unlock()
	for _, f := range feeds {
		f.finish()
	}
}

// close releases what is still held, after success or failure.
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
