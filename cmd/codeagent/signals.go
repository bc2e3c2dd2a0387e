package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/exec"
	"codeagent/internal/visible"
	"codeagent/linuxsandbox"
)

// orderly is how long codeagent may take to end after a second signal.
const orderly = 2 * time.Second

// withSignals returns a context that SIGINT, SIGTERM, SIGHUP and SIGQUIT cancel, with the
// signal as its cause. After a second signal codeagent has the time orderly to end. Under
// nohup SIGHUP is received and dropped: if it stayed ignored, every command would inherit
// that.
func withSignals(parent context.Context, s cli.Stdio, lent *atomic.Bool, quit func(code int)) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	stays := signal.Ignored(syscall.SIGHUP)
	terminal := exec.SaveTerminal(s.In)
	ch := make(chan os.Signal, 8) // buffered, so that no signal is lost
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	over := make(chan struct{})
	go func() { // ends with codeagent
		for sig := range ch {
			typed := sig == os.Interrupt || sig == syscall.SIGQUIT
			if sig == syscall.SIGHUP && stays || typed && lent.Load() {
				continue
			}
			if ctx.Err() != nil {
				lastResort(s, sig, terminal, over, quit)
				return
			}
			// At its end codeagent restores the terminal; in the background that would stop it.
			signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
			cancel(&cli.SignalError{Signal: sig})
		}
	}()
	return ctx, func() {
		close(over) // the process ends, with the status that it has by now
		cancel(nil)
	}
}

// lastResort ends codeagent if something blocks its end: a hanging file system, a stopped
// helper, or a terminal that takes nothing more.
func lastResort(s cli.Stdio, sig os.Signal, terminal exec.TerminalState, over <-chan struct{}, quit func(code int)) {
	select {
	case <-over:
		return
	case <-time.After(orderly):
	}
	left := linuxsandbox.EndKeepers()
	terminal.Restore()
	code, message, _ := cli.ExitOf(&cli.SignalError{Signal: sig})
	said := make(chan struct{})
	go func() { // what blocks may be the terminal
		defer close(said)
		fmt.Fprintf(s.Err, "codeagent: %s by a second signal; not everything has ended\n", message)
		if len(left) > 0 {
			fmt.Fprintf(s.Err, "  still running: process %s\n", visible.Line(strings.Join(left, ", ")))
		}
	}()
	select {
	case <-said:
	case <-time.After(orderly):
	}
	quit(code)
}
