package exec

import (
	"errors"
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// terminalSize is wide, so that programs do not wrap the lines a model reads.
var terminalSize = pty.Winsize{Rows: 50, Cols: 200}

// openTerminal makes a terminal for the command. Output is read from codeagent's end of it,
// and typed input is written there. Only our end is non-blocking: a close then ends a read,
// while programs expect a blocking end.
func (c *capture) openTerminal() error {
	near, far, err := pty.Open()
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	defer near.Close()
	c.pipes = []pipe{{write: far}}
	err = errors.Join(pty.Setsize(near, &terminalSize), setBlocking(far))
	if err == nil {
		c.pipes[0].read, err = duplicate(near)
	}
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
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
