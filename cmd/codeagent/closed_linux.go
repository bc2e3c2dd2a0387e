package main

import (
	"os"
	"syscall"
)

// Go's runtime opens /dev/null in place of a standard stream that is closed, before
// any Go code runs: `codeagent exec >&-` would lose its answer and end with 0. So the
// program begins at entry, which looks first. The Makefile names it to the linker (-E).

// stdoutAtStart is what fcntl(1, F_GETFD) returned before the runtime began: negative
// if stdout was closed. It stays 0 in a program that was linked without -E.
var stdoutAtStart int64

// entry is where the program begins (entry_*.s).
func entry()

var _ = entry

// keepClosed makes writing to a stdout that was closed fail, for codeagent and for its
// commands: it becomes the reading end of a pipe.
func keepClosed() error {
	if stdoutAtStart >= 0 {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	return syscall.Dup3(int(r.Fd()), 1, 0)
}
