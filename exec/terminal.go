package exec

import (
	"fmt"
	"os"

	"codeagent/sandbox"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// terminalSize is wide, so that programs do not wrap the lines a model reads.
var terminalSize = pty.Winsize{Rows: 50, Cols: 200}

// newTerminal is newCapture with a terminal for the command. Output is read from codeagent's
// end of it, and typed input is written there.
func (r *Runner) newTerminal(p sandbox.Policy) (*capture, error) {
	near, far, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	defer near.Close()
	c := &capture{runner: r, pipes: []pipe{{write: far}}}
	if err := c.ownEnds(near, far); err != nil {
		c.close()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	if err := c.open(p, nil); err != nil {
		return nil, err
	}
	return c, nil
}

// ownEnds sets the terminal's size and makes only our end non-blocking: a close then ends
// a read, while programs expect a blocking end.
func (c *capture) ownEnds(near, far *os.File) error {
	if err := pty.Setsize(near, &terminalSize); err != nil {
		return err
	}
	if err := setBlocking(far); err != nil {
		return err
	}
	var err error
	c.pipes[0].read, err = duplicate(near)
	return err
}

// InForeground reports whether codeagent may use a terminal: its process group is the
// terminal's foreground group, or the system keeps none for it.
func InForeground(terminal *os.File) bool {
	ours := true
	err := control(terminal, func(fd int) error {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		ours = err != nil || group == unix.Getpgrp()
		return nil
	})
	return err != nil || ours
}
