package screen

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"codeagent/cmd/codeagent/cli"
	"codeagent/tui"
)

// lineReader is what the person writes where no screen is drawn. One reader serves all sessions of a
// run: a second one would take lines from it.
type lineReader struct {
	in      io.Reader
	process cli.Process
	once    sync.Once
	input   tui.Input
}

// run plays a session in lines.
func (t *lineReader) run(ctx context.Context, screen *tui.Screen) error {
	t.once.Do(t.start)
	// Ctrl+C ends the turn, and codeagent only where none runs.
	defer t.process.Lend()()
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(interrupts)
	in := t.input
	in.Interrupts = interrupts
	return screen.RunLines(ctx, in)
}

// start reads lines until the end of the input; it ends with the process.
func (t *lineReader) start() {
	lines := make(chan string)
	t.input.Lines = lines
	go func() {
		defer close(lines)
		from := bufio.NewReader(t.in)
		for {
			line, err := from.ReadString('\n')
			if line != "" {
				lines <- strings.TrimRight(line, "\r\n")
			}
			if err != nil {
				return
			}
		}
	}()
}
