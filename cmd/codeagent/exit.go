package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// Exit statuses of codeagent; `codeagent sandbox` passes the command's own.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitRefused   = 3   // a permission was refused because nobody could grant it
	exitSignIn    = 4   // no model, or the provider does not accept the key
	exitTimeLimit = 124 // as timeout(1)
	exitHangup    = 128 + int(syscall.SIGHUP)
	exitInterrupt = 128 + int(syscall.SIGINT)
	exitQuit      = 128 + int(syscall.SIGQUIT)
	exitTerminate = 128 + int(syscall.SIGTERM)
)

// usageError is the caller's fault: wrong words on the command line or in a
// settings file.
type usageError struct {
	err   error
	hints []string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// hintError adds lines that say what to do.
type hintError struct {
	err   error
	code  int
	hints []string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// statusError ends the program with a status and says nothing: everything has
// been said, or the status is the command's own.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// signalError says that a signal ended the run.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return e.signal.String() }

// errTimeLimit says that --timeout ended the run.
var errTimeLimit = errors.New("time limit reached")

// exitOf is the one table from an error to a status, a message ("" for none)
// and lines that say what to do.
func exitOf(err error) (code int, message string, hints []string) {
	var (
		status statusError
		usage  *usageError
		hint   *hintError
		sig    *signalError
		start  *sandbox.StartError
	)
	switch {
	case err == nil:
		return exitOK, "", nil
	case errors.As(err, &status):
		return int(status), "", nil
	case errors.As(err, &sig):
		switch sig.signal {
		case syscall.SIGTERM:
			return exitTerminate, "terminated", nil
		case syscall.SIGHUP:
			return exitHangup, "hung up", nil
		case syscall.SIGQUIT:
			return exitQuit, "quit", nil
		}
		return exitInterrupt, "interrupted", nil
	case errors.As(err, &usage):
		return exitUsage, usage.Error(), usage.hints
	case errors.As(err, &hint):
		return hint.code, err.Error(), hint.hints
	case errors.Is(err, errTimeLimit):
		return exitTimeLimit, err.Error(), nil
	case errors.As(err, &start):
		return start.Code, err.Error(), nil
	case errors.Is(err, context.Canceled):
		return exitInterrupt, "interrupted", nil
	}
	return exitFailed, err.Error(), nil
}

// report writes an error and its hints, one line each.
func report(s stdio, err error) int {
	code, message, hints := exitOf(err)
	if message != "" {
		fmt.Fprintf(s.Err, "codeagent: %s\n", visible.Text(message))
	}
	for _, h := range hints {
		fmt.Fprintf(s.Err, "  %s\n", visible.Text(h))
	}
	return code
}
